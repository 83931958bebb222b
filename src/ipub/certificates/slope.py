"""The slope certificate (Theorems 4 and 6): where the model of every completion lies, to second order."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.certificates.ball import ball
from ipub.certificates.cells import CellTerms, IncompleteRows
from ipub.certificates.definite import (
    EnclosedInverse,
    Inverse,
    definiteness,
    greatest_ratio_upper,
    root_form_upper,
    rounded_up,
)
from ipub.certificates.flips import Flips, flipped_rows, largest_sum
from ipub.certificates.margins import Margins, label_doubt, margins
from ipub.certificates.movement import Ellipsoid, Movement, Nowhere, Smallest, WithinRegions
from ipub.certificates.region import Certificate
from ipub.certificates.signs import Signs
from ipub.certificates.slope_bounds import MeanValue, SlopeBounds
from ipub.certificates.summed_cells import Guess, SummedCells, sums_of_cells
from ipub.data.blocks import Block, Sums
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import (
    EPS,
    LARGEST,
    TINY,
    UNDERFLOW,
    Array,
    down,
    midpoint_and_radius,
    overflow_passes,
    sum_error,
    sum_upper,
    up,
)
from ipub.solvers import Solution, solve

MOST_CELLS = 100_000
"""With more uncertain cells than this none is kept: each bound would look at every cell."""

MOST_NUMBERS = 1 << 25
"""Nor may the rows with uncertain cells, which are kept, hold more numbers than this (256 MiB)."""

MOST_COLUMNS = 128
"""Up to so many columns, cells that are not kept are added up, column by column: a matrix for each."""

SHARE = 0.1
"""How much of a column's form goes to what depends on the move, if nothing better is known."""

NEAR_GROWTH = 1.15
"""By which factor that of a neighbouring problem is, beyond what it is thought to grow."""

SAMPLE_TOL = 1e-6
"""Relative duality gap of the sample's model."""

INFLATIONS = 12
"""How often a set that was too small to close is made larger."""

GROWTH = 1.1
"""By which factor, beyond what was just found."""

SAMPLE_GROWTH = 1.35
"""By which factor the set that a sample of the rows suggests is made larger."""

ROUNDS = 4
"""How often bounds are made from the bounds of the round before, at most."""

GAIN = 0.98
"""The mean value must make the bounds of the weights narrower than this, or it is left out."""

WORTHWHILE = 0.95
"""Another round must shrink the reach of the weights to less than this."""

LEAST_GAIN, LEAST_SUMMED_GAIN = 0.01, 0.1
"""Nor is it made if it can hardly narrow the bounds by more than this share: less where a pass is not so dear."""


def slope(
    problem: Problem,
    solution: Solution,
    known: Certificate | None = None,
    found: tuple[SlopeBounds | None, str] | None = None,
    near: Neighbour | None = None,
) -> Certificate:
    """Certify by slopes of the loss's derivative (``docs/theory.md``, Theorem 6), inside what the half-ball leaves.

    For every loss and penalty. Where nothing can be enclosed, the half-ball alone is returned, with a note. A few
    passes of O(n d^2); then O(M d + d^2) a test row. What `slope_bounds` has `found` already is not computed again. A
    problem `near` suggests where to look.
    """
    start = ball(problem, solution, known)
    bounds, note = slope_bounds(problem, solution, near=near) if found is None else found
    if bounds is None:
        bounds, note = slope_bounds(problem, solution, start)
    return Certificate("slope", start.regions, start.gap, bounds, note)


