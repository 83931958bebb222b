"""A line through the derivative of every row (Theorems 4 and 6), for all moves in a set, and the sums of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipub.certificates.label_noise import WrongLabelTerms, wrong_label_parts
from ipub.certificates.score_ranges import ScoreRanges, score_ranges
from ipub.certificates.slope.bounds import CellTable, ColumnGroups, MeanValueBounds, SlopeBounds
from ipub.certificates.slope.cell_terms import CellTerms, IncompleteRows
from ipub.certificates.slope.column_bounds import sorted_cells, with_column_forms
from ipub.certificates.slope.l1_signs import L1Signs
from ipub.certificates.slope.move_sets import Ellipsoid, MoveSet
from ipub.certificates.slope.summed_cells import SummedCells, TuningChoices, sums_of_cells
from ipub.engine import Block, Reads, reads
from ipub.engine.ops import weighted_gram
from ipub.engine.rows import Sums
from ipub.linalg import (
    EnclosedInverse,
    Inverse,
    greatest_ratio_upper,
    root_form_upper,
    rounded_up,
)
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import (
    EPS,
    LARGEST,
    UNDERFLOW,
    Array,
    down,
    midpoint_and_radius,
    overflow_means_unbounded,
    sum_error,
    sum_upper,
    up,
)
from ipub.solvers import Solution
from ipub.uncertainty import Uncertainty, WrongLabels, largest_sum


@dataclass(frozen=True)
class Linearization:
    """Each row's derivative as a line: ``psi(t'') = phi(x''.w') + h x''.v ± (kappa |x''.v| or e)``, and its sums."""

    problem: Problem
    w: Array
    farthest: Array
    """Bounds of ``|v_j|`` it relies on."""
    gram: Array
    """``sum_i m_i h_i x_i x_i^T``."""
    gram_size: Array
    """Its diagonal, to which rounding errors are relative."""
    loose: Array
    """``sum_i m_i kappa_i x_i x_i^T``, from above."""
    row_energy: float
    """``sum_i m_i kappa_i (x_i.v)^2``, from above."""
    cell_energy: float
    """``sum_i m_i kappa_i (d_i.v)^2``, from above."""
    gradient: Array
    """Gradient at w' and at the center, the penalty's l1 part apart."""
    error: Array
    """Its rounding."""
    jumps: Array
    """``(sum_i m_i e_i) sum_i m_i e_i x_i x_i^T`` over the rows at a jump, or with a doubtful label, from above."""
    jump_rows: Array
    """Their ``m_i e_i x_i``, one by one."""
    jump_slack: Array
    """Rounding of these."""
    some: IncompleteRows | None
    """The rows with uncertain cells; None if there were too many to keep them."""
    cells: CellTerms | SummedCells
    roundings: int
    flips: WrongLabelTerms

    @property
    def curvature(self) -> Array:
        """A, without what an l1 penalty adds."""
        return self.gram + np.diag(self.problem.penalty.lam_vector(len(self.w)))

    def l1_choice(self) -> Array:
        """Return a subgradient of the l1 part at w' that leaves as little gradient as it can."""
        kappa = self.problem.penalty.kappa_vector(len(self.w))
        return np.where(self.w == 0.0, np.clip(-self.gradient, -kappa, kappa), kappa * np.sign(self.w))

    def force_upper(self, matrix: Array) -> float:
        """Bound ``sqrt(g.M^-1 g)`` over all completions, and all weaker residuals (Theorem 4)."""
        inverse = Inverse.of(matrix)
        if inverse is None:
            return np.inf
        choice = self.l1_choice()
        middle = self.cells.middle
        center = self.gradient + choice + middle
        box = up(self.error + up(4.0 * EPS * (np.abs(self.gradient) + np.abs(choice) + np.abs(middle))))
        box = up(up(box + self.cells.force_slack) + UNDERFLOW)
        parts = inverse.norm_upper(np.array([center, self.cells.force_shift]))
        box = up(box + self.jump_slack) if len(self.jump_rows) else box
        known = up(parts[0] + parts[1])
        if self.flips.count:
            box, known = up(box + self.flips.slack), up(known + self.flips.norm_upper(inverse))
        return float(up(known + self.cells.zonotope_upper(matrix, box, self.jump_rows)))

    def hessian_lower(self) -> Array:
        """Bound the mean Hessian between w' and w'' from below, for all completions (Lemma 4)."""
        lost_rows, lost_cells, size = self.cells.hessian_loss(self.curvature)
        lam = self.problem.penalty.lam_vector(len(self.w))
        d = len(self.w)
        flipped = self.flips.hessian_loss(self.curvature)
        size = size + flipped * np.diag(self.curvature)
        slack = up((self.roundings * EPS * d) * (self.gram_size + size + lam + lost_cells)) + UNDERFLOW
        lower = self.gram - self.loose - lost_rows - flipped * self.curvature
        return np.asarray(0.5 * (lower + lower.T) + np.diag(lam - lost_cells - slack))

    def hessian_upper(self) -> Array:
        """Bound it from above; only where the rows with uncertain cells are kept."""
        assert self.some is not None
        gained_rows, gained_cells, size = self.some.hessian_gain(self.curvature)
        lam = self.problem.penalty.lam_vector(len(self.w))
        slack = up((self.roundings * EPS * len(self.w)) * (self.gram_size + size + lam + gained_cells)) + UNDERFLOW
        upper = self.gram + self.loose + gained_rows
        return np.asarray(0.5 * (upper + upper.T) + np.diag(lam + gained_cells + slack))

    def ellipsoid(self) -> Ellipsoid | None:
        """Bound all moves by ``v.L v <= g.L^-1 g``, if they are where the model takes them to be (Theorem 4)."""
        least = self.hessian_lower()
        inverse = Inverse.of(least)
        return None if inverse is None else Ellipsoid(least, inverse, self.force_upper(least))

    def box_of_moves(self, ellipsoid: Ellipsoid, in_groups: bool = False) -> Array:
        """Bound ``|v_j|`` by the ellipsoid and by Theorem 6, on the whole way from the center to a completion.

        For the L2 penalty (Theorem 4 (b)). With `in_groups`, in the form that keeps no cells.
        """
        known = ellipsoid.reach(np.eye(len(self.w)))
        bounds = self.bounds(L1Signs.undecided(self.w), ellipsoid, for_ends_alone=True)
        if bounds is None:
            return known
        if in_groups and bounds.cells is not None:
            bounds = replace(bounds, groups=self._groups(bounds.inverse)[0]).grouped()
        low, high = bounds.ends(np.eye(len(self.w)))
        reach = np.maximum(up(high - self.w), up(self.w - low))
        return np.asarray(np.fmin(known, reach))

    def bounds(
        self, signs: L1Signs, ellipsoid: Ellipsoid | None, *, for_ends_alone: bool = False
    ) -> SlopeBounds | None:
        """Put everything together (Theorem 6); None if the curvature has no inverse.

        With `for_ends_alone` they are for `SlopeBounds.ends` and nothing else: no mean value, no columns as forms.
        """
        penalty, w, d = self.problem.penalty, self.w, len(self.w)
        l1_slope, l1_middle, l1_spread = signs.line(penalty, w)
        curvature = self.curvature + np.diag(l1_slope)
        on = np.flatnonzero(~signs.zero)
        inverse = np.zeros((d, d))
        try:
            inverse[np.ix_(on, on)] = np.linalg.inv(curvature[np.ix_(on, on)])
        except np.linalg.LinAlgError:
            return None
        if not (np.isfinite(inverse).all() and (self.farthest <= LARGEST).all()):
            return None
        farthest = np.where(signs.zero, 0.0, self.farthest)
        # --- what is bounded coordinate by coordinate -------------------------------------------------
        size = np.sqrt(self.gram_size + np.diag(curvature))
        rounding = up((self.roundings * EPS) * size) * sum_upper(size @ farthest, d + 1)
        slack = up(self.error + self.cells.slack + self.jump_slack + l1_spread + rounding) * (1.0 + 16.0 * EPS)
        shift = self.cells.shift + self.cells.middle
        gradient = self.gradient + l1_middle + shift
        size = np.abs(self.gradient) + np.abs(l1_middle) + np.abs(self.cells.shift) + np.abs(self.cells.middle)
        slack = up(slack + up(8.0 * EPS * size))
        # --- what is bounded by forms ------------------------------------------------------------------
        energy = self.row_energy
        if ellipsoid is not None:
            ratio = greatest_ratio_upper(self.loose, ellipsoid.matrix)
            energy = np.fmin(energy, up(up(ratio * ellipsoid.radius) * ellipsoid.radius))
        swing = up(np.sqrt(energy) + up(np.sqrt(self.cell_energy)))
        forms = np.array([rounded_up(up(swing * swing) * self.loose, 8), self.cells.crossing])
        groups, cells = self._groups(inverse, with_forms=not for_ends_alone)
        choices, wrong = self.cells.choices, self.flips.count > 0
        if wrong:
            slack = up(slack + self.flips.slack)
            groups = replace(groups, forms=np.concatenate([groups.forms, self.flips.form()[None]]))
        certain = self.flips.alike if wrong else not self.problem.rows.uncertain_labels
        by_mean = ellipsoid is not None and penalty.kappa == 0.0 and not len(self.jump_rows) and certain
        by_mean &= self.some is not None and not for_ends_alone
        return SlopeBounds(
            w,
            curvature,
            inverse,
            gradient,
            slack,
            forms,
            farthest,
            None if ellipsoid is None else ellipsoid.inverse,
            np.inf if ellipsoid is None else ellipsoid.radius,
            groups,
            self.jump_rows,
            self._mean_value() if by_mean else None,
            cells,
            choices,
            self.flips.rows if wrong else None,
            self.flips.count,
            shares=self.cells.shares(inverse) if isinstance(self.cells, SummedCells) else None,
        )

    def _groups(self, inverse: Array, with_forms: bool = True) -> tuple[ColumnGroups, CellTable | None]:
        """Bound the cells of each column together (Lemma 8), and return them one by one if they are kept."""
        if isinstance(self.cells, SummedCells):
            return self.cells.grouped(), None
        groups, cells = sorted_cells(self.cells)
        return (with_column_forms(groups, self.cells, inverse, self.jumps) if with_forms else groups), cells

    def _mean_value(self) -> MeanValueBounds | None:
        """Enclose the inverse of the mean Hessian, and what it is applied to (Theorem 4 (c))."""
        assert isinstance(self.cells, CellTerms)
        enclosed = EnclosedInverse.between(self.hessian_lower(), self.hessian_upper())
        if enclosed is None:
            return None
        slack = up(up(self.error + self.cells.gradient_slack) * (1.0 + 16.0 * EPS))
        middle = self.cells.middle
        slack = up(slack + up(8.0 * EPS * (np.abs(self.gradient) + np.abs(self.cells.shift) + np.abs(middle))))
        # g itself: its center, its generators, and everything else as a box.
        size = sum_upper(np.abs(self.cells.generators).sum(axis=0), self.cells.some.roundings)
        box = up(up(up(slack + self.cells.force_slack) + size) + np.abs(self.cells.force_shift))
        for each in self.cells.choices:
            box = up(box + each.sizes())
        spread, d, flips = enclosed.spread, len(box), self.flips
        if flips.count:
            slack, box = up(slack + flips.slack), up(box + flips.slack)
        form = sum_upper(sum_upper(np.abs(spread) @ box, d + 1) @ box, d + 1)
        center = self.gradient + middle
        force = up(root_form_upper(spread, center[None])[0] + up(np.sqrt(form)))
        reach = up(np.abs(center) + box)
        if flips.count:
            force = up(force + largest_sum(root_form_upper(spread, flips.rows), flips.count))
            reach = up(reach + largest_sum(np.abs(flips.rows), flips.count))
        return MeanValueBounds(enclosed.center, spread, slack, reach, float(force))


