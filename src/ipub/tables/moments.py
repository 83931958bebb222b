"""Sums that are joined over the pieces of a table: moments of a column, and exact sums."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ipub.numeric.rounding import Array


@dataclass(frozen=True, eq=False)
class Moments:
    """Range, mean and squares of the observed numbers of a column in the rows that count.

    Attributes
    ----------
    n : int
    least, greatest : float
    is_whole : bool
        Whether all are whole numbers.
    is_two : bool
        Whether there is none beside the least and the greatest.
    mean : float
    squares : float
        Sum of the squares of the differences from the mean.
    """

    n: int = 0
    least: float = np.inf
    greatest: float = -np.inf
    is_whole: bool = True
    is_two: bool = True
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Summarize numbers; NaN are left out."""
        observed = values[~np.isnan(values)]
        n = len(observed)
        if n == 0:
            return cls()
        least, greatest = float(observed.min()), float(observed.max())
        mean = float(observed.mean())
        difference = observed - mean
        return cls(
            n,
            least,
            greatest,
            bool((observed == np.floor(observed)).all()),
            bool(((observed == least) | (observed == greatest)).all()),
            mean,
            float(difference @ difference),
        )

    def joined(self, other: Moments) -> Moments:
        """Return the summary of both; mean and squares as Chan, Golub and LeVeque add them."""
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        n = self.n + other.n
        difference = other.mean - self.mean
        ends = {self.least, self.greatest, other.least, other.greatest}
        return Moments(
            n,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            self.is_whole and other.is_whole,
            self.is_two and other.is_two and len(ends) <= 2,
            self.mean + difference * (other.n / n),
            self.squares + other.squares + difference * difference * (self.n * (other.n / n)),
        )


@dataclass(frozen=True)
class ExactSum:
    """A sum of floats without any rounding: numbers that do not overlap, the largest first, and add up to it.

    Examples
    --------
    >>> ExactSum.of([1e16, 1.0]).joined(ExactSum.of([-1e16])).rounded()
    1.0
    """

    terms: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float]) -> ExactSum:
        """Add up floats."""
        rest, terms = list(values), []
        while (total := math.fsum(rest)) != 0.0:
            terms.append(total)
            rest.append(-total)
        return cls(tuple(terms))

    def joined(self, other: ExactSum) -> ExactSum:
        """Return the sum of both."""
        return ExactSum.of((*self.terms, *other.terms))

    def rounded(self) -> float:
        """Return the nearest float."""
        return math.fsum(self.terms)