@overflow_passes()
def slope_bounds(
    problem: Problem,
    solution: Solution,
    start: Certificate | None = None,
    near: Neighbour | None = None,
    in_groups: bool = False,
) -> tuple[SlopeBounds | None, str]:
    """Return the bounds of Theorem 6, or None and the reason.

    How far models can move is what a certificate to `start` from leaves; without one, what Theorem 4 proves, beginning
    with a set that a problem `near` suggests, or a sample of the rows. With `in_groups` cells are summed and not kept,
    if that is possible.
    """
    rows, d = problem.rows, len(solution.w)
    n_cells = rows.count_uncertain()
    is_summed = n_cells > MOST_CELLS or n_cells * d > MOST_NUMBERS
    if rows.doubt is not None and rows.doubt.flips and rows.n_rows * d > MOST_NUMBERS:
        return (
            None,
            f"{rows.n_rows * d:,} cells are too many for wrong labels to be looked at: the half-ball serves alone.",
        )
    is_summed |= in_groups and near is not None and _can_be_summed(problem)
    suggested = None if near is None else near.suggestion(problem)
    suggested = _suggestion(problem, solution, is_summed) if suggested is None else suggested
    if is_summed and not _can_be_summed(problem):
        return None, f"{n_cells:,} uncertain cells are too many for the slope certificate: the half-ball serves alone."
    guess = _guess(problem, solution, suggested) if is_summed else None
    found = enclose(problem, solution, suggested, guess) if start is None else None
    if found is None and start is None:
        return None, "No set of moves could be proved."
    best = _rounds(problem, solution, found or start, guess)
    return best, "" if best is not None else "The curvature could not be enclosed: the half-ball serves alone."


def _rounds(
    problem: Problem, solution: Solution, start: tuple[Model, Ellipsoid] | Certificate | None, guess: Guess | None
) -> SlopeBounds | None:
    """Make bounds from what is known of the moves, and again from these bounds, while that narrows them."""
    movement: Movement
    ellipsoid: Ellipsoid | None = None
    if isinstance(start, tuple):
        model, ellipsoid = start
        movement = ellipsoid
    else:
        assert start is not None
        movement = WithinRegions(start, solution.w)
        model = model_rows(problem, solution, movement, guess=guess)
    signs, best = Signs.undecided(solution.w), None
    for _ in range(ROUNDS):
        if best is not None:
            nearer = Smallest((movement, best)) if ellipsoid is None else best
            model = model_rows(problem, solution, nearer, guess=guess)
            ellipsoid = ellipsoid and (model.ellipsoid() or ellipsoid)
        signs = signs.within(solution.w, model.farthest)
        bounds = model.bounds(signs, ellipsoid)
        if bounds is None:
            break
        signs, farthest = signs.decided_by(bounds, problem.penalty)
        # The mean value doubles the work for each test row, and must be worth it.
        alone, each = replace(bounds, mean_value=None), np.eye(len(solution.w))
        low_alone, high_alone = alone.ends(each)
        low, high = bounds.narrowed_by_mean_value(each, low_alone, high_alone)
        if not ((high - low).sum() < GAIN * (high_alone - low_alone).sum()):
            bounds = alone
        reach = np.maximum(up(high - solution.w), up(solution.w - low))
        farthest = np.fmin(bounds.farthest, np.fmin(reach, farthest))
        excess = float((high - low).sum() / np.maximum(2.0 * model.cells.least_half(bounds.inverse).sum(), TINY))
        # What is not of first order shrinks at least with the reach of the weights.
        gain = (excess - 1.0) * (1.0 - farthest.sum() / np.maximum(model.farthest.sum(), TINY))
        settled = gain <= (LEAST_GAIN if guess is None else LEAST_SUMMED_GAIN)
        settled |= best is not None and not (farthest.sum() < WORTHWHILE * best.farthest.sum())
        best = replace(bounds, farthest=farthest, excess=excess)
        if settled or not farthest.any():
            break
    return best


def _can_be_summed(problem: Problem) -> bool:
    """Whether uncertain cells may be added up without being kept: no jumps, no choices, certain labels, few columns."""
    rows = problem.rows
    return problem.loss.is_smooth and not rows.categories and rows.doubt is None and rows.n_features <= MOST_COLUMNS


def _guess(problem: Problem, solution: Solution, suggested: Suggestion | None) -> Guess:
    """Return what was suggested, or what the Hessian of the trained model says."""
    if suggested is not None and suggested.guess is not None:
        return suggested.guess
    d = len(solution.w)
    metric = problem.evaluate(solution.w, problem.loss).hessian + np.diag(problem.penalty.lam_vector(d))
    return Guess(metric, np.nan_to_num(np.linalg.pinv(metric, hermitian=True)), np.full(d, SHARE))


