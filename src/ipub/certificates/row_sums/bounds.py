"""Bounds of a score from row sums over proved ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.prove import MOST_NARROWED_OF_JUMPS, can_be_narrowed, narrowed, prove_ranges
from ipub.certificates.row_sums.ranges import COARSE, FINEST, Accuracy, Ranges
from ipub.certificates.row_sums.table import RowTable, is_small
from ipub.certificates.row_sums.upper import kernel_type, largest_scores
from ipub.model_sets.certificate import Certificate, Needs, ScoreBounds
from ipub.numeric.rounding import Array, dot_bounds, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution

NOT_CLOSED = "Row sums did not close at this penalty; a larger alpha may close them."
"""The note where ranges were tried, and none proved itself."""

MOST_ASKED = 1 << 35
"""Asked rows times training rows times columns squared, up to which those of a longer table are bounded by row sums:
some seconds."""

FEW_DIRECTIONS = 1_000
"""Where derivatives jump and ranges are no more than this, scores are ruled out in them even if row sums alone do not
narrow them."""


@dataclass(frozen=True)
class RowSumBounds(ScoreBounds):
    """Bounds of ``x.w''`` as sums over the training rows (Theorem 11), over ranges that were proved.

    Attributes
    ----------
    ranges : Ranges
        Of the models of all completions.
    widths : array of shape (2, n) or None
        How wide the ranges were when they were proved (`ProvedRanges.widths`); None if they were known.
    path : Ranges or None
        Ranges that proved themselves: they also hold on the way from w to the completions; None if ranges were known.
    is_for_search_alone : bool
        Whether scores are ruled out in the ranges, but row sums over them bound nothing that is not bounded better by
        what they are from: then `ends` are infinite, which saves time.
    most_asked : int or None
        `ends` of more rows at a time are infinite as well.
    accuracy : Accuracy
        Of the sums for the rows that are asked for.
    """

    ranges: Ranges
    widths: Array | None = None
    path: Ranges | None = None
    is_for_search_alone: bool = False
    most_asked: int | None = None
    accuracy: Accuracy = FINEST
    name: str = "row sums"

    @property
    def searched(self) -> Ranges | None:
        """The ranges in which scores are ruled out (Theorem 14), if any: known ones only where the derivative jumps.

        Elsewhere known ranges are so wide that it would take time for nothing.
        """
        return self.ranges if self.path is not None or self.ranges.variant_graph.is_step else None

    @property
    def needs(self) -> Needs:
        return Needs(matrices=True, training_rows=True)

    @property
    def is_for_asked_rows(self) -> bool:
        return self.most_asked is not None

    def ends(self, X: Array) -> tuple[Array, Array]:
        X = np.asarray(X, dtype=float)
        if self.is_for_search_alone or (self.most_asked is not None and len(X) > self.most_asked):
            return np.full(len(X), -np.inf), np.full(len(X), np.inf)
        try:
            return -largest_scores(self._asked, -X), largest_scores(self._asked, X)
        except np.linalg.LinAlgError:
            return np.full(len(X), -np.inf), np.full(len(X), np.inf)

    @cached_property
    def _asked(self) -> Ranges:
        return replace(self.ranges, accuracy=self.accuracy)

    def without_training_rows(self) -> None:
        """Return nothing: every bound looks at every row."""


class RowSumAttempt(NamedTuple):
    """Bounds by row sums, or None, with a note if ranges were tried and none closed."""

    bounds: RowSumBounds | None
    note: str
    at_w: Ranges | None = None
    """Ranges that hold w alone; None if the table is not looked at."""


@overflow_means_unbounded()
def attempt_row_sums(problem: Problem, solution: Solution, widths: Array | None = None) -> RowSumAttempt:
    """Prove ranges by their own row sums, and return bounds over them; nothing is tried if the table is too long.

    The `widths` of the bounds of a similar table save most of the time.
    """
    at_w = ranges_at_w(problem, solution)
    if at_w is None:
        return RowSumAttempt(None, "")
    bounds = proved_bounds(at_w, widths)
    return RowSumAttempt(bounds, NOT_CLOSED if bounds is None else "", at_w)


def row_sum_bounds(problem: Problem, solution: Solution, widths: Array | None = None) -> RowSumBounds | None:
    """Return bounds by row sums over ranges that prove themselves; None if the table is too long, or none close."""
    return attempt_row_sums(problem, solution, widths).bounds


def proved_bounds(at_w: Ranges, widths: Array | None = None) -> RowSumBounds | None:
    """Prove ranges, given those that hold w alone, and narrow them; None if none close."""
    try:
        proved = prove_ranges(at_w, widths)
    except np.linalg.LinAlgError:
        return None
    if proved is None:
        return None
    path = proved.ranges
    if path.table.has_centers:
        ranges = narrowed(path.of_completions(path.lower, path.upper))
    else:
        path = ranges = narrowed(path)
    if widths is None:
        return RowSumBounds(ranges, proved.widths, path)
    # There may be hundreds of similar tables: what was computed on the way is not kept.
    return RowSumBounds(replace(ranges, table=replace(ranges.table)), proved.widths)


@overflow_means_unbounded()
def row_sum_bounds_within(
    problem: Problem, solution: Solution, known: Certificate, at_w: Ranges | None = None
) -> RowSumBounds | None:
    """Return bounds by row sums over the ranges that a certificate gives; None if they would not be narrower.

    Where the derivative of the loss jumps, these are the only row sums: no ranges prove themselves. If they are few,
    they are kept in any case, as scores can be ruled out in them. Ranges that hold w alone (`RowSumAttempt.at_w`) save
    gathering the table again.
    """
    ranges = _known_ranges(problem, solution, known, at_w)
    if ranges is None:
        return None
    try:
        is_narrower = can_be_narrowed(ranges)
        if not is_narrower and (problem.loss.is_smooth or len(ranges.lower) > FEW_DIRECTIONS):
            return None
        if problem.loss.is_smooth:
            return RowSumBounds(narrowed(ranges))
        return RowSumBounds(narrowed(ranges, MOST_NARROWED_OF_JUMPS, settle=True), is_for_search_alone=not is_narrower)
    except np.linalg.LinAlgError:
        return None


@overflow_means_unbounded()
def row_sum_bounds_of_asked_rows(problem: Problem, solution: Solution, known: Certificate) -> RowSumBounds | None:
    """Return bounds by row sums over the ranges that a certificate gives, for asked rows of long tables alone.

    None if a table is not longer than those of which all rows have them, very long or certain, the derivative of the
    loss jumps, or w is not finite.
    """
    rows, d = problem.rows, problem.rows.n_features
    is_usable = kernel_type() is not None and problem.loss.is_smooth and bool(np.isfinite(solution.w).all())
    if not is_usable or is_small(rows.n_rows, d):
        return None
    table = RowTable.for_asked_rows(problem, solution)
    if table is None or not table.is_uncertain:
        return None
    ranges = Ranges.of(table, *known.score_bounds(table.directions).T, on_path=False)
    return RowSumBounds(ranges, most_asked=MOST_ASKED // (rows.n_rows * d * d), accuracy=COARSE)


def _known_ranges(problem: Problem, solution: Solution, known: Certificate, at_w: Ranges | None) -> Ranges | None:
    """Return the ranges that a certificate gives; None if the table is too long, or certain, or w is not finite."""
    if at_w is not None:
        return at_w.of_completions(*known.score_bounds(at_w.table.directions).T)
    is_usable = kernel_type() is not None and bool(np.isfinite(solution.w).all())
    table = RowTable.within(problem, solution, known) if is_usable else None
    if table is None or not (problem.rows.count_uncertain() or problem.rows.uncertain_labels):
        return None
    return Ranges.of(table, *known.score_bounds(table.directions).T, on_path=False)


def ranges_at_w(problem: Problem, solution: Solution, most_work: int | None = None) -> Ranges | None:
    """Return ranges that hold w alone; None if the table is long or certain, w not finite, or the loss has a jump."""
    is_usable = kernel_type() is not None and problem.loss.is_smooth and bool(np.isfinite(solution.w).all())
    table = RowTable.of(problem, solution, most_work) if is_usable else None
    if table is None or not table.is_uncertain:
        return None
    return Ranges.of(table, *dot_bounds(table.directions, table.w), on_path=True)
