"""The inner bound: predictions that retrained completions really attain.

A certificate bounds the range of a prediction from outside; this bounds it from inside. The ratio of the two
widths says how much a certificate can be off.

With many uncertain cells a completion is chosen for one row x and one side by pushing every cell to the end of its
interval where the prediction is farther on that side. To first order in the change of the model, with
``u = H^-1 x`` and H the Hessian of the objective, row i of the table moves ``x.w`` by

    -m_i psi(x''_i.w) (x''_i.u) + constant,

of which each cell takes the better end, all others staying where they are. The model is retrained there, and the
cells are pushed again, until nothing is gained. Several rows and both sides share each pass over the training
rows. If the table is small, flips of single cells follow. With few cells all vertices are compared instead.
Whatever suggests a completion, the score that counts is that of the model trained on it.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.data.interval_matrix import Indices
from ipub.data.label_uncertainty import NO_PAIRS, LabelUncertainty
from ipub.data.missing_category import MissingCategories
from ipub.engine import (
    Block,
    Reads,
    Rows,
    SlicedRows,
    engine_of,
    reads,
    with_intercept_column,
    with_labels,
    without_intercept_column,
)
from ipub.engine.completions import Completion, PositionLayout, Positions, SharedBlock, side_by_side, whole_table
from ipub.engine.slices import BLOCK_CELLS
from ipub.losses import Loss
from ipub.parallel import row_slices
from ipub.problem import Problem
from ipub.rounding import Array, overflow_means_unbounded
from ipub.solvers import Solution, solve
from ipub.solvers.quadratic import minimise_quadratic, solve_shifted
from ipub.solvers.tables import solve_tables

ROUNDS = 20
"""How often cells are pushed, at most."""
LITTLE = 1e-3
"""Change by a round, relative to the distance from the center's score, that is not worth another."""
PATIENCE = 4
"""How many rounds without gain may follow each other."""
KINK_WIDTHS = (1.0, 0.1, 0.01)
"""Over which scores the derivative of a kinked loss is taken to change when cells are pushed; then the last."""
FEW_CELLS = 12
"""Up to so many uncertain cells, all vertices are compared."""
COMPARED = 1 << 22
"""Cells, over all completed tables, that may be trained on to compare all vertices."""
FLIPS_COMPARED = 1 << 17
"""Cells, over all completed tables, that may be trained on to compare the flips for one row."""
FLIPS = 50
"""How many single cells are flipped, at most, after cells were pushed."""
RETRAINED = 2
"""Completions that are trained exactly for each row and side when completions were compared."""
LABEL_ROUNDS = 2
"""How often uncertain labels are chosen, each time for the model trained with the last ones."""
ROWS_AT_ONCE = 8
"""Test rows that share the passes over the training rows."""
BYTES_AT_ONCE = 1 << 27
"""Memory that test rows searched side by side may take."""
PASSES = 15
"""Quasi-Newton steps that are shared before a completion is trained by itself."""
TOLERANCE = 1e-10
"""Relative duality gap, or last step relative to the weights, to which completions are trained."""
FAILED = 1e-6
"""Relative duality gap beyond which training on a completion has failed."""


class Best:
    """The best score found so far for each test row and side, and the completion that attains it.

    Parameters
    ----------
    X, radius : arrays of shape (m, n_features)
        The test rows, and by how much each of their cells may move; a model is given the row that suits it best.
    center : array of shape (n_uncertain + n_choices,)
        The positions of the training table's center.
    """

    def __init__(self, X: Array, radius: Array, center: Positions) -> None:
        self.X, self.radius = X, radius
        self.scores = np.tile([np.inf, -np.inf], (len(X), 1))
        self.positions = np.tile(center, (len(X), 2, 1))

    def record(self, positions: Positions, models: Array) -> bool:
        """Look at the models of some completions; return whether one is better for some row and side."""
        rows = np.arange(len(self.X))
        improved = False
        for end, sign in ((0, -1.0), (1, 1.0)):
            scores = self.ends(models, sign)
            best = np.argmax(np.nan_to_num(sign * scores, nan=-np.inf), axis=1)
            found = scores[rows, best]
            gain = sign * (found - self.scores[:, end])
            better = gain > 0.0
            improved |= bool((gain > TOLERANCE * (1.0 + np.abs(found))).any())
            self.scores[better, end] = found[better]
            self.positions[better, end] = positions[best[better]]
        return improved

    def promising(self, positions: Positions, models: Array, count: int) -> Positions:
        """Return those of some completions that approximate models prefer for some row and side."""
        low, high = (np.argsort(self.ends(models, sign), axis=1) for sign in (-1.0, 1.0))
        return positions[np.unique(np.hstack([low[:, :count], high[:, -count:]]))]

    def ends(self, models: Array, sign: float) -> Array:
        """Return the lowest or highest score of each row, over its own cells, under each model."""
        return np.asarray(self.X @ models.T + sign * (self.radius @ np.abs(models.T)))


