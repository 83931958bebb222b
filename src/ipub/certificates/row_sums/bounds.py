"""Bounds of a score from row sums over proved ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.certificate import Needs, ScoreBounds
from ipub.certificates.row_sums.prove import narrowed, prove_ranges
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import largest_scores
from ipub.problem import Problem
from ipub.rounding import Array, dot_bounds, overflow_means_unbounded
from ipub.solvers import Solution


@dataclass(frozen=True)
class RowSumBounds(ScoreBounds):
    """Bounds of ``x.w''`` as sums over the training rows (Theorem 11), over ranges that were proved.

    Attributes
    ----------
    ranges : Ranges
        Of the models of all completions.
    """

    ranges: Ranges
    name: str = "row sums"

    @property
    def needs(self) -> Needs:
        return Needs(matrices=True, training_rows=True)

    def ends(self, X: Array) -> tuple[Array, Array]:
        X = np.asarray(X, dtype=float)
        return -largest_scores(self.ranges, -X), largest_scores(self.ranges, X)

    def without_training_rows(self) -> None:
        """Return nothing: every bound looks at every row."""


@overflow_means_unbounded()
def row_sum_bounds(problem: Problem, solution: Solution) -> RowSumBounds | None:
    """Return bounds by row sums; None if the table is too long for them, or no ranges close."""
    table = RowTable.of(problem, solution)
    if table is None or not len(table.incomplete):
        return None
    at_w = Ranges.of(table, *dot_bounds(table.directions, table.w), with_centers=True)
    ranges = prove_ranges(at_w)
    if ranges is None:
        return None
    if table.missing:
        ranges = Ranges.of(table, ranges.lower, ranges.upper, with_centers=False)
    return RowSumBounds(narrowed(ranges))
