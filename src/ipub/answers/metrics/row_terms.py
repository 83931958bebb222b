"""Metrics that are means of a term of each row: log loss, Brier score, squared and absolute error, R2.

Where the scores of rows move independently, the least mean has every term at its least: the exact range is that of each
term. All are rounded outward (fp-sums, fp-elementary).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ipub.answers.metrics.lines import KnownScores, Lines, above_curve, below_curve, sum_of_lines
from ipub.answers.metrics.metric import Ends, Metric, Near, mean_range
from ipub.errors import IpubError
from ipub.losses.logistic import Logistic, sigmoid_range
from ipub.numeric.rounding import ELEMENTARY_ULPS, EPS, UNDERFLOW, Array, down, up

TWO_THIRDS = 0.6666
"""A little less than 2/3."""

NEAREST = 1e-140
"""The variance of targets that are farther apart does not underflow, whatever their number."""

STEP = 1e-6
"""Relative step over which a term's change is looked at."""


@dataclass(frozen=True)
class MeanOfTerms(Metric):
    """The mean of a term of each row that is not negative."""

    @abstractmethod
    def terms(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        """Return the least and greatest term of each row, whose score is between low and high."""

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        return mean_range(*self.terms(low, high, y))

    @abstractmethod
    def derivative(self, t: Array, y: Array) -> tuple[Array, Array]:
        """Enclose the derivative, or a subderivative, of each row's term at a score; the label is known."""

    def dent(self, low: Array, high: Array, y: Array) -> Array:  # noqa: ARG002 (a convex term has none)
        """Bound the negative of the second derivative of each row's term between two scores: 0 if it is convex."""
        return np.zeros_like(low)

    def lines(self, known: KnownScores, side: float) -> Lines:
        y, constant = known.y, self.terms(known.low, known.high, known.y)
        is_known = np.isfinite(known.low) & np.isfinite(known.high) & ~np.isnan(y)
        low, high, label = (np.where(is_known, each, 0.0) for each in (known.low, known.high, y))

        def value(t: Array) -> tuple[Array, Array]:
            return self.terms(t, t, label)

        dent = self.dent(low, high, label)
        if side > 0.0:
            offsets, slopes = above_curve(value, dent, low, high)
        else:
            offsets, slopes = below_curve(value, lambda t: self.derivative(t, label), dent, low, high, known.at)
        offsets = np.where(is_known, offsets, constant[1] if side > 0.0 else constant[0])
        return sum_of_lines(offsets, np.where(is_known, slopes, 0.0), side)

    def slopes(self, near: Near, y: Array) -> Array:
        step = STEP * (1.0 + np.abs(near.scores))
        after, before = (self.terms(scores, scores, y) for scores in (near.scores + step, near.scores - step))
        change = np.nan_to_num((after[0] + after[1] - before[0] - before[1]) / (4.0 * step * len(y)))
        return np.where(np.isnan(y), 0.0, change)


@dataclass(frozen=True)
class OfMargin(MeanOfTerms):
    """A term that falls with the margin: the score, with the sign of the label."""

    @abstractmethod
    def of_margin(self, margin: Array) -> tuple[Array, Array]:
        """Enclose the term of a margin."""

    def terms(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        # An unknown label is the better one, or the worse one.
        best = np.where(y == 1.0, high, np.where(y == 0.0, -low, np.maximum(high, -low)))
        worst = np.where(y == 1.0, low, np.where(y == 0.0, -high, np.minimum(low, -high)))
        return self.of_margin(best)[0], self.of_margin(worst)[1]


@dataclass(frozen=True)
class LogLoss(OfMargin):
    """The mean of ``log(1 + exp(-margin))``; probabilities are not clipped."""

    def of_margin(self, margin: Array) -> tuple[Array, Array]:
        one = np.ones_like(margin)
        value, slack = Logistic().value(one, margin), (2 * ELEMENTARY_ULPS + 2) * EPS
        least = np.maximum(down(down(value * (1.0 - slack)) - UNDERFLOW), 0.0)
        return np.where(np.isinf(value), np.finfo(float).max, least), Logistic().value_upper(one, margin)

    def derivative(self, t: Array, y: Array) -> tuple[Array, Array]:
        sign = np.where(y == 1.0, 1.0, -1.0)
        return signed(-sign, *sigmoid_range(-sign * t, -sign * t))


@dataclass(frozen=True)
class BrierScore(OfMargin):
    """The mean squared difference of the label, 0 or 1, and its probability."""

    def of_margin(self, margin: Array) -> tuple[Array, Array]:
        lower, upper = sigmoid_range(-margin, -margin)
        return np.maximum(down(lower * lower), 0.0), up(upper * upper)

    def derivative(self, t: Array, y: Array) -> tuple[Array, Array]:
        # Of p^2, p = 1 / (1 + exp(margin)): -2 p^2 (1 - p) for each unit of the margin.
        sign = np.where(y == 1.0, 1.0, -1.0)
        p, q = sigmoid_range(-sign * t, -sign * t)
        least = down(down(2.0 * p * p) * np.maximum(down(1.0 - q), 0.0))
        return signed(-sign, np.maximum(least, 0.0), up(up(2.0 * q * q) * up(1.0 - p)))

    def dent(self, low: Array, high: Array, y: Array) -> Array:
        # The second derivative is p^2 (1 - p) (4 - 6 p): not negative up to p = 2/3.
        p, q = sigmoid_range(*(np.where(y == 1.0, -high, low), np.where(y == 1.0, -low, high)))
        rest = up(1.0 - np.maximum(p, TWO_THIRDS))
        steepest = np.maximum(up(up(6.0 * q) - 4.0), 0.0)  # q may be a little below 2/3
        return np.where(q > TWO_THIRDS, up(up(up(q * q) * rest) * steepest), 0.0)


def signed(sign: Array, least: Array, most: Array) -> tuple[Array, Array]:
    """Return the range of numbers in a range, times 1 or -1 each."""
    return np.where(sign > 0.0, least, -most), np.where(sign > 0.0, most, -least)


@dataclass(frozen=True)
class OfTarget(MeanOfTerms):
    """A term that grows with the distance of a prediction from the target."""

    def check(self, y: Array) -> None:
        check_targets_known(self.name, y)

    def distances(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        """Bound ``|y - t|`` for every t between low and high."""
        least = np.maximum(np.maximum(down(low - y), down(y - high)), 0.0)
        return least, np.maximum(up(high - y), up(y - low))


@dataclass(frozen=True)
class SquaredError(OfTarget):
    """The mean of ``(y - t)^2``."""

    def terms(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        least, most = self.distances(low, high, y)
        return np.maximum(down(least * least), 0.0), up(most * most)

    def derivative(self, t: Array, y: Array) -> tuple[Array, Array]:
        return 2.0 * down(t - y), 2.0 * up(t - y)


@dataclass(frozen=True)
class AbsoluteError(OfTarget):
    """The mean of ``|y - t|``."""

    def terms(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        return self.distances(low, high, y)

    def derivative(self, t: Array, y: Array) -> tuple[Array, Array]:
        return np.sign(t - y), np.sign(t - y)


@dataclass(frozen=True)
class RSquared(Metric):
    """One less the mean squared error over the variance of the targets of these rows."""

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        return self.of_error(*SquaredError(self.name).ends(low, high, y), y)

    def of_error(self, least: Array, most: Array, y: Array) -> tuple[Array, Array]:
        """Bound it by bounds of the mean squared error."""
        variance = float(variance_of(y))
        # One that underflows is not negative: an error over it has no bound.
        below, above = max(down(variance), 0.0), up(variance)
        with np.errstate(all="ignore"):
            lower = down(1.0 - up(most / below))
        return np.where(np.isnan(lower), -np.inf, lower), up(1.0 - np.maximum(down(least / above), 0.0))

    def from_others(self, ends_of: Callable[[Metric], Ends], y: Array) -> Ends:
        least, most = ends_of(SquaredError("mean_squared_error"))
        lower, upper = self.of_error(np.array(least), np.array(most), y)
        return Ends(float(lower), float(upper))

    def slopes(self, near: Near, y: Array) -> Array:
        return -SquaredError(self.name).slopes(near, y)

    def undefined(self, y: Array) -> str:
        if len(y) > 1 and np.ptp(y) > NEAREST:
            return ""
        apart = f", or no farther apart than {NEAREST:g}" if len(y) and np.ptp(y) > 0.0 else ""
        return f"the targets of the rows are all the same{apart}"

    def check(self, y: Array) -> None:
        check_targets_known(self.name, y)


def variance_of(y: Array) -> Fraction:
    """Return the mean squared distance of numbers from their mean, exactly."""
    values = [Fraction(each) for each in y.tolist()]
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((each - mean) ** 2 for each in values), Fraction(0)) / len(values)


def check_targets_known(name: str, y: Array) -> None:
    """Raise an error if a target is missing."""
    unknown = np.flatnonzero(np.isnan(y))
    if len(unknown):
        raise IpubError(
            "y has no target in {row}, so {name} is not known: drop these rows.", row=int(unknown[0]), name=name
        )
