"""What a metric is: a number for scores and labels of rows, and its exact range where every score is in an interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.answers.metrics.conflicts import Steps
from ipub.answers.metrics.lines import KnownScores, Lines
from ipub.numeric.rounding import Array, down, sum_error, sum_upper, up


class Ends(NamedTuple):
    """Between which numbers something is."""

    lower: float
    upper: float

    def within(self, other: Ends) -> Ends:
        """Return the narrower of both at each end: both hold."""
        return Ends(max(self.lower, other.lower), min(self.upper, other.upper))

    def joined(self, other: Ends) -> Ends:
        """Return the wider of both at each end: one of them holds."""
        return Ends(min(self.lower, other.lower), max(self.upper, other.upper))


UNKNOWN = Ends(-np.inf, np.inf)


class Near(NamedTuple):
    """Scores near which a metric is asked how it changes."""

    scores: Array
    """Shape (m,), or (m, n_classes)."""
    low: Array
    high: Array
    """Between which each score is; where that settles what a row or pair counts, it changes nothing."""
    width: float
    """Over which steps are taken to be smooth."""

    def step(self, distance: Array) -> Array:
        """Return the slope of a smooth step from 0 to 1, at distances from it, up to a factor."""
        return np.asarray(np.exp(-0.5 * (distance / self.width) ** 2))


@dataclass(frozen=True)
class Metric(ABC):
    """A metric of scores t and labels y, higher or lower being better.

    Labels are 0 and 1 of two classes (1 is ``classes_[1]``), the numbers of more classes, or targets; NaN is a label
    that is unknown, which may be either class, whatever the scores are.
    """

    name: str
    """As users name it."""

    @property
    def is_rate(self) -> bool:
        """Whether it is a number from 0 to 1, of which ratios make sense."""
        return False

    @abstractmethod
    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        """Return its least and greatest value where each score is anywhere in its interval, rounded outward.

        Parameters
        ----------
        low, high : arrays of shape (..., m), or (..., m, n_classes) with more than two classes
            Ends of the scores, infinite where nothing is known. Rows move independently of each other.
        y : array of shape (m,)

        Returns
        -------
        lower, upper : arrays of shape (...)
            If ``low > high``, each end is still the value where the scores are at their ends: the greater ones of low
            and high change places. Only metrics that depend on the order or the signs of scores are asked for that.
        """

    @abstractmethod
    def slopes(self, near: Near, y: Array) -> Array:
        """Return about how the metric changes with each score: of the shape of the scores, up to a positive factor.

        A search for fillings is led by it; nothing rests on it.
        """

    def lines(self, known: KnownScores, side: float) -> Lines | None:  # noqa: ARG002 (of these metrics there are none)
        """Return a sum of lines above the metric (side 1) or below it (-1); None if it is no sum over rows or pairs."""
        return None

    def steps(self, y: Array) -> Steps | None:  # noqa: ARG002 (of these metrics there are none)
        """Return the metric as a sum of steps; None if it is none."""
        return None

    def from_others(self, ends_of: Callable[[Metric], Ends], y: Array) -> Ends:  # noqa: ARG002 (nothing follows)
        """Bound the metric by what bounds other metrics of the same rows."""
        return UNKNOWN

    def undefined(self, y: Array) -> str:
        """Return why the metric of these rows has no value, as the end of a sentence; "" if it has one."""
        return "" if len(y) else "there are no rows"

    def check(self, y: Array) -> None:  # noqa: B027 (most take any labels)
        """Raise an error if the metric cannot be asked of these labels."""


@dataclass(frozen=True)
class Negated(Metric):
    """A loss with its sign turned, so that greater is better."""

    loss: Metric

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        lower, upper = self.loss.ends(low, high, y)
        return -upper, -lower

    def slopes(self, near: Near, y: Array) -> Array:
        return -self.loss.slopes(near, y)

    def lines(self, known: KnownScores, side: float) -> Lines | None:
        lines = self.loss.lines(known, -side)
        return None if lines is None else lines.negated()

    def from_others(self, ends_of: Callable[[Metric], Ends], y: Array) -> Ends:
        lower, upper = self.loss.from_others(ends_of, y)
        return Ends(-upper, -lower)

    def undefined(self, y: Array) -> str:
        return self.loss.undefined(y)

    def check(self, y: Array) -> None:
        self.loss.check(y)


def mean_range(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Bound the mean along the last axis of numbers that are not negative and between these, outward (fp-sums)."""
    n = lower.shape[-1]
    least, most = lower.sum(axis=-1), upper.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        least = down(down(least - sum_error(least, n + 1)) / n)
        most = up(sum_upper(most, n + 1) / n)
    least = np.maximum(np.nan_to_num(least, nan=0.0, posinf=np.finfo(float).max), 0.0)
    return least, np.nan_to_num(most, nan=np.inf, posinf=np.inf)


def quotient_range(numerator: Array, denominator: Array | float) -> tuple[Array, Array]:
    """Enclose a quotient of whole numbers, 0 where both are 0; it is from 0 to 1."""
    value = np.asarray(numerator / np.where(np.asarray(denominator) > 0.0, denominator, 1.0))
    is_exact = (value == 0.0) | (value == 1.0)
    lower, upper = np.maximum(down(value), 0.0), np.minimum(up(value), 1.0)
    return np.where(is_exact, value, lower), np.where(is_exact, value, upper)
