"""Bounds of a score from row sums over proved ranges, or around a filled-in table: a budget of units (lem-budget)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ipub.certificates.row_sums.prove import can_be_narrowed, narrowed, prove_ranges
from ipub.certificates.row_sums.ranges import COARSE, FINE, FINEST, Accuracy, Ranges, kernel_type
from ipub.certificates.row_sums.table import MOST_ROWS, MOST_WORK_OF_BUDGETS, RowTable, is_small
from ipub.certificates.row_sums.upper import largest_scores
from ipub.model_sets.base import NOT_CLOSED, ModelSet, Outcome, Reason
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.region import Region
from ipub.numeric.rounding import Array, dot_bounds, midpoint_and_radius, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.tables.movable_units import BudgetMoves, MovableRows

TOO_MUCH_DIFFERS = "too much may differ at this penalty; a smaller budget or a larger alpha may help"
"""The end of a sentence where no ranges around a filled-in table prove themselves."""

MOST_ASKED = 1 << 35
"""Asked rows times training rows times columns squared, up to which those of a longer table are bounded by row sums:
width against time, some seconds."""

FEW_DIRECTIONS = 1_000
"""Where derivatives jump and ranges are no more than this, scores are ruled out in them even if row sums alone do not
narrow them: width of pointwise bounds against time."""


@dataclass(frozen=True)
class RowSumBounds(ModelSet):
    """Bounds of ``x.w''`` as sums over the training rows (thm-row-sums), over ranges that were proved."""

    ranges: Ranges
    """Of the models of all completions."""
    widths: Array | None = None
    """Shape (2, n): how wide the ranges were when they were proved (`ProvedRanges.widths`); None if they were known."""
    path: Ranges | None = None
    """Ranges that proved themselves: they also hold on the way from w to the completions; None if ranges were known."""
    most_rows: int | None = None
    """Rows of one call, up to which these bounds are used; None: any."""
    accuracy: Accuracy = FINEST
    """Of the sums for the rows that are asked for."""
    name: str = "row sums"

    @property
    def keeps_training_rows(self) -> bool:
        return True

    @property
    def searched(self) -> Ranges | None:
        """The ranges in which scores are ruled out (thm-ruled-out), if any: known ones only where the derivative jumps.

        Elsewhere known ranges are so wide that it would take time for nothing.
        """
        return self.ranges if self.path is not None or self.ranges.variants.graph.is_step else None

    def ends(self, X: Array) -> tuple[Array, Array]:
        X = np.asarray(X, dtype=float)
        try:
            highest = largest_scores(self._asked, np.concatenate([X, -X]))
            return -highest[len(X) :], highest[: len(X)]
        except np.linalg.LinAlgError:
            return np.full(len(X), -np.inf), np.full(len(X), np.inf)

    @cached_property
    def _asked(self) -> Ranges:
        return replace(self.ranges, accuracy=self.accuracy)

    def without_training_rows(self) -> None:
        """Return nothing: every bound looks at every row."""


@overflow_means_unbounded()
def prove_row_sums(at_w: Ranges | None, widths: Array | None = None) -> Outcome[RowSumBounds]:
    """Prove ranges by their own row sums, given those that hold w alone (`ranges_at_w`), narrow them, and bound scores.

    The `widths` of the bounds of a similar table save most of the time.
    """
    if at_w is None:
        return Outcome(None, Reason.NOT_APPLICABLE)
    try:
        found, reason, _ = prove_ranges(at_w, widths)
        if found is None:
            return Outcome(None, reason, NOT_CLOSED)
        path = found.ranges
        if path.table.has_centers:
            ranges = narrowed(path.of_completions(path.lower, path.upper))
        else:
            path = ranges = narrowed(path)
    except np.linalg.LinAlgError:
        return Outcome(None, Reason.UNBOUNDED, NOT_CLOSED)
    if widths is None:
        return Outcome(RowSumBounds(ranges, found.widths, path), Reason.PROVED)
    # There may be hundreds of similar tables: what was computed on the way is not kept.
    return Outcome(RowSumBounds(replace(ranges, table=replace(ranges.table)), found.widths), Reason.PROVED)


def ranges_to_search(certificate: Certificate) -> Ranges | None:
    """Return the ranges in which scores are ruled out (thm-ruled-out), if a certificate has any."""
    row_sums = certificate.part(RowSumBounds)
    return None if row_sums is None else row_sums.searched


@overflow_means_unbounded()
def row_sum_bounds_within(
    problem: Problem, solution: Solution, known: Certificate, at_w: Ranges | None = None
) -> tuple[RowSumBounds, bool] | None:
    """Return bounds by row sums over the ranges that a certificate gives, and whether they narrow these; None: no use.

    Where the derivative of the loss jumps, these are the only row sums: no ranges prove themselves. If they are few,
    they are kept in any case, as scores can be ruled out in them. Ranges that hold w alone (`ranges_at_w`) save
    gathering the table again.
    """
    ranges = _known_ranges(problem, solution, known, at_w)
    if ranges is None:
        return None
    try:
        is_narrower = can_be_narrowed(ranges)
        if not is_narrower and (problem.loss.is_smooth or len(ranges.lower) > FEW_DIRECTIONS):
            return None
        return RowSumBounds(narrowed(ranges, leaves_out_constant=not problem.loss.is_smooth)), is_narrower
    except np.linalg.LinAlgError:
        return None


def reason_against_row_sums(solution: Solution) -> str | None:
    """Return why there are no row sums, and what to do, as part of a sentence; None if there may be."""
    if kernel_type() is None:
        return "the package was installed without its compiled loops; install it where there is a C compiler"
    is_finite = bool(np.isfinite(solution.w).all())
    return None if is_finite else "training ended in weights that are not finite; scale the columns"


def reason_against_proved_ranges(problem: Problem, solution: Solution) -> str | None:
    """Return why no ranges prove themselves; see `reason_against_row_sums`."""
    if not problem.loss.is_smooth:
        return f"the loss {problem.loss.name!r} has a kink; take one without, as 'smoothed_hinge'"
    return reason_against_row_sums(solution)


@overflow_means_unbounded()
def row_sum_bounds_of_asked_rows(problem: Problem, solution: Solution, known: Certificate) -> RowSumBounds | None:
    """Return bounds by row sums over the ranges that a certificate gives, for asked rows of long tables alone.

    None if a table is not longer than those of which all rows have them, very long or certain, the derivative of the
    loss jumps, or w is not finite.
    """
    rows, d = problem.rows, problem.rows.n_features
    if reason_against_proved_ranges(problem, solution) is not None or is_small(rows.n_rows, d):
        return None
    table = RowTable.for_asked_rows(problem, solution)
    if table is None or not table.is_uncertain:
        return None
    ranges = Ranges.of(table, *known.score_bounds(table.directions).T, on_path=False)
    return RowSumBounds(ranges, most_rows=MOST_ASKED // (rows.n_rows * d * d), accuracy=COARSE)


def _known_ranges(problem: Problem, solution: Solution, known: Certificate, at_w: Ranges | None) -> Ranges | None:
    """Return the ranges that a certificate gives; None if the table is too long, or certain, or w is not finite."""
    if at_w is not None:
        return at_w.of_completions(*known.score_bounds(at_w.table.directions).T)
    is_usable = reason_against_row_sums(solution) is None
    table = RowTable.within(problem, solution, known) if is_usable else None
    if table is None or not (problem.rows.count_uncertain() or problem.rows.uncertain_labels):
        return None
    return Ranges.of(table, *known.score_bounds(table.directions).T, on_path=False)


def ranges_at_w(problem: Problem, solution: Solution) -> Ranges | None:
    """Return ranges that hold w alone; None if the table is long or certain, w not finite, or the loss has a jump."""
    is_usable = reason_against_proved_ranges(problem, solution) is None
    table = RowTable.of(problem, solution) if is_usable else None
    if table is None or not table.is_uncertain:
        return None
    return Ranges.of(table, *dot_bounds(table.directions, table.w), on_path=True)


@overflow_means_unbounded()
def bounds_around_filling(
    problem: Problem, solution: Solution, movable: MovableRows, moves: BudgetMoves, widths: Array | None = None
) -> Outcome[RowSumBounds]:
    """Bound the scores of the models of all tables that differ from a filled-in one as a budget allows.

    The note says why there are none, and what to do, as part of a sentence.

    Parameters
    ----------
    problem : Problem
        The filled-in table, without uncertain cells, categories or labels.
    solution : Solution
        Any vector of weights: the model of the filled-in table makes the bounds narrow.
    movable : MovableRows
        What may differ from the table.
    moves : BudgetMoves
        How much of it, together.
    widths : array, optional
        `RowSumBounds.widths` of another budget of the same table: where to start.
    """
    rows = problem.rows
    note = reason_against_proved_ranges(problem, solution)
    if note is not None:
        return Outcome(None, Reason.NOT_APPLICABLE, note)
    if not is_small(rows.n_rows, rows.n_features, MOST_WORK_OF_BUDGETS):
        note = (
            f"{rows.n_rows:,} rows and {rows.n_features:,} columns are too many; take at most {MOST_ROWS:,} rows, and "
            "fewer with many columns"
        )
        return Outcome(None, Reason.TOO_LARGE, note)
    table = RowTable.around(problem, solution, movable, moves)
    at_w = None if table is None else Ranges.of(table, *dot_bounds(table.directions, table.w), on_path=True)
    proved = prove_row_sums(at_w, widths)
    return proved if proved.found is not None else proved._replace(note=TOO_MUCH_DIFFERS)


@overflow_means_unbounded()
def bounds_of_smaller_budget(
    bounds: RowSumBounds, problem: Problem, solution: Solution, movable: MovableRows, moves: BudgetMoves
) -> RowSumBounds | None:
    """Bound the scores of a smaller budget, over ranges that were proved for a larger one: its tables are among those.

    The other arguments are those of `bounds_around_filling`, which took most of the time for the larger one; no group
    has more units here than there. None if the ranges are of other directions.
    """
    table = RowTable.around(problem, solution, movable, moves)
    if table is None or not np.array_equal(table.directions, bounds.ranges.table.directions):
        return None
    return RowSumBounds(Ranges.of(table, bounds.ranges.lower, bounds.ranges.upper, on_path=False), bounds.widths)


def has_proved_ranges(certificate: Certificate) -> bool:
    """Whether a certificate has row sums over ranges that proved themselves."""
    row_sums = certificate.part(RowSumBounds)
    return row_sums is not None and row_sums.path is not None


class CertifiedEnds:
    """What a certificate says of the directions of tables; kept for further tables with the same directions."""

    def __init__(self, certificate: Certificate) -> None:
        row_sums = certificate.part(RowSumBounds)
        if row_sums is not None and row_sums.path is not None:
            # They are nearly all that the certificate proves, and what is found is narrowed anyway.
            certificate = Certificate(certificate.name, (replace(row_sums, accuracy=COARSE),), certificate.gap)
        self._certificate = certificate
        self._directions: Array | None = None
        self._bounds = np.zeros((0, 2))

    def of(self, directions: Array) -> tuple[Array, Array]:
        """Return the lowest and the highest score of each direction."""
        if self._directions is None or not np.array_equal(directions, self._directions):
            self._directions, self._bounds = directions, self._certificate.score_bounds(directions)
        return self._bounds[:, 0], self._bounds[:, 1]


@overflow_means_unbounded()
def budget_bounds_within(
    problem: Problem, solution: Solution, movable: MovableRows, moves: BudgetMoves, known: CertifiedEnds
) -> RowSumBounds | None:
    """Bound the scores of a budget over the ranges that a certificate gives, narrowed (lem-smaller-budget).

    The other arguments are those of `bounds_around_filling`. `known` is about a set of tables that holds all those that
    the budget allows. None where there are no row sums, or the ranges are not finite.
    """
    if reason_against_proved_ranges(problem, solution) is not None:
        return None
    table = RowTable.around(problem, solution, movable, moves)
    if table is None:
        return None
    lower, upper = known.of(table.directions)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return None
    try:
        ranges = narrowed(replace(Ranges.of(table, lower, upper, on_path=False), accuracy=COARSE))
    except np.linalg.LinAlgError:
        return None
    return RowSumBounds(replace(ranges, accuracy=FINE))


@overflow_means_unbounded()
def narrowed_by_all_fillings(bounds: RowSumBounds, all_fillings: Certificate) -> RowSumBounds:
    """Return the bounds of a budget over what is known of all fillings too, among which it is (lem-smaller-budget).

    Both have proved ranges, of the same number of columns; the ranges of the budget are cut and narrowed again.
    """
    directions = bounds.ranges.table.directions
    try:
        low, high = CertifiedEnds(all_fillings).of(directions)
        within = bounds.ranges.within(low, high)
        if not ((within.lower > bounds.ranges.lower) | (within.upper < bounds.ranges.upper)).any():
            return bounds
        # On the way from w to a completion nothing is known of them.
        return replace(bounds, ranges=narrowed(bounds.ranges.of_completions(within.lower, within.upper)))
    except np.linalg.LinAlgError:
        return bounds


def with_box(bounds: RowSumBounds) -> tuple[ModelSet, ...]:
    """Return bounds with the box of the weights that they prove, which can be kept without training rows."""
    ranges = bounds.ranges
    center, box = midpoint_and_radius(ranges.weight_lower, ranges.weight_upper)
    return Region("box", center, box, 0.0), bounds
