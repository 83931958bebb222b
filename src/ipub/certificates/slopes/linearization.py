"""A line through the derivative of every row (sec-lines), for all moves in a set: one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.scores import ScoreRanges, score_ranges
from ipub.certificates.slopes.cell_coefficients import TuningChoices
from ipub.certificates.slopes.cells import CellTerms, cell_terms
from ipub.certificates.slopes.hessian import CenterCurvature, hessian_gain, hessian_lower, hessian_upper
from ipub.certificates.slopes.incomplete_rows import IncompleteRowArrays, IncompleteRows, RowLines, choose_prices
from ipub.certificates.slopes.sums_of_cells import CellSums, SummedCells, cell_sums, summed_cells
from ipub.certificates.wrong_labels import WrongLabelRows, WrongLabelSums, WrongLabelTerms, wrong_label_parts
from ipub.losses import Loss
from ipub.model_sets.move_sets import MoveSet
from ipub.numeric.linalg import rounded_up
from ipub.numeric.rounding import Array, down, midpoint_and_radius, overflow_means_unbounded, sum_error, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.promises import Uncertainty, WrongLabels
from ipub.rows import Block, Reads, reads
from ipub.rows.ops import take_rows, weighted_grams

MOST_JUMP_ROWS = 10_000
"""Rows at a jump of the derivative, or with an uncertain label, that are kept one by one: width against time and
memory, 8 MB for 100 columns. If there are more, one form bounds them all (Cauchy and Schwarz)."""


class JumpRows(NamedTuple):
    """The rows at a jump of the derivative, or whose label is uncertain."""

    n_rows: int
    form: Array
    """``(sum_i m_i r_i) sum_i m_i r_i x_i x_i^T``, r the derivatives' radii, from above: ``sqrt(u.form u)`` bounds what
    they add."""
    rows: Array
    """Their ``m_i r_i x_i`` one by one, unless there are more than `MOST_JUMP_ROWS`."""
    slack: Array
    """Rounding of these."""

    @property
    def are_kept(self) -> bool:
        """Whether they are there one by one."""
        return len(self.rows) == self.n_rows


@dataclass(frozen=True)
class Linearization:
    """The derivative of each row as a line (sec-lines), summed over the rows.

    ``psi(t'') = phi(p'') + slope x''.v``, off by ``slope_radius |x''.v|`` or by ``derivative_radius``.
    """

    problem: Problem
    w: Array
    move_limits: Array
    """Bounds of ``|v_j|`` it relies on."""
    center: CenterCurvature
    n_slopes: int
    n_slope_radii: int
    """How many rows have a slope, and a radius of it, above 0."""
    row_move_form: float
    """``sum_i m_i slope_radius_i row_move_i^2``, from above: bounds ``v.K v``, K the `slope_radius_form`."""
    cell_move_form: float
    """``sum_i m_i slope_radius_i cell_move_i^2``, from above."""
    gradient: Array
    """Gradient at w' and at the center, the penalty's l1 part apart."""
    gradient_error: Array
    """Its rounding."""
    jumps: JumpRows
    incomplete: IncompleteRows | None
    """The rows with uncertain cells; None if there were too many to keep them."""
    cells: CellTerms | SummedCells
    wrong_labels: WrongLabelTerms

    @property
    def curvature(self) -> Array:
        """A, without what an l1 penalty adds."""
        return self.center.matrix

    def l1_choice(self) -> Array:
        """Return a subgradient of the l1 part at w' that leaves as little gradient as it can."""
        kappa = self.problem.penalty.kappa_vector(len(self.w))
        return np.where(self.w == 0.0, np.clip(-self.gradient, -kappa, kappa), kappa * np.sign(self.w))

    def hessian_lower(self) -> Array:
        """Bound the mean Hessian between w' and w'' from below, for all completions (lem-hessian)."""
        lost = self.cells.hessian_loss(self.curvature)
        return hessian_lower(self.center, lost, self.wrong_labels.hessian_loss(self.curvature))

    def hessian_upper(self) -> Array:
        """Bound it from above; only where the rows with uncertain cells are kept."""
        assert self.incomplete is not None
        gained = hessian_gain(self.incomplete, choose_prices(self.incomplete, self.curvature))
        return hessian_upper(self.center, gained)