@dataclass(frozen=True)
class Suggestion:
    """A set of moves, ``v.M v <= radius^2`` and ``|v_j| <= farthest_j``, that a pass over the table may prove."""

    ellipsoid: Ellipsoid
    farthest: Array | None
    guess: Guess | None


@dataclass(frozen=True)
class Neighbour:
    """The bounds of a problem that differs in the strength of its penalty alone.

    Attributes
    ----------
    bounds : SlopeBounds
    lam : float
        Its L2 penalty.
    growth : array of shape (n_features,)
        How many times as far weights are thought to move here.
    """

    bounds: SlopeBounds
    lam: float
    growth: Array

    @overflow_passes()
    def suggestion(self, problem: Problem) -> Suggestion | None:
        """Return its set of moves, with the other penalty, and larger."""
        known, penalty = self.bounds, problem.penalty
        if not problem.loss.is_smooth or known.ellipsoid is None:
            return None
        matrix = known.curvature + np.diag((penalty.lam - self.lam) * ~penalty.is_free(len(known.w)))
        inverse, size = Inverse.of(matrix), NEAR_GROWTH * self.growth.max()
        if inverse is None:
            return None
        farthest = NEAR_GROWTH * self.growth * known.farthest if penalty.kappa == 0.0 else None
        guess = None if known.shares is None else Guess(matrix, inverse.center, known.shares)
        return Suggestion(Ellipsoid(matrix, inverse, size * known.radius), farthest, guess)


@overflow_passes()
def _suggestion(problem: Problem, solution: Solution, is_summed: bool) -> Suggestion | None:
    """Return what a sample of the rows suggests: the set of its own moves, made larger."""
    part = problem.sample() if problem.loss.is_smooth else None
    if part is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trained = solve(part, SAMPLE_TOL, start=solution.w)
    found = enclose(part, trained)
    bounds = None if found is None else _rounds(part, trained, found, None)
    if found is None or bounds is None:
        return None
    model, inside = found
    assert isinstance(model.cells, CellTerms)
    inverse = inside.inverse.center
    guess = Guess(model.curvature, inverse, model.cells.shares(inverse))
    farthest = None
    if problem.penalty.kappa == 0.0:
        low, high = (bounds.grouped() if is_summed else bounds).ends(np.eye(len(trained.w)))
        farthest = SAMPLE_GROWTH * np.maximum(high - trained.w, trained.w - low)
    return Suggestion(replace(inside, radius=SAMPLE_GROWTH / GROWTH * inside.radius), farthest, guess)


@overflow_passes()
def enclose(
    problem: Problem,
    solution: Solution,
    suggested: Suggestion | None = None,
    guess: Guess | None = None,
) -> tuple[Model, Ellipsoid] | None:
    """Prove a set that holds the move of every completion's model (Theorem 4); None if no set closes.

    A set of moves bounds the curvatures, those bound the Hessians from below, and these the moves. If the moves
    turn out strictly inside the set, all of them are. If not, what they are inside of, made a little larger, is the
    next set. A derivative that jumps has no such curvatures. The first set is what is `suggested`, if anything.
    """
    if not problem.loss.is_smooth:
        return None
    farthest = None
    if suggested is None:
        first = model_rows(problem, solution, Nowhere(), guess=guess)
        inverse = Inverse.of(first.curvature)
        if inverse is None:
            return None
        inside = Ellipsoid(first.curvature, inverse, first.force_upper(first.curvature))
    else:
        inside, farthest = suggested.ellipsoid, suggested.farthest
    for _ in range(INFLATIONS):
        around = replace(inside, radius=GROWTH * inside.radius)
        if not 0.0 < around.radius < np.inf:
            return None
        model = model_rows(problem, solution, around, box=farthest, guess=guess)
        found = model.ellipsoid()
        if found is None:
            return None
        # Moves v obey v.L v <= force^2; so v.M v < radius^2 if L - (force/radius)^2 M is positive definite.
        least, metric = found.matrix, around.matrix
        share = up(up(found.radius / around.radius) ** 2) * (1.0 + 8.0 * EPS)
        rounding = 8.0 * EPS * len(metric) * (np.diag(least) + share * np.diag(metric))
        closes = definiteness(least - share * metric - np.diag(rounding)) is not None
        if closes and farthest is not None:
            reach = model.box_of_moves(found)
            closes = bool((reach < farthest).all())
            farthest = GROWTH * np.maximum(reach, farthest)
        if closes:
            return model, found
        inside = found
    return None


