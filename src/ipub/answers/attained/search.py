"""The search for completions whose models give a test row its lowest or highest score.

With few uncertain cells, the models of all vertices (every cell at an end of its interval) are compared.

With many, a completion is chosen for one row x and one side by moving every cell to the end of its interval where the
prediction changes more to that side. To first order in the change of the model, with ``u = H^-1 x`` and H the Hessian
of the objective, row i of the table moves ``x.w`` by

    -m_i psi(x''_i.w) (x''_i.u) + constant,

of which each cell takes the better end while all others stay where they are. The model is retrained there, and cells
are moved again, until nothing is gained. The passes over the training rows are the same for several test rows and both
sides. With an l1 penalty H is that of the weights that are not zero, so a weight that is zero is moved by no cell: a
second search begins as if weights that nearly enter the model were in it. If the table is small, changes of single
cells follow.

The search inside intervals (`ipub.answers.attained.inside`) starts from what is found here. Whatever suggests a
completion, the score that counts is that of the model trained on it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ipub.answers.attained.first_order import center_hessian, inverse_times, nearly_entering
from ipub.answers.attained.retraining import TOLERANCE, Retraining, gathered
from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows import Block, Reads, reads
from ipub.rows.completions import Positions, SharedBlock, side_by_side
from ipub.tables.interval_matrix import Indices

MOST_ROUNDS = 20
"""How often all cells are moved, at most: each round costs a retraining for each test row and side."""
LEAST_GAIN = 1e-3
"""Change by a round, relative to the distance from the center's score, that is not worth another round."""
MOST_FAILURES = 4
"""How many rounds without gain may follow each other."""
KINK_WIDTHS = (1.0, 0.1, 0.01)
"""Widths over which a loss with kinks is smoothed in the first rounds when ends are chosen; later rounds take the
last."""
FEW_CELLS = 12
"""Up to 2 to this power vertices, all of them are compared."""
MOST_COMPARED = 1 << 22
"""Cells, over all completed tables, that may be trained on to compare all vertices."""
MOST_COMPARED_CHANGES = 1 << 17
"""Cells, over all completed tables, that may be trained on to compare the changes of single cells for one row."""
MOST_APPROXIMATE = 1 << 14
"""Cells of a training table up to which steps inside intervals are chosen by approximate models, for a loss with
kinks."""
MOST_CHANGES = 50
"""How many changes of single cells follow each other, at most."""
RETRAINED = 2
"""Completions that are trained exactly for each row and side after approximate models were compared."""
ROWS_AT_ONCE = 8
"""Test rows searched in the same passes over the training rows: more save passes and take memory."""
BYTES_AT_ONCE = 1 << 27
"""Memory that test rows searched in the same passes may take."""


class Best:
    """The best score found so far for each test row and side, and the completion that attains it.

    Cells of the test rows X may move by their `radius`: a model is given the row that suits it best. `center` has the
    positions of the training table's center.
    """

    def __init__(self, X: Array, radius: Array, center: Positions) -> None:
        self.X, self.radius = X, radius
        self.scores = np.tile([np.inf, -np.inf], (len(X), 1))
        self.positions = np.tile(center, (len(X), 2, 1))
        self.models = np.full((len(X), 2, X.shape[1]), np.nan)
        self._categories = np.flatnonzero(center < 0.0)

    def record(self, positions: Positions, models: Array) -> bool:
        """Compare with the models of other completions; return whether one is better for a row and side.

        A table in which a category is still missing, at the mean of its levels, is no completion and does not count.
        """
        rows = np.arange(len(self.X))
        is_unsettled = np.any(positions[:, self._categories] < 0.0, axis=1, keepdims=True)
        models = np.where(is_unsettled, np.nan, models)
        improved = False
        for end, sign in ((0, -1.0), (1, 1.0)):
            scores = self.ends(models, sign)
            highest = np.nan_to_num(sign * scores, nan=-np.inf)
            # Completions with the same model, but for rounding, are a tie: the first counts.
            tie = TOLERANCE * (1.0 + np.abs(highest.max(axis=1, keepdims=True)))
            best = np.argmax(highest >= highest.max(axis=1, keepdims=True) - tie, axis=1)
            found = scores[rows, best]
            better = sign * (found - self.scores[:, end]) > tie[:, 0]
            improved |= bool(better.any())
            self.scores[better, end] = found[better]
            self.positions[better, end], self.models[better, end] = positions[best[better]], models[best[better]]
        return improved

    def promising(self, positions: Positions, models: Array, count: int) -> Positions:
        """Return the completions that are, by approximate models, among the `count` best of a row and side."""
        low, high = (np.argsort(self.ends(models, sign), axis=1) for sign in (-1.0, 1.0))
        return positions[np.unique(np.hstack([low[:, :count], high[:, -count:]]))]

    def ends(self, models: Array, sign: float) -> Array:
        """Return the lowest or highest score of each row, over its own cells, under each model."""
        return np.asarray(self.X @ models.T + sign * (self.radius @ np.abs(models.T)))