@dataclass(frozen=True)
class FewRows:
    """Rows of the blocks seen so far, one by one, as long as they are no more than `most`; these add."""

    rows: Array
    count: int
    most: int

    @classmethod
    def of(cls, rows: Array, most: int) -> FewRows:
        """Keep the rows of a block, or none if they are too many."""
        return cls(rows if len(rows) <= most else rows[:0], len(rows), most)

    def __add__(self, other: FewRows) -> FewRows:
        count = self.count + other.count
        rows = np.concatenate([self.rows, other.rows]) if count <= self.most else self.rows[:0]
        return FewRows(rows, count, self.most)


class LineSums(NamedTuple):
    """What is added up over all rows of the table; weights are not yet divided by their total."""

    gram: Array
    slope_radius_form: Array
    gradient: Array
    gradient_size: Array
    """What the rounding of `gradient` is relative to."""
    derivative_error: Array
    row_move_form: Array
    cell_move_form: Array
    jump_sum: Array
    jump_form: Array
    """``sum_i m_i r_i`` and ``sum_i m_i r_i x_i x_i^T``, r the derivatives' radii."""
    jump_count: float
    slope_count: float
    slope_radius_count: float
    jump_rows: FewRows
    wrong_labels: WrongLabelSums


class SummedPass(NamedTuple):
    """The sums of a pass that keeps no cells."""

    lines: LineSums
    cells: CellSums


class KeptRows(NamedTuple):
    """What a pass gathers that keeps the incomplete rows."""

    wrong_labels: WrongLabelRows
    incomplete: IncompleteRowArrays


@overflow_means_unbounded()
def linearize(
    problem: Problem,
    solution: Solution,
    moves: MoveSet,
    *,
    box: Array | None = None,
    everywhere: bool = False,
    tuning: TuningChoices | None = None,
) -> Linearization:
    """Lay a line through the derivative of every row, for all moves in a set; one pass over the rows.

    With a `box`, moves have ``|v_j| <= box_j`` as well. With `everywhere`, slopes are those between any two scores
    that a row may have; else one of them is w''s. With `tuning` what uncertain cells do is added up on the way, and
    none is kept.
    """
    rows, loss, w = problem.rows, problem.loss, solution.w
    move_limits = moves.max_score_move(np.eye(len(w)))
    move_limits = move_limits if box is None else np.fmin(move_limits, box)
    task = _Task(
        loss, solution, moves, move_limits, everywhere, rows.total_weight, problem.uncertainty, problem.wrong_labels
    )
    incomplete: IncompleteRows | None = None
    cells: CellTerms | SummedCells
    if tuning is None:
        sums, kept = rows.reduce_and_gather(_kept_cells_pass, task)
        incomplete = IncompleteRows.of(kept.incomplete, rows.categories)
        cells, wrong_labels = cell_terms(incomplete, loss, w, move_limits), kept.wrong_labels
    else:
        summed, wrong_labels = rows.reduce_and_gather(_summed_cells_pass, task, tuning)
        sums, cells = summed.lines, summed_cells(tuning, summed.cells)
    # The sums over all blocks together, rounded outward (fp-sums, fp-forms).
    d, total = len(w), rows.total_weight
    roundings, lam = rows.depth + 2 * d + 20, problem.penalty.lam_vector(d)
    gram = sums.gram / total
    center = CenterCurvature(
        gram=0.5 * (gram + gram.T),
        gram_size=sum_upper(np.diag(gram), roundings),
        slope_radius_form=rounded_up(sums.slope_radius_form / total, roundings),
        lam=lam,
        roundings=roundings + cells.n_rows,
    )
    error = sum_error(sums.gradient_size / total + np.abs(lam * w), roundings)
    return Linearization(
        problem=problem,
        w=w,
        move_limits=move_limits,
        center=center,
        n_slopes=int(sums.slope_count),
        n_slope_radii=int(sums.slope_radius_count),
        row_move_form=float(sum_upper(sums.row_move_form / total, roundings)),
        cell_move_form=float(sum_upper(sums.cell_move_form / total, roundings)),
        gradient=sums.gradient / total + lam * w,
        gradient_error=up(error + sum_upper(sums.derivative_error / total, roundings)),
        jumps=_jumps(sums, total, roundings, d),
        incomplete=incomplete,
        cells=cells,
        wrong_labels=WrongLabelTerms.of(sums.wrong_labels, wrong_labels, rows.max_wrong_labels, total),
    )