@dataclass(frozen=True)
class Model:
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
    flips: Flips

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

    def box_of_moves(self, ellipsoid: Ellipsoid) -> Array:
        """Bound ``|v_j|`` by the ellipsoid and by Theorem 6, on the whole way from the center to a completion.

        For the L2 penalty. On the way u.g_c may be missing, with g_c the gradient of the center (Theorem 4 (b)).
        """
        known = ellipsoid.reach(np.eye(len(self.w)))
        bounds = self.bounds(Signs.undecided(self.w), ellipsoid, with_mean_value=False)
        if bounds is None:
            return known
        low, high = bounds.ends(np.eye(len(self.w)))
        reach = np.maximum(up(high - self.w), up(self.w - low))
        rest = sum_upper(np.abs(bounds.inverse) @ up(np.abs(self.gradient) + self.error), len(self.w) + 1)
        return np.asarray(np.fmin(known, up(reach + rest)))

    def bounds(self, signs: Signs, ellipsoid: Ellipsoid | None, *, with_mean_value: bool = True) -> SlopeBounds | None:
        """Put everything together (Theorem 6); None if the curvature has no inverse."""
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
        groups, cells = self.cells.grouped(inverse, self.jumps)
        choices, wrong = self.cells.choices, self.flips.count > 0
        if wrong:
            slack = up(slack + self.flips.slack)
            groups = replace(groups, forms=np.concatenate([groups.forms, self.flips.form()[None]]))
        certain = self.flips.alike if wrong else self.problem.rows.doubt is None
        by_mean = ellipsoid is not None and penalty.kappa == 0.0 and not len(self.jump_rows) and certain
        by_mean &= self.some is not None and with_mean_value
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
            shares=self.cells.shares(inverse),
        )

    def _mean_value(self) -> MeanValue | None:
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
        return MeanValue(enclosed.center, spread, slack, reach, float(force))


@overflow_passes()
def model_rows(
    problem: Problem,
    solution: Solution,
    movement: Movement,
    *,
    box: Array | None = None,
    everywhere: bool = False,
    guess: Guess | None = None,
) -> Model:
    """Lay a line through the derivative of every row, for all moves in a set; one pass over the rows.

    With a `box`, moves have ``|v_j| <= box_j`` as well. With `everywhere`, slopes are those between any two scores
    that a row may have; else one of them is w''s. With a `guess` what uncertain cells do is added up on the way, and
    none is kept.
    """
    rows, penalty, loss, w = problem.rows, problem.penalty, problem.loss, solution.w
    d, total = len(w), rows.total_weight
    farthest = movement.reach(np.eye(d))
    farthest = farthest if box is None else np.fmin(farthest, box)
    known = loss, solution, movement, farthest, everywhere, total, guess
    sums, parts = rows.reduce_and_collect(_row_sums, *known)
    gram, loose, gradient, size, doubt, row_energy, cell_energy, jump, jump_form = (s / total for s in sums[:9])
    jump_rows = parts[0] / total
    some: IncompleteRows | None = None
    cells: CellTerms | SummedCells
    if guess is None:
        some = IncompleteRows(*(*parts[5:], rows.categories))
        cells, n_some = CellTerms.of(some, loss, w, farthest), len(some.y)
    else:
        cells = SummedCells.of(guess, sums[9:])
        n_some = cells.n_rows
    roundings = rows.depth + 2 * d + 20
    lam = penalty.lam_vector(d)
    error = sum_error(size + np.abs(lam * w), roundings)
    return Model(
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
        Flips.of(parts[1:5], 0 if rows.doubt is None else rows.doubt.flips, total),
    )


@dataclass(frozen=True)
class _Lines:
    """The line of each row of a block."""

    at: Margins
    least: Array
    most: Array
    slope: Array
    looseness: Array
    fixed: Array
    loose: Array
    row_move: Array
    cell_move: Array