@overflow_means_unbounded()
def linearize(
    problem: Problem,
    solution: Solution,
    movement: MoveSet,
    *,
    box: Array | None = None,
    everywhere: bool = False,
    guess: TuningChoices | None = None,
) -> Linearization:
    """Lay a line through the derivative of every row, for all moves in a set; one pass over the rows.

    With a `box`, moves have ``|v_j| <= box_j`` as well. With `everywhere`, slopes are those between any two scores
    that a row may have; else one of them is w''s. With a `guess` what uncertain cells do is added up on the way, and
    none is kept.
    """
    rows, penalty, loss, w = problem.rows, problem.penalty, problem.loss, solution.w
    d, total = len(w), rows.total_weight
    farthest = movement.reach(np.eye(d))
    farthest = farthest if box is None else np.fmin(farthest, box)
    known = loss, solution, movement, farthest, everywhere, total, guess, problem.uncertainty, problem.wrong_labels
    (sums, wrong_sums), (parts, wrong_rows) = rows.reduce_and_gather(_row_sums, *known)
    gram, loose, gradient, size, doubt, row_energy, cell_energy, jump, jump_form = (s / total for s in sums[:9])
    jump_rows = parts[0] / total
    some: IncompleteRows | None = None
    cells: CellTerms | SummedCells
    if guess is None:
        some = IncompleteRows(*(*parts[1:], rows.categories))
        cells, n_some = CellTerms.of(some, loss, w, farthest), len(some.y)
    else:
        cells = SummedCells.of(guess, sums[9:])
        n_some = cells.n_rows
    roundings = rows.depth + 2 * d + 20
    lam = penalty.lam_vector(d)
    error = sum_error(size + np.abs(lam * w), roundings)
    return Linearization(
        problem,
        w,
        farthest,
        0.5 * (gram + gram.T),
        sum_upper(np.diag(gram), roundings),
        rounded_up(loose, roundings),
        float(sum_upper(row_energy, roundings)),
        float(sum_upper(cell_energy, roundings)),
        gradient + lam * w,
        up(error + sum_upper(doubt, roundings)),
        rounded_up(float(sum_upper(jump, roundings)) * jump_form, roundings) if len(jump_rows) else np.zeros((d, d)),
        jump_rows,
        sum_error(np.abs(jump_rows).sum(axis=0), 3 * d + len(jump_rows) + 8),
        some,
        cells,
        roundings + n_some,
        WrongLabelTerms.of(wrong_sums, wrong_rows, rows.max_wrong_labels, total),
    )


