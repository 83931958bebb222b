"""Row sums with one matrix for all directions: nearly as narrow where little may differ, at a small part of the cost.

Row sums (thm-row-sums) with the multipliers of `OneMatrixSums` are a few matrix products for all directions at once
(lem-one-matrix).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.one_matrix_sums import AboutEnds, OneMatrixSums, OneMatrixTable
from ipub.certificates.row_sums.ranges import COARSE, Ranges, kernel_type
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import largest_scores
from ipub.model_sets.base import ModelSet, Outcome, Reason
from ipub.model_sets.proofs import Relaxed, prove
from ipub.model_sets.region import Region
from ipub.numeric.rounding import UNDERFLOW, Array, dot_bounds, down, midpoint_and_radius, overflow_means_unbounded, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution

CAN_BE_NARROWED = 1.1
"""Where ranges are this many times as wide as to first order, rows that are asked for also have sums with a matrix for
each: width against time."""

WIDE = 1.7
"""Where they are this many times as wide, ranges are narrowed by such sums, once, before: width against time."""

FIRST_WIDTH = 1.6
"""Width of the ranges that are looked at first, in first-order changes."""

WIDER_THAN_ANOTHER = 1.1
"""How many times as wide as those of another draw they are: most close at once, against width."""

MOST_CLOSE = 0.95
"""One u for both ends of a direction is tried once more if the median of what is found over ranges is less than this:
time against width."""

WIDER_THAN_ABOUT, LEAST_KEPT = 1.15, 0.3
"""Where it is not, ranges are so many times as wide as is expected, and at least this fraction of the former ones."""

HOPELESS = 2.0
"""Ranges are given up where what is found is so many times as wide as the first ones: other theorems are narrower."""

WIDENING = (0.02, 0.15)
"""By how much more than what was found ranges are widened where they do not close."""


@dataclass(frozen=True, eq=False)
class OneMatrixBounds(ModelSet):
    """Bounds of ``x.w''`` by row sums over ranges that were proved with one matrix."""

    table: OneMatrixTable
    all_rows: RowTable | None
    """For sums with a matrix for each direction; None if they would gain little."""
    lower: Array
    upper: Array
    """Ranges of all rows and weights, for the models of all completions."""
    tried: tuple[Array, Array]
    """How far below and above w the ranges reached that proved themselves."""
    excess: float
    """How many times as wide they are as to first order: the median over rows and weights."""
    name: str = "row sums with one matrix"

    @property
    def keeps_training_rows(self) -> bool:
        return True

    @property
    def box(self) -> Region:
        """The ranges of the weights, which can be kept without training rows."""
        n = len(self.table.X)
        return Region("box", *midpoint_and_radius(self.lower[n:], self.upper[n:]), 0.0)

    @cached_property
    def _sums(self) -> OneMatrixSums:
        return OneMatrixSums(self.table, self.lower, self.upper)

    @cached_property
    def _closer(self) -> Ranges | None:
        """The ranges for sums with a matrix for each direction, if these gain much; they are made when asked for."""
        table = self.all_rows
        if table is None or kernel_type() is None:
            return None
        Y, n = table.directions, len(table.directions)
        ranges = replace(Ranges.of(table, *self._ends_of(Y), on_path=False), accuracy=COARSE)
        if self.excess <= WIDE:
            return ranges
        bounds = largest_scores(ranges, np.concatenate([Y, -Y]))
        return ranges.within(-bounds[n:], bounds[:n])

    def _ends_of(self, Y: Array) -> tuple[Array, Array]:
        """Return the ranges of the directions of all rows, complete ones first, where that is what they are."""
        (n, d), varies = self.table.X.shape, np.bincount(self.table.rows, minlength=len(self.table.X)) > 0
        counts = self.table.weight > 0.0
        order = np.concatenate([np.flatnonzero(counts & ~varies), np.flatnonzero(counts & varies), n + np.arange(d)])
        is_same = np.array_equal(self.table.directions[order], Y)
        return (self.lower[order], self.upper[order]) if is_same else self._one_matrix_ends(Y)

    @overflow_means_unbounded()
    def ends(self, X: Array) -> tuple[Array, Array]:
        low, high = self._one_matrix_ends(np.asarray(X, dtype=float))
        try:
            if self._closer is None:
                return low, high
            highest = largest_scores(self._closer, np.concatenate([X, -X]))
        except np.linalg.LinAlgError:
            return low, high
        return np.fmax(low, -highest[len(X) :]), np.fmin(high, highest[: len(X)])

    def _one_matrix_ends(self, X: Array) -> tuple[Array, Array]:
        low, high = self._sums.ends(X)
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)

    def without_training_rows(self) -> None:
        """Return nothing: every bound looks at every row."""


class _Guess(NamedTuple):
    """How far ranges that may hold all models reach below w, and above it."""

    below: Array
    above: Array
    pulled: Array | None = None
    """For each direction about what its cells add to the matrix; None while one u is tried for both of its ends."""
    is_first: bool = True


@overflow_means_unbounded()
def prove_with_one_matrix(
    problem: Problem, solution: Solution, like: OneMatrixBounds | None = None
) -> Outcome[OneMatrixBounds]:
    """Prove ranges of all rows and weights by their own sums (thm-ranges), beginning with those of a similar table."""
    table = OneMatrixTable.of(problem, solution)
    if table is None:
        return Outcome(None, Reason.NOT_APPLICABLE)
    closing = _Closing(table, like)
    proved, _ = prove(closing.relax, closing.start)
    if proved.found is None or proved.found.excess <= CAN_BE_NARROWED:
        return proved
    return proved._replace(found=replace(proved.found, all_rows=RowTable.for_asked_rows(problem, solution)))


class _Closing:
    """Ranges that are widened until their sums lie strictly inside: at first with one u for both ends."""

    def __init__(self, table: OneMatrixTable, like: OneMatrixBounds | None) -> None:
        self._table, self._like, self._Y = table, like, table.directions
        self._at_w = dot_bounds(self._Y, table.w)
        # Of another draw only whether it was wide counts.
        self._first = _first_order(table, self._Y) if like is None else np.ones(len(self._Y))

    @cached_property
    def start(self) -> _Guess:
        """The first ranges."""
        if self._like is None:
            return _Guess(FIRST_WIDTH * self._first, FIRST_WIDTH * self._first)
        below, above = self._like.tried
        return _Guess(WIDER_THAN_ANOTHER * below, WIDER_THAN_ANOTHER * above)

    def relax(self, guess: _Guess) -> Relaxed[_Guess, OneMatrixBounds] | None:
        """Bound all directions over ranges."""
        lower, upper = down(self._at_w[0] - guess.below), up(self._at_w[1] + guess.above)
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return None
        sums, about = OneMatrixSums(self._table, lower, upper), None
        if guess.pulled is None:
            about = sums.about(self._Y)
            low, high = about.low, about.high
        else:
            low, high = sums.ends(self._Y, guess.pulled)
        excess = float(np.median((high - low) / (2.0 * self._first))) if self._like is None else self._like.excess
        tried, narrower = (guess.below, guess.above), (np.fmax(lower, low), np.fmin(upper, high))
        bounds = OneMatrixBounds(self._table, None, *narrower, tried, excess)
        is_inside = bool(((low > lower) & (high < upper)).all())
        is_hopeless = not float(np.median((high - low) / (self.start.below + self.start.above))) < HOPELESS
        return Relaxed(bounds, is_inside, self._wider(guess, low, high, about), is_hopeless)

    def _wider(self, guess: _Guess, low: Array, high: Array, about: AboutEnds | None) -> _Guess:
        """Return wider ranges, or, where most directions do not close, those for a u for each end."""
        before, found = guess[:2], self._beyond_w(low, high)
        most_close = guess.is_first and np.median(sum(found) / sum(before)) < MOST_CLOSE
        if about is not None and not most_close:
            expected = self._beyond_w(about.about_low, about.about_high)
            below, above = (
                np.maximum(WIDER_THAN_ABOUT * each, LEAST_KEPT * was)
                for each, was in zip(expected, before, strict=True)
            )
            return _Guess(below, above, about.pulled, is_first=False)
        below, above = (
            np.maximum(was, each * (1.0 + np.clip(each / was - 1.0, *WIDENING)))
            for each, was in zip(found, before, strict=True)
        )
        return _Guess(below, above, guess.pulled, is_first=False)

    def _beyond_w(self, low: Array, high: Array) -> tuple[Array, Array]:
        return self._at_w[0] - low, high - self._at_w[1]


def _first_order(table: OneMatrixTable, Y: Array) -> Array:
    """Return how far directions move to first order; never 0."""
    rise = OneMatrixSums(table, *dot_bounds(Y, table.w)).first_order(Y)
    scale = np.abs(Y @ table.w)
    return np.asarray(np.maximum(rise, np.maximum(1e-6 * scale, 1e-9 * max(scale.max(), rise.max(), UNDERFLOW))))