class Search:
    """The search for completions: everything that does not depend on the test rows."""

    def __init__(self, problem: Problem, solution: Solution) -> None:
        self.problem, self.retraining = problem, Retraining(problem, solution)
        self.layout, self.w = self.retraining.layout, self.retraining.w
        (categories,) = gathered(problem.rows, _missing_categories)
        cells: list[Sequence[int]] = [(-1, 1)] * self.layout.n_cells
        self.options = cells + [range(len(problem.rows.categories[k].columns)) for k in categories]
        """The possible positions of each cell, then the levels of each missing category."""
        self._hessians: dict[float, Array] = {}
        self._vertices: tuple[Positions, Array] | None = None
        d = len(self.w)
        self.rows_at_once = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // (20 * len(self.options) + 16 * d * d)))

    def retrained(self, positions: Positions, models: Array, hessians: Array | None = None) -> Array:
        """Return the models of several completions, trained from models and Hessians that are near them."""
        loss = self.problem.loss
        if not loss.is_smooth:
            return self.retraining.one_by_one(positions)
        if hessians is None:
            hessians = np.repeat(self.hessian(loss, 0.0, 0.0)[None], len(positions), axis=0)
        return self.retraining.together(positions, models, hessians)[0]

    def tried(self, positions: Positions, models: Array, hessians: Array | None = None) -> Array:
        """Return models of completions to choose steps by: in small tables with kinks, approximate ones."""
        if self.tries_approximately:
            return self.retraining.approximate(positions, models)
        return self.retrained(positions, models, hessians)

    @property
    def tries_approximately(self) -> bool:
        """Whether models that are `tried` are approximate: training each exactly would take much longer."""
        return not self.problem.loss.is_smooth and self.retraining.table_cells <= MOST_APPROXIMATE

    def steps(self, best: Best) -> Iterator[float]:
        """Search for the ends of several test rows; yield which fraction of the work is done."""
        count = math.prod(len(options) for options in self.options)
        if count <= 1 << FEW_CELLS and self.retraining.table_cells * count <= MOST_COMPARED:
            if self._vertices is None:
                vertices = np.array(list(itertools.product(*self.options)), dtype=np.float32)
                self._vertices = vertices, self.retraining.approximate(vertices)
            self.retrain(best, best.promising(*self._vertices, RETRAINED))
        else:
            entering = self.entering
            starts = [np.zeros_like(entering), entering] if entering.any() else [entering]
            for start, assumed in enumerate(starts):
                rounds = _Rounds(self, best, assumed)
                for number in range(MOST_ROUNDS):
                    rounds.advance(number)
                    yield (start + (number + 1) / (MOST_ROUNDS + 1)) / len(starts)
                    if len(rounds.active) == 0:
                        break
            self._change_single_cells(best)
        best.record(self.layout.center[None], self.w[None])

    @cached_property
    def entering(self) -> NDArray[np.bool_]:
        """Weights that are zero at the center, and nearly enter its model."""
        return nearly_entering(self.problem, self.w)

    def hessian(self, smooth: Loss, ahead: float, width: float) -> Array:
        """Return the Hessian of the (smoothed) loss at the center."""
        if width not in self._hessians:
            self._hessians[width] = center_hessian(self.problem, smooth, self.w, ahead)
        return self._hessians[width]

    def _change_single_cells(self, best: Best) -> None:
        """Change single cells as long as that helps, where it is cheap to compare all such changes."""
        n_changes = sum(len(options) - 1 for options in self.options)
        if 2 * n_changes * self.retraining.table_cells > MOST_COMPARED_CHANGES:
            return
        for _ in range(MOST_CHANGES):
            at = best.positions.reshape(-1, len(self.options))
            changed = np.unique([other for each in at for other in self._single_changes(each)], axis=0)
            if not self.retrain(best, best.promising(changed, self.retraining.approximate(changed), 1)):
                break

    def _single_changes(self, positions: Positions) -> Iterator[Positions]:
        """Yield the completions that differ from one in a single cell or missing category."""
        for k, options in enumerate(self.options):
            for option in options:
                if option != positions[k]:
                    changed = positions.copy()
                    changed[k] = option
                    yield changed

    def retrain(self, best: Best, positions: Positions) -> bool:
        """Train completions of a small table, once for all test rows; return whether one is better."""
        return best.record(positions, self.retraining.cached(positions))