@dataclass(frozen=True)
class _Lines:
    """The line of each row of a block."""

    at: ScoreRanges
    least: Array
    most: Array
    slope: Array
    looseness: Array
    fixed: Array
    loose: Array
    row_move: Array
    cell_move: Array


def _lines(
    block: Block,
    loss: Loss,
    solution: Solution,
    movement: MoveSet,
    farthest: Array,
    everywhere: bool,
    uncertainty: Uncertainty,
) -> _Lines:
    at = score_ranges(block, solution.w, uncertainty)
    row_move = movement.reach_of(block)
    some = np.flatnonzero(at.incomplete)
    cell_move, move = np.zeros(len(row_move)), row_move.copy()
    cell_move[some] = sum_upper(uncertainty.score_change_within(block, farthest)[some], block.center.shape[1] + 1)
    move[some] = up(row_move[some] + cell_move[some])
    lower, upper = at.lower, at.upper
    if block.labels is not None:
        lower, upper = down(lower - block.labels.radius), up(upper + block.labels.radius)
    if everywhere:
        least, most = loss.curvature_range(block.y, down(lower - move), up(upper + move))
    else:
        least, most = loss.secant_range(block.y, lower, upper, move)
    if block.labels is not None:
        # A row that may have no weight bends nothing.
        least = np.where(block.labels.share > 0.0, 0.0, least)
    slope, looseness = midpoint_and_radius(least, most)
    fixed, loose = np.full(len(slope), np.nan), np.zeros(len(slope))
    jumps = np.flatnonzero(~(most < np.inf))
    if len(jumps):
        # Rows with uncertain cells get a level line, others one that leans on the jump.
        score, score_doubt = midpoint_and_radius(at.score_lower[jumps], at.score_upper[jumps])
        lower, upper = down(at.lower - move)[jumps], up(at.upper + move)[jumps]
        c, h, e = loss.derivative_line(block.y[jumps], score, lower, upper)
        level, _, half = loss.derivative_line(
            block.y[jumps], score, np.full(len(jumps), -np.inf), np.full(len(jumps), np.inf)
        )
        has_cells = at.incomplete[jumps]
        fixed[jumps] = np.where(has_cells, level, c)
        loose[jumps] = np.where(has_cells, half, up(e + up(h * score_doubt)))
        slope[jumps], looseness[jumps] = np.where(has_cells, 0.0, h), 0.0
    if block.labels is not None:
        doubt = uncertainty.derivative_change(block, loss, down(at.lower - move), up(at.upper + move))
        loose = np.where(doubt == 0.0, loose, up(loose + doubt))
    return _Lines(at, least, most, slope, looseness, fixed, loose, row_move, cell_move)