class Search:
    """The search for completions: what all test rows share.

    Parameters
    ----------
    problem : Problem
        With uncertain cells.
    solution : Solution
        The model trained at the center.
    """

    def __init__(self, problem: Problem, solution: Solution) -> None:
        self.problem, self.w = problem, solution.w
        self.layout = PositionLayout.of(problem.rows)
        categories = _gathered(problem.rows, _missing_categories).categories
        cells: list[Sequence[int]] = [(-1, 1)] * self.layout.n_cells
        self.options = cells + [range(len(problem.rows.categories[k].columns)) for k in categories]
        """What the position of each cell, and of each choice, may be."""
        self._table_cells = problem.rows.n_rows * problem.rows.n_features
        self._trained: dict[bytes, Array] = {}
        self._hessians: dict[float, Array] = {}
        self._vertices: tuple[Positions, Array] | None = None
        self.w = self._solve(self.layout.center).w
        d = len(self.w)
        self.rows_at_once = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // (20 * len(self.options) + 16 * d * d)))

    def completion(self, positions: Positions) -> Completion:
        """Return the completion with the uncertain cells at these positions, without a column of ones."""
        rows = self.problem.rows
        return Completion(without_intercept_column(rows), self.layout, positions)

    def steps(self, best: Best) -> Iterator[float]:
        """Search for the ends of some test rows; yield which share of the work is done."""
        count = math.prod(len(options) for options in self.options)
        if count <= 1 << FEW_CELLS and self._table_cells * count <= COMPARED:
            if self._vertices is None:
                vertices = np.array(list(itertools.product(*self.options)), dtype=np.int16)
                self._vertices = vertices, self._compare(vertices)
            self._retrain(best, best.promising(*self._vertices, RETRAINED))
        else:
            for k, _ in enumerate(self._push(best)):
                yield (k + 1) / (ROUNDS + 1)
            self._flip(best)
        best.record(self.layout.center[None], self.w[None])

    def _push(self, best: Best) -> Iterator[None]:
        """Push cells for each row and side, in rounds, and retrain.

        Where that leads nowhere, only some of the cells that would change are pushed, drawn at random.
        """
        loss, sides = self.problem.loss, np.tile([-1.0, 1.0], len(best.X))
        middles, moves = np.repeat(best.X, 2, axis=0), sides[:, None] * np.repeat(best.radius, 2, axis=0)
        aims = middles + moves * np.sign(self.w)
        center = aims @ self.w
        positions = np.tile(self.layout.center, (len(aims), 1))
        models, reached = np.repeat(self.w[None], len(aims), axis=0), np.full(len(aims), -np.inf)
        hessians = np.empty((len(aims), len(self.w), len(self.w)))
        failures, active = np.zeros(len(aims), dtype=int), np.arange(len(aims))
        rng = np.random.default_rng(0)
        for number in range(ROUNDS):
            width = KINK_WIDTHS[min(number, len(KINK_WIDTHS) - 1)]
            smooth, ahead = loss.smoothed(width), 0.0 if loss.is_smooth else 0.5 * width
            if number == 0 or not loss.is_smooth:
                hessians[:] = self._hessian(smooth, ahead, width)
            u = np.array([self._inverse(hessians[k], models[k], aims[k]) for k in active])
            rows = side_by_side(self.problem.rows, self.layout, positions[active])
            ends = np.concatenate(_gathered(rows, _better_ends, smooth, ahead, models[active].T, u.T, sides[active]))
            chosen = rng.random((len(active), len(ends)), dtype=np.float32) < 0.5 ** failures[active, None]
            pushed = np.where(chosen, ends.T, positions[active])
            if loss.is_smooth:
                trained, hessians[active] = self._train_together(pushed, models[active], hessians[active])
            else:
                trained = self._train(pushed)
            best.record(pushed, trained)
            suited = middles[active] + moves[active] * np.sign(np.nan_to_num(trained))
            score = sides[active] * np.einsum("kj,kj->k", suited, trained)
            gain = score - reached[active]
            better = gain > 0.0
            moved = active[better]
            positions[moved], models[moved], reached[moved] = pushed[better], trained[better], score[better]
            aims[moved] = suited[better]
            little = LITTLE * np.abs(score - sides[active] * center[active])
            failures[active] = np.where(gain > little, 0, failures[active] + 1)
            settled = (np.abs(gain) <= little) & (loss.is_smooth or number + 1 >= len(KINK_WIDTHS))
            active = active[~settled & (failures[active] < PATIENCE)]
            yield
            if len(active) == 0:
                break

    def _flip(self, best: Best) -> None:
        """Flip single cells as long as that helps, where it is cheap to compare all flips."""
        n_flips = sum(len(options) - 1 for options in self.options)
        if 2 * n_flips * self._table_cells > FLIPS_COMPARED:
            return
        for _ in range(FLIPS):
            flips = np.unique(
                [flip for each in best.positions.reshape(-1, len(self.options)) for flip in self._flips(each)], axis=0
            )
            if not self._retrain(best, best.promising(flips, self._compare(flips), 1)):
                break

    def _flips(self, positions: Positions) -> Iterator[Positions]:
        """Yield the completions that differ from one in a single cell or choice."""
        for k, options in enumerate(self.options):
            for option in options:
                if option != positions[k]:
                    flipped = positions.copy()
                    flipped[k] = option
                    yield flipped

    def _hessian(self, smooth: Loss, ahead: float, width: float) -> Array:
        """Return the Hessian of the (smoothed) loss at the center."""
        if width not in self._hessians:
            (total,) = self.problem.rows.reduce(_hessian_sums, smooth, ahead, self.w)
            self._hessians[width] = total / self.problem.rows.total_weight
        return self._hessians[width]

    def _inverse(self, hessian: Array, w: Array, x: Array) -> Array:
        """Return ``H^-1 x``, with an l1 penalty on the support of w."""
        penalty = self.problem.penalty
        free = np.flatnonzero((w != 0.0) | (penalty.kappa_vector(len(w)) == 0.0))
        u = np.zeros_like(w)
        u[free] = solve_shifted(hessian[np.ix_(free, free)], penalty.lam_vector(len(w))[free], x[free])
        return u

    def _train_together(self, positions: Positions, models: Array, hessians: Array) -> tuple[Array, Array]:
        """Return the models of some completions for a smooth loss: quasi-Newton steps that share their passes.

        Also returned are the Hessians, one for each completion, brought up to date (BFGS).
        """
        w, before, gradient = models.copy(), models.copy(), np.zeros_like(models)
        lam, kappa = (part(w.shape[1]) for part in (self.problem.penalty.lam_vector, self.problem.penalty.kappa_vector))
        moving = np.arange(len(w))
        for number in range(PASSES):
            rows = side_by_side(self.problem.rows, self.layout, positions[moving])
            (sums,) = rows.reduce(_gradient_sums, self.problem.loss, w[moving].T)
            for k, now in zip(moving, sums.T / rows.total_weight, strict=True):
                if number > 0:
                    _update(hessians[k], w[k] - before[k], now - gradient[k])
                before[k], gradient[k] = w[k], now
                linear = np.nan_to_num(hessians[k] @ w[k] - now)
                w[k] = minimise_quadratic(hessians[k], linear, lam, kappa, w[k])
            settled = np.abs(w - before)[moving].max(axis=1) <= TOLERANCE * np.abs(w[moving]).max(axis=1)
            moving = moving[~settled]
            if len(moving) == 0:
                break
        w[moving] = self._train(positions[moving])
        return w, hessians

    def _train(self, positions: Positions) -> Array:
        """Return the models of some completions, each trained by itself."""
        return np.array([self._train_one(each) for each in positions]).reshape(len(positions), len(self.w))

    def _train_one(self, positions: Positions) -> Array:
        """Return the model of a completion; NaN if training failed, so that no score of it counts."""
        solution = self._solve(positions)
        return solution.w if solution.relative_gap <= FAILED else np.full_like(self.w, np.nan)

    def _solve(self, positions: Positions) -> Solution:
        rows = self.completion(positions).completed()
        rows = with_intercept_column(rows) if self.problem.penalty.n_free else rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            problem = Problem(rows, self.problem.loss, self.problem.penalty)
            return solve(problem, tol=TOLERANCE, start=self.w)

    def _retrain(self, best: Best, positions: Positions) -> bool:
        """Train some completions of a small table, once for all test rows; return whether one is better."""
        models = []
        for each in positions:
            if each.tobytes() not in self._trained:
                self._trained[each.tobytes()] = self._train_one(each)
            models.append(self._trained[each.tobytes()])
        return best.record(positions, np.array(models))

    def _compare(self, positions: Positions) -> Array:
        """Return approximate models of completions of a small table."""
        rows, penalty, n_cells = self.problem.rows, self.problem.penalty, self.layout.n_cells
        whole = whole_table(rows)
        in_row = np.repeat(np.arange(rows.n_rows), whole.cell_counts)
        missing_rows = np.repeat(np.arange(rows.n_rows), whole.missing_counts)
        choices = MissingCategories(missing_rows, whole.categories, rows.categories)
        parts = []
        for some in row_slices(len(positions), self._table_cells, BLOCK_CELLS):
            tables = np.repeat(whole.center[None], some.stop - some.start, axis=0)
            tables[:, in_row, whole.cell_columns] += whole.cell_radii * positions[some, :n_cells]
            for table, each in zip(tables, positions[some], strict=True):
                choices.put(table, each[n_cells:])
            parts.append(solve_tables(tables, whole.y, whole.weight, self.problem.loss, penalty, self.w))
        return np.concatenate(parts)