def _lines(
    block: Block, loss: Loss, solution: Solution, movement: Movement, farthest: Array, everywhere: bool
) -> _Lines:
    at = margins(block, solution)
    row_move = movement.reach_of(block) if isinstance(movement, Ellipsoid) else movement.reach(block.center)
    cell_move = np.where(at.incomplete, sum_upper(block.row_reach(farthest), block.center.shape[1] + 1), 0.0)
    move = up(row_move + cell_move)
    lower, upper = at.lower, at.upper
    if block.doubt is not None:
        lower, upper = down(lower - block.doubt.radius), up(upper + block.doubt.radius)
    if everywhere:
        least, most = loss.curvature_range(block.y, down(lower - move), up(upper + move))
    else:
        least, most = loss.secant_range(block.y, lower, upper, move)
    if block.doubt is not None:
        # A row that may have no weight bends nothing.
        least = np.where(block.doubt.share > 0.0, 0.0, least)
    slope, looseness = midpoint_and_radius(least, most)
    fixed, loose = np.full(len(slope), np.nan), np.zeros(len(slope))
    jumps = np.flatnonzero(~(most < np.inf))
    if len(jumps):
        # Rows with uncertain cells get a level line, others one that leans on the jump.
        score, score_doubt = midpoint_and_radius(at.score_lower[jumps], at.score_upper[jumps])
        lower, upper = down(at.lower - move)[jumps], up(at.upper + move)[jumps]
        c, h, e = loss.jump_line(block.y[jumps], score, lower, upper)
        level, _, half = loss.jump_line(
            block.y[jumps], score, np.full(len(jumps), -np.inf), np.full(len(jumps), np.inf)
        )
        some = at.incomplete[jumps]
        fixed[jumps], loose[jumps] = np.where(some, level, c), np.where(some, half, up(e + up(h * score_doubt)))
        slope[jumps], looseness[jumps] = np.where(some, 0.0, h), 0.0
    if block.doubt is not None:
        doubt = label_doubt(block, loss, down(at.lower - move), up(at.upper + move))
        loose = np.where(doubt == 0.0, loose, up(loose + doubt))
    return _Lines(at, least, most, slope, looseness, fixed, loose, row_move, cell_move)


def _row_sums(
    block: Block,
    loss: Loss,
    solution: Solution,
    movement: Movement,
    farthest: Array,
    everywhere: bool,
    total: float,
    guess: Guess | None,
) -> tuple[Sums, Sums]:
    """Return what is added up over all rows, and what is kept of some."""
    lines = _lines(block, loss, solution, movement, farthest, everywhere)
    X, weight = block.center, block.weight
    middle, half = loss.derivative_near(block.y, lines.at.score_lower, lines.at.score_upper)
    is_fixed = ~np.isnan(lines.fixed)
    middle, half = np.where(is_fixed, lines.fixed, middle), np.where(is_fixed, 0.0, half)
    curved, loose = weight * lines.slope, weight * lines.looseness
    open_ = weight * lines.loose
    at_jump = np.flatnonzero(open_)
    forms = (X[:, None, :] * np.stack([curved, loose], axis=1)[:, :, None]).reshape(len(X), -1).T @ X
    sums = (
        forms[: X.shape[1]],
        forms[X.shape[1] :],
        (weight * middle) @ X,
        block.column_sizes(weight * middle),
        block.column_sizes(weight * half),
        loose @ lines.row_move**2,
        loose @ lines.cell_move**2,
        open_.sum(),
        (X[at_jump] * open_[at_jump, None]).T @ X[at_jump] if len(at_jump) else 0.0,
    )
    move = up(lines.row_move + lines.cell_move)
    flipped = flipped_rows(block, loss, lines.at, move, (lines.least, lines.most))
    kept = X[at_jump] * open_[at_jump, None], *flipped
    incomplete = _incomplete_rows(block, lines, total)
    if guess is None:
        return sums, (*kept, *incomplete)
    terms = CellTerms.of(IncompleteRows(*(*incomplete, ())), loss, solution.w, farthest)
    return (*sums, *sums_of_cells(terms, guess)), kept


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
        block.weight / total,
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
    return (*(part[some] for part in parts), *cells, choice_counts, block.choices.categories)