@reads(Reads.NORMS)
def _row_sums(
    block: Block,
    loss: Loss,
    solution: Solution,
    movement: MoveSet,
    farthest: Array,
    everywhere: bool,
    total: float,
    guess: TuningChoices | None,
    uncertainty: Uncertainty,
    wrong: WrongLabels,
) -> tuple[Sums, Sums]:
    """Return what is added up over all rows, and what is kept of some."""
    lines = _lines(block, loss, solution, movement, farthest, everywhere, uncertainty)
    X, weight = block.center, block.weight
    middle, half = loss.derivative_midpoint_and_radius(block.y, lines.at.score_lower, lines.at.score_upper)
    is_fixed = ~np.isnan(lines.fixed)
    middle, half = np.where(is_fixed, lines.fixed, middle), np.where(is_fixed, 0.0, half)
    curved, loose = weight * lines.slope, weight * lines.looseness
    open_ = weight * lines.loose
    at_jump = np.flatnonzero(open_)
    sums = (
        weighted_gram(X, curved),
        weighted_gram(X, loose),
        (weight * middle) @ X,
        block.column_sizes(weight * middle),
        block.column_sizes(weight * half),
        loose @ lines.row_move**2,
        loose @ lines.cell_move**2,
        open_.sum(),
        (X[at_jump] * open_[at_jump, None]).T @ X[at_jump] if len(at_jump) else 0.0,
    )
    move = up(lines.row_move + lines.cell_move)
    wrong_sums, wrong_rows = wrong_label_parts(block, loss, lines.at, move, (lines.least, lines.most), wrong)
    kept = (X[at_jump] * open_[at_jump, None],)
    incomplete = _incomplete_rows(block, lines, total)
    if guess is None:
        return (sums, wrong_sums), ((*kept, *incomplete), wrong_rows)
    terms = CellTerms.of(IncompleteRows(*(*incomplete, ())), loss, solution.w, farthest)
    return ((*sums, *sums_of_cells(terms, guess)), wrong_sums), (kept, wrong_rows)


def _incomplete_rows(block: Block, lines: _Lines, total: float) -> Sums:
    """Return the rows with uncertain cells, in the order of the fields of `IncompleteRows`."""
    at = lines.at
    order = np.argsort(block.cell_rows, kind="stable")
    some = np.flatnonzero(at.incomplete)
    counts = np.bincount(block.cell_rows, minlength=len(block.y))[some]
    choice_counts = np.bincount(block.choices.rows, minlength=len(block.y))[some]
    parts = (
        block.center,
        block.y,
        block.weight,
        at.score_lower,
        at.score_upper,
        at.lower,
        at.upper,
        lines.least,
        lines.most,
        lines.slope,
        lines.looseness,
        lines.fixed,
        lines.loose,
        lines.row_move,
        lines.cell_move,
    )
    cells = counts, block.cell_columns[order], block.cell_radii[order]
    center, y, weight, *others = (part[some] for part in parts)
    return (center, y, weight / total, *others, *cells, choice_counts, block.choices.categories)