class _Rounds:
    """Rounds in which all cells are moved and models retrained, for several test rows and both sides.

    After rounds without gain, only a random part of the cells is moved, half as many after each. In the first round the
    weights that are `assumed` count as not zero.
    """

    def __init__(self, search: Search, best: Best, assumed: NDArray[np.bool_]) -> None:
        self.search, self.best, self.assumed = search, best, assumed
        self.sides = np.tile([-1.0, 1.0], len(best.X))
        self.middles = np.repeat(best.X, 2, axis=0)
        self.moves = self.sides[:, None] * np.repeat(best.radius, 2, axis=0)
        self.aims = self.middles + self.moves * np.sign(search.w)
        """For each row and side, the test row inside its radius that suits the model found."""
        n, d = self.aims.shape
        self.center_scores = self.aims @ search.w
        self.positions = np.tile(search.layout.center, (n, 1))
        self.models, self.scores = np.repeat(search.w[None], n, axis=0), np.full(n, -np.inf)
        self.hessians = np.empty((n, d, d))
        self.failures = np.zeros(n, dtype=int)
        self.active: NDArray[np.intp] = np.arange(n)
        """Rows and sides that are still searched."""
        self.rng = np.random.default_rng(0)

    def advance(self, number: int) -> None:
        """Do one round: move cells, retrain, and keep what is better."""
        loss, active = self.search.problem.loss, self.active
        proposed = self._moved_cells(number)
        if loss.is_smooth:
            trained, self.hessians[active] = self.search.retraining.together(
                proposed, self.models[active], self.hessians[active]
            )
        else:
            trained = self.search.retraining.one_by_one(proposed)
        self.best.record(proposed, trained)
        suited = self.middles[active] + self.moves[active] * np.sign(np.nan_to_num(trained))
        score = self.sides[active] * np.einsum("kj,kj->k", suited, trained)
        gain = score - self.scores[active]
        better = gain > 0.0
        moved = active[better]
        self.positions[moved], self.models[moved] = proposed[better], trained[better]
        self.scores[moved], self.aims[moved] = score[better], suited[better]
        little = LEAST_GAIN * np.abs(score - self.sides[active] * self.center_scores[active])
        self.failures[active] = np.where(gain > little, 0, self.failures[active] + 1)
        settled = (np.abs(gain) <= little) & (loss.is_smooth or number + 1 >= len(KINK_WIDTHS))
        self.active = active[~settled & (self.failures[active] < MOST_FAILURES)]

    def _moved_cells(self, number: int) -> Positions:
        """Return the positions to try next: cells at their better ends, drawn at random after failures."""
        search, active = self.search, self.active
        loss, width = search.problem.loss, KINK_WIDTHS[min(number, len(KINK_WIDTHS) - 1)]
        smooth, ahead = loss.smoothed(width), 0.0 if loss.is_smooth else 0.5 * width
        if number == 0 or not loss.is_smooth:
            self.hessians[:] = search.hessian(smooth, ahead, width)
        supports = self.models if number else np.where(self.assumed, 1.0, self.models)
        u = np.array([inverse_times(search.problem, self.hessians[k], supports[k], self.aims[k]) for k in active])
        rows = side_by_side(search.problem.rows, search.layout, self.positions[active])
        found = gathered(rows, _better_ends, smooth, ahead, self.models[active].T, u.T, self.sides[active])
        ends = np.concatenate(found)
        drawn = self.rng.random((len(active), len(ends)), dtype=np.float32) < 0.5 ** self.failures[active, None]
        return np.where(drawn, ends.T, self.positions[active])