def _jumps(sums: LineSums, total: float, roundings: int, d: int) -> JumpRows:
    """Put together what there is of the rows at a jump; if they are too many, none is kept one by one."""
    count = int(sums.jump_count)
    if count == 0:
        return JumpRows(0, np.zeros((d, d)), np.zeros((0, d)), sum_error(np.zeros(d), 3 * d + 8))
    jump_sum = float(sum_upper(sums.jump_sum / total, roundings))
    form = rounded_up(jump_sum * (sums.jump_form / total), roundings)
    if count > MOST_JUMP_ROWS:
        return JumpRows(count, form, np.zeros((0, d)), np.zeros(d))
    jump_rows = sums.jump_rows.rows / total
    return JumpRows(count, form, jump_rows, sum_error(np.abs(jump_rows).sum(axis=0), 3 * d + count + 8))


def row_lines(
    block: Block,
    loss: Loss,
    solution: Solution,
    moves: MoveSet,
    move_limits: Array,
    everywhere: bool,
    uncertainty: Uncertainty,
) -> RowLines:
    """Lay a line through the derivative of each row of a block (sec-lines)."""
    at = score_ranges(block, solution.w, uncertainty)
    row_move = moves.max_score_move_in(block)
    incomplete = np.flatnonzero(at.incomplete)
    cell_move, move = np.zeros_like(row_move), row_move.copy()
    cell_move[incomplete] = sum_upper(
        uncertainty.score_change_within(block, move_limits)[incomplete], block.center.shape[1] + 1
    )
    move[incomplete] = up(row_move[incomplete] + cell_move[incomplete])
    lower, upper = at.lower, at.upper
    if block.label_uncertainty is not None:
        lower, upper = down(lower - block.label_uncertainty.radius), up(upper + block.label_uncertainty.radius)
    if everywhere:
        least, greatest = loss.curvature_range(block.y, down(lower - move), up(upper + move))
    else:
        least, greatest = loss.secant_range(block.y, lower, upper, move)
    if block.label_uncertainty is not None:
        # A row that may have no weight adds nothing to the Hessian.
        least = np.where(block.label_uncertainty.weight_radius > 0.0, 0.0, least)
    slope, slope_radius = midpoint_and_radius(least, greatest)
    fixed, radius = np.full_like(slope, np.nan), np.zeros_like(slope)
    jumps = np.flatnonzero(~(greatest < np.inf))
    if len(jumps):
        _lay_over_jumps(block, loss, at, move, jumps, slope, slope_radius, fixed, radius)
    if block.label_uncertainty is not None:
        label_change = uncertainty.derivative_change(block, loss, down(at.lower - move), up(at.upper + move))
        radius = np.where(label_change == 0.0, radius, up(radius + label_change))
    return RowLines(*at.intervals, least, greatest, slope, slope_radius, fixed, radius, row_move, cell_move)


def _lay_over_jumps(
    block: Block,
    loss: Loss,
    at: ScoreRanges,
    move: Array,
    jumps: np.ndarray[tuple[int], np.dtype[np.intp]],
    slope: Array,
    slope_radius: Array,
    fixed: Array,
    radius: Array,
) -> None:
    """Set the lines of rows whose derivative jumps: level for rows with uncertain cells, for others a sloping one."""
    y, has_cells = block.y[jumps], at.incomplete[jumps]
    score, score_error = midpoint_and_radius(at.score_lower[jumps], at.score_upper[jumps])
    lower, upper = down(at.lower - move)[jumps], up(at.upper + move)[jumps]
    anywhere = np.full_like(score, np.inf)
    middle, sloping, half = loss.derivative_line(y, score, lower, upper)
    level, _, level_half = loss.derivative_line(y, score, -anywhere, anywhere)
    fixed[jumps] = np.where(has_cells, level, middle)
    radius[jumps] = np.where(has_cells, level_half, up(half + up(sloping * score_error)))
    slope[jumps], slope_radius[jumps] = np.where(has_cells, 0.0, sloping), 0.0