class Attained(NamedTuple):
    """Scores that completions attain, and these completions."""

    bounds: Array
    """The lowest and the highest score of each test row, shape (m, 2)."""
    completions: list[tuple[Completion, Completion]]
    """For each test row the completions whose models give them; empty unless asked for."""


@overflow_means_unbounded()
def attained_bounds(
    problem: Problem,
    solution: Solution,
    X: Array,
    *,
    radius: Array | None = None,
    keep_completions: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Attained:
    """Search for each row a lowest and a highest score that the model of some completion really gives.

    Parameters
    ----------
    problem : Problem
    solution : Solution
        The model trained at the center.
    X : array of shape (m, n_features)
    radius : array of shape (m, n_features), optional
        By how much each cell of X may move; each model takes the row inside that gives its lowest or highest score.
    keep_completions : bool
        Whether to return the completions too; they take two bytes for each row and uncertain cell.
    progress : callable, optional
        Called again and again with the share of the work that is done, at last with 1.
    """
    tell = progress or (lambda _share: None)
    if problem.rows.uncertain_labels:
        return _with_labels(problem, solution, X, radius, keep_completions, tell)
    search = Search(problem, solution)
    attained = Attained(np.empty((len(X), 2)), [])
    for rows in row_slices(len(X), 1, search.rows_at_once):
        best = Best(X[rows], np.zeros_like(X[rows]) if radius is None else radius[rows], search.layout.center)
        for share in search.steps(best):
            tell((rows.start + share * len(best.X)) / len(X))
        attained.bounds[rows] = best.scores
        if keep_completions:
            attained.completions.extend(
                (search.completion(low), search.completion(high)) for low, high in best.positions
            )
        tell(rows.stop / len(X))
    return attained


def _with_labels(
    problem: Problem,
    solution: Solution,
    X: Array,
    radius: Array | None,
    keep_completions: bool,
    tell: Callable[[float], None],
) -> Attained:
    """Choose labels for each row and side, to first order and twice; then search for cells with these."""
    rows, (y, weight) = problem.rows, problem.rows.labels()
    uncertain = None if rows.max_wrong_labels else _label_uncertainty(rows)
    penalty, loss = problem.penalty, problem.loss.smoothed(KINK_WIDTHS[1])
    attained = Attained(np.empty((len(X), 2)), [])
    for k, x in enumerate(X):
        pair: list[Completion] = []
        for end, side in ((0, -1.0), (1, 1.0)):
            settled, model = problem, solution
            for _ in range(LABEL_ROUNDS):
                hessian = settled.evaluate(model.w, loss).hessian
                u = solve_shifted(hessian, penalty.lam_vector(len(x)), x)
                effects = _gathered(rows, _label_effects, loss, model.w, u)
                if uncertain is None:
                    push = side * weight * (effects.slopes - effects.other_slopes) * effects.products
                    chosen = _flipped(y, push, rows.max_wrong_labels), weight
                else:
                    # A target moves its row's score up, a weight against the derivative.
                    moved = np.where(uncertain.radius > 0.0, effects.products, -effects.slopes * effects.products)
                    chosen = uncertain.settled(y, weight, np.where(side * moved >= 0.0, 1.0, -1.0))
                settled = replace(problem, rows=_relabelled(rows, *chosen))
                model = solve(settled, tol=TOLERANCE, start=model.w)
            some = None if radius is None else radius[k : k + 1]
            found = attained_bounds(settled, model, x[None], radius=some, keep_completions=keep_completions)
            attained.bounds[k, end] = found.bounds[0, end]
            pair.extend(found.completions[0][end : end + 1] if keep_completions else [])
        if keep_completions:
            attained.completions.append((pair[0], pair[1]))
        tell((k + 1) / len(X))
    return attained


def _relabelled(rows: Rows, y: Array, weight: Array) -> Rows:
    """Return the rows with other labels and weights; a column of ones stays the last view, as completions ask for."""
    without_ones = without_intercept_column(rows)
    labelled = with_labels(without_ones, y, weight)
    return labelled if without_ones is rows else with_intercept_column(labelled)


def _label_uncertainty(rows: Rows) -> LabelUncertainty:
    """Gather how far labels are uncertain; only an engine in this process knows which rows stand for one row."""
    gathered, engine = _gathered(rows, _label_ranges), engine_of(rows)
    pairs = engine.label_uncertainty.pairs if isinstance(engine, SlicedRows) and engine.label_uncertainty else NO_PAIRS
    return LabelUncertainty(gathered.radius, gathered.share, pairs)


class _LabelRanges(NamedTuple):
    radius: Array
    share: Array


@reads(Reads.LABELS)
def _label_ranges(block: Block) -> _LabelRanges:
    return (
        _LabelRanges(*np.zeros((2, block.n_rows)))
        if block.labels is None
        else _LabelRanges(block.labels.radius, block.labels.share)
    )


class _LabelEffects(NamedTuple):
    """For each row the derivative of its label and of the other one, and its product with a direction."""

    slopes: Array
    other_slopes: Array
    products: Array


def _label_effects(block: Block, loss: Loss, w: Array, u: Array) -> _LabelEffects:
    score = block.center @ w
    return _LabelEffects(loss.derivative(block.y, score), loss.derivative(-block.y, score), block.center @ u)


def _flipped(y: Array, push: Array, count: int) -> Array:
    """Return labels of which at most so many are flipped, those that push most; a row of each class stays."""
    y = y.copy()
    for k in np.argsort(-push, kind="stable")[:count]:
        if push[k] > 0.0 and np.count_nonzero(y == y[k]) > 1:
            y[k] = -y[k]
    return y


def _update(hessian: Array, step: Array, change: Array) -> None:
    """Make a Hessian, in place, map the step to the change of the gradient (BFGS)."""
    image = hessian @ step
    if change @ step > 0.0 and image @ step > 0.0:
        hessian += np.outer(change, change) / (change @ step) - np.outer(image, image) / (image @ step)


def _gathered(rows: Rows, kernel: Callable[..., Any], *args: Any) -> Any:
    """Gather what a search needs of all rows or cells; there is no search without."""
    gathered = rows.gather(kernel, *args)
    if gathered is None:
        raise ValueError(f"The uncertain cells of {rows.n_rows:,} rows are too many to search for completions.")
    return gathered


class _MissingCategories(NamedTuple):
    categories: Indices


@reads(Reads.CELLS)
def _missing_categories(block: Block) -> _MissingCategories:
    return _MissingCategories(block.choices.categories)


def _hessian_sums(block: Block, loss: Loss, ahead: float, w: Array) -> tuple[Array]:
    curvature = block.weight * loss.curvature(block.y, block.center @ w - ahead * block.y)
    return ((block.center * curvature[:, None]).T @ block.center,)


def _gradient_sums(block: SharedBlock, loss: Loss, w: Array) -> tuple[Array]:
    slope = loss.derivative(block.y[:, None], block.scores(w))
    return (block.transposed_dot(block.weight[:, None] * slope),)


class _BetterEnds(NamedTuple):
    cells: Positions
    levels: Positions


def _better_ends(block: SharedBlock, loss: Loss, ahead: float, w: Array, u: Array, sides: Array) -> _BetterEnds:
    """Return for each cell and completion the end of its interval that moves the prediction farther; then levels."""
    i, j, y = block.cell_rows, block.cell_columns, block.y[block.cell_rows, None]
    score, product = block.scores(w)[i] - ahead * y, block.scores(u)[i]
    lower, upper = (
        -loss.derivative(y, score + change * w[j]) * (product + change * u[j])
        for change in (-block.cell_radii[:, None] - block.shifts, block.cell_radii[:, None] - block.shifts)
    )
    ends = np.where(sides * (upper - lower) >= 0.0, np.int16(1), np.int16(-1))
    scores, products = block.scores(w), block.scores(u)
    chosen = np.empty_like(block.chosen)
    for some, levels in block.choices.by_category():
        i = block.choices.rows[some]
        y = block.y[i, None]
        score = scores[i] - block.changes(some, levels, w) - ahead * y
        product = products[i] - block.changes(some, levels, u)
        values = [
            -sides * loss.derivative(y, score + step) * (product + turn)
            for step, turn in zip(levels.changes(w.T).T, levels.changes(u.T).T, strict=True)
        ]
        chosen[some] = np.argmax(values, axis=0)
    return _BetterEnds(ends, chosen)