@reads(Reads.CELLS)
def _missing_categories(block: Block) -> tuple[Indices]:
    return (block.missing_categories.categories,)


def _better_ends(
    block: SharedBlock, loss: Loss, ahead: float, w: Array, u: Array, sides: Array
) -> tuple[Positions, Indices]:
    """Return for each completion the cell ends, and the levels of categories, that move the prediction more."""
    i, j, y = block.cell_rows, block.cell_columns, block.y[block.cell_rows, None]
    score, product = block.scores(w)[i] - ahead * y, block.scores(u)[i]
    lower, upper = (
        -loss.derivative(y, score + change * w[j]) * (product + change * u[j])
        for change in (-block.cell_radii[:, None] - block.shifts, block.cell_radii[:, None] - block.shifts)
    )
    ends = np.where(sides * (upper - lower) >= 0.0, np.float32(1.0), np.float32(-1.0))
    y = block.y[:, None]
    return ends, best_levels(block, loss, block.scores(w) - ahead * y, block.scores(u), w, u, sides)


def best_levels(
    block: SharedBlock, loss: Loss, scores: Array, products: Array, w: Array, u: Array, sides: Array
) -> Indices:
    """Return for each completion the level of each missing category that moves the prediction most to its side.

    To first order in the change of the model; `scores` and `products` are those of the rows with w and u.
    """
    chosen = np.empty_like(block.chosen)
    for which, values in _gains_of_levels(block, loss, scores, products, w, u):
        chosen[which] = np.argmax(sides * values, axis=0)
    return chosen


def level_gains(block: SharedBlock, loss: Loss, ahead: float, w: Array, u: Array) -> tuple[Array]:
    """Return how far each level of each missing category moves the prediction up, to first order.

    Shape (n_missing, n_completions, most levels of a category); those that a category does not have are ``-inf``.
    """
    n_levels = max((len(levels.columns) for levels in block.missing_categories.levels), default=1)
    gains = np.full((*block.chosen.shape, n_levels), -np.inf)
    scores, products = block.scores(w) - ahead * block.y[:, None], block.scores(u)
    for which, values in _gains_of_levels(block, loss, scores, products, w, u):
        gains[which, :, : len(values)] = np.moveaxis(values, 0, -1)
    return (gains,)


def _gains_of_levels(
    block: SharedBlock, loss: Loss, scores: Array, products: Array, w: Array, u: Array
) -> Iterator[tuple[Indices, Array]]:
    """Yield for each category its missing values, and by how much each level moves the prediction up."""
    for which, levels in block.missing_categories.by_category():
        i = block.missing_categories.rows[which]
        y = block.y[i, None]
        score, product = (
            each[i] - block.changes(which, levels, vectors) for each, vectors in ((scores, w), (products, u))
        )
        values = [
            -loss.derivative(y, score + step) * (product + turn)
            for step, turn in zip(levels.changes(w.T).T, levels.changes(u.T).T, strict=True)
        ]
        yield which, np.array(values)