def _line_sums(block: Block, loss: Loss, lines: RowLines, wrong: WrongLabels) -> tuple[LineSums, WrongLabelRows]:
    """Return what a block adds to the sums over all rows, and its rows of wrong labels."""
    X, weight = block.center, block.weight
    middle, half = loss.derivative_midpoint_and_radius(block.y, lines.score_lower, lines.score_upper)
    is_fixed = ~np.isnan(lines.fixed_derivative)
    if is_fixed.any():
        middle, half = np.where(is_fixed, lines.fixed_derivative, middle), np.where(is_fixed, 0.0, half)
    slope, slope_radius = weight * lines.slope, weight * lines.slope_radius
    derivative_radius = weight * lines.derivative_radius
    at_jump = np.flatnonzero(derivative_radius)
    jump_rows = X[at_jump] * derivative_radius[at_jump, None]
    move, slopes = up(lines.row_move + lines.cell_move), (lines.least_slope, lines.greatest_slope)
    wrong_sums, wrong_rows = wrong_label_parts(block, loss, (lines.lower, lines.upper), move, slopes, wrong)
    gram, slope_radius_form = weighted_grams(X, slope, slope_radius)
    sums = LineSums(
        gram=gram,
        slope_radius_form=slope_radius_form,
        gradient=(weight * middle) @ X,
        gradient_size=block.column_sizes(weight * middle),
        derivative_error=block.column_sizes(weight * half),
        row_move_form=slope_radius @ lines.row_move**2,
        cell_move_form=slope_radius @ lines.cell_move**2,
        jump_sum=np.asarray(derivative_radius.sum()),
        jump_form=jump_rows.T @ X[at_jump] if len(at_jump) else np.zeros((X.shape[1],) * 2),
        jump_count=float(len(at_jump)),
        slope_count=float(np.count_nonzero(slope)),
        slope_radius_count=float(np.count_nonzero(slope_radius)),
        jump_rows=FewRows.of(jump_rows, MOST_JUMP_ROWS),
        wrong_labels=wrong_sums,
    )
    return sums, wrong_rows


class _Task(NamedTuple):
    """What a pass needs beside the block; nothing of it grows with the rows."""

    loss: Loss
    solution: Solution
    moves: MoveSet
    move_limits: Array
    everywhere: bool
    total_weight: float
    uncertainty: Uncertainty
    wrong_labels: WrongLabels

    def lines(self, block: Block) -> RowLines:
        """Lay a line through the derivative of each row of a block."""
        return row_lines(
            block, self.loss, self.solution, self.moves, self.move_limits, self.everywhere, self.uncertainty
        )


@reads(Reads.NORMS)
def _kept_cells_pass(block: Block, task: _Task) -> tuple[LineSums, KeptRows]:
    """Sum over the rows of a block, and gather those with uncertain cells."""
    lines = task.lines(block)
    sums, wrong_labels = _line_sums(block, task.loss, lines, task.wrong_labels)
    return sums, KeptRows(wrong_labels, _incomplete_rows(block, lines, task.total_weight))


@reads(Reads.NORMS)
def _summed_cells_pass(block: Block, task: _Task, tuning: TuningChoices) -> tuple[SummedPass, WrongLabelRows]:
    """Sum over the rows of a block and over its uncertain cells."""
    lines = task.lines(block)
    sums, wrong_labels = _line_sums(block, task.loss, lines, task.wrong_labels)
    arrays = _incomplete_rows(block, lines, task.total_weight)
    incomplete = IncompleteRows.of(arrays, ())
    terms = cell_terms(incomplete, task.loss, task.solution.w, task.move_limits)
    return SummedPass(sums, cell_sums(terms, tuning)), wrong_labels


def _incomplete_rows(block: Block, lines: RowLines, total: float) -> IncompleteRowArrays:
    """Return the rows of a block with uncertain cells or missing categories."""
    n = len(block.y)
    order = np.argsort(block.cell_rows, kind="stable")
    which = np.flatnonzero(block.incomplete)
    return IncompleteRowArrays(
        center=take_rows(block.center, which),
        y=block.y[which],
        weight=block.weight[which] / total,
        lines=RowLines(*(part[which] for part in lines)),
        cell_counts=np.bincount(block.cell_rows, minlength=n)[which],
        cell_columns=block.cell_columns[order],
        cell_radii=block.cell_radii[order],
        choice_counts=np.bincount(block.missing_categories.rows, minlength=n)[which],
        choice_categories=block.missing_categories.categories,
    )
