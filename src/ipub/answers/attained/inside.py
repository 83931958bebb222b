"""The search inside intervals: steps along the gradient of a test row's score in the cells, with a retraining each.

With K the Hessian of the objective at the model w of a completion and ``u = K^-1 x``, the implicit function theorem
says how the score of a test row x moves with a cell of training row i in column j:

    d (x.w) / d x_ij = -m_i (psi_i' w_j (x_i.u) + psi_i u_j),

with psi the derivative of the loss at ``x_i.w``. A step moves all cells along it, up to the ends of their intervals,
and missing categories to levels that are better to first order. Steps that retraining shows to be of no use are undone
and shortened. A smoothed loss stands in for one with kinks when steps are chosen, never when models are trained.
"""

from __future__ import annotations

import numpy as np

from ipub.answers.attained.first_order import KINK_WIDTH, inverse_times
from ipub.answers.attained.retraining import gathered
from ipub.answers.attained.search import Best, Search, best_levels
from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.rows import Rows
from ipub.rows.completions import Positions, SharedBlock, side_by_side
from ipub.tables.interval_matrix import Indices

MOST_FROM_CENTER = 1 << 20
"""Cells of a training table up to which the search has three starts, not only the best ends."""
MOST_STEPS, FEWEST_STEPS = 25, 6
"""Steps from each start, at most, in a small table and in a large one: each costs a retraining for each test row and
side."""
MOST_STEPPED = 1 << 24
"""Cells of the training table times steps: a larger table has fewer steps, down to `FEWEST_STEPS`."""
FIRST_STEP = 0.5
"""Length of the first step: how far cells move on average, in radii of their intervals, if none met an end."""
LONGER, SHORTER = 1.5, 0.5
"""Factors of the length after a step that helped, and after one that did not."""
SHORTEST = 0.02
"""A step of less than this ends the search."""
LEAST_GAIN = 1e-4
"""Gain, relative to the distance from the center's score, that is not worth another step."""
NOTHING = 1e-8
"""A gain, relative to the score, that may be an error of retraining: on a flat stretch it must not decide."""
PLACES = 256
"""Cells stop at multiples of their radius over this, so that rounding does not decide which way a search takes."""
COUNTED = 1e-3
"""Gain, relative to the width of the range, that counts as an improvement."""


def search_inside(search: Search, best: Best) -> Array:
    """Search inside the intervals from what was found at their ends, and, if that is cheap, from two more starts.

    These have all cells at the center, and halfway to the best ends: at the ends the loss of a row may be flat, so that
    no gradient leads away. Returned is which ends of the test rows' ranges became better, shape (m, 2).
    """
    before, shape = best.scores.copy(), (2 * len(best.X), -1)
    ends, at_ends = best.positions.reshape(shape), best.models.reshape(shape)
    starts, models = [ends], [at_ends]
    if search.retraining.table_cells <= MOST_FROM_CENTER:
        for share in (0.0, 0.5):
            start = ends.copy()
            start[:, : search.layout.n_cells] *= np.float32(share)
            starts.append(start)
            models.append(search.tried(start, at_ends))
    InsideSteps(search, best, np.concatenate(starts), np.concatenate(models)).run()
    return np.asarray(np.abs(best.scores - before) > COUNTED * np.ptp(before, axis=1, keepdims=True))


class InsideSteps:
    """Steps inside the intervals for several test rows and both sides, from one or more starts each.

    `positions` and `models` have a row for each start, test row and side, the lower before the upper; scores that are
    better than the `best` found so far are recorded there.
    """

    def __init__(self, search: Search, best: Best, positions: Positions, models: Array) -> None:
        self.search, self.best = search, best
        self.positions, self.models = positions.copy(), models.copy()
        n = len(positions)
        self.sides = np.tile([-1.0, 1.0], n // 2)
        row = np.arange(n) // 2 % max(len(best.X), 1)
        self.middles, self.radii = best.X[row], best.radius[row]
        self.scores = self._scores(np.arange(n), models)
        self.lengths = np.full(n, FIRST_STEP)
        self.scale = np.abs(self.scores - self._scores(np.arange(n), np.tile(search.w, (n, 1))))
        self.active: Indices = np.flatnonzero(np.isfinite(self.scores))
        """Rows and sides that are still searched."""
        loss = search.problem.loss
        self.smooth, self.ahead = loss.smoothed(KINK_WIDTH), 0.0 if loss.is_smooth else 0.5 * KINK_WIDTH
        self.rng = np.random.default_rng(0)

    def run(self) -> None:
        """Step until little is gained, `MOST_STEPS` times at most."""
        for _ in range(int(np.clip(MOST_STEPPED // self.search.retraining.table_cells, FEWEST_STEPS, MOST_STEPS))):
            if len(self.active) == 0:
                break
            self._advance()
        if self.search.tries_approximately:
            known = np.isfinite(self.scores)
            self.search.retrain(self.best, self.best.promising(self.positions[known], self.models[known], 1))

    def _scores(self, which: Indices, models: Array) -> Array:
        """Return the scores of the test rows, inside their own intervals at their best, times their sides."""
        middle = np.einsum("kj,kj->k", self.middles[which], models)
        own = np.einsum("kj,kj->k", self.radii[which], np.abs(models))
        return np.asarray(self.sides[which] * middle + own)

    def _advance(self) -> None:
        """Do one step for all that are active."""
        search, active = self.search, self.active
        rows = side_by_side(search.problem.rows, search.layout, self.positions[active])
        (hessians,) = rows.reduce(completion_hessians, self.smooth, self.ahead, self.models[active].T)
        hessians = hessians / search.problem.rows.total_weight
        proposed = self._proposed(rows, hessians)
        trained = search.tried(proposed, self.models[active], hessians)
        if not search.tries_approximately:
            self.best.record(proposed, trained)
        scores = self._scores(active, trained)
        gain = scores - self.scores[active]
        better = gain > NOTHING * (1.0 + np.abs(scores))
        moved = active[better]
        self.positions[moved], self.models[moved] = proposed[better], trained[better]
        self.scores[moved] = scores[better]
        self.lengths[active] *= np.where(better, LONGER, SHORTER)
        self.scale[moved] += gain[better]
        ends = better & (gain <= LEAST_GAIN * self.scale[active])
        self.active = active[~ends & (self.lengths[active] >= SHORTEST)]

    def _proposed(self, rows: Rows, hessians: Array) -> Positions:
        """Return where the next step leads."""
        search, active, n_cells = self.search, self.active, self.search.layout.n_cells
        models, sides, here = self.models[active], self.sides[active], self.positions[active]
        aims = self.middles[active] + sides[:, None] * self.radii[active] * np.sign(models)
        each = zip(hessians, models, aims, strict=True)
        u = np.array([inverse_times(search.problem, *parts) for parts in each])
        slopes, levels = gathered(rows, cell_slopes, self.smooth, self.ahead, models.T, u.T, sides)
        slopes, cells = np.nan_to_num(slopes.T), here[:, :n_cells]
        # Cells at an end that would leave their interval say nothing of the length.
        stays = (slopes * cells > 0.0) & (np.abs(cells) >= 1.0)
        mean = np.where(stays, 0.0, np.abs(slopes)).sum(axis=1) / np.maximum((~stays).sum(axis=1), 1)
        steps = slopes * (self.lengths[active] / np.where(mean > 0.0, mean, np.inf))[:, None]
        drawn = self.rng.random(levels.T.shape) < np.minimum(self.lengths[active], 1.0)[:, None]
        chosen = np.where(drawn, levels.T, here[:, n_cells:])
        places = np.round(np.clip(cells + steps, -1.0, 1.0) * PLACES) / PLACES
        return np.hstack([places, chosen]).astype(here.dtype)


def completion_hessians(block: SharedBlock, loss: Loss, ahead: float, w: Array) -> tuple[Array]:
    """Return the sum of the Hessians of the rows of each completion."""
    y = block.y[:, None]
    curvature = block.weight[:, None] * loss.curvature(y, block.scores(w) - ahead * y)
    sums = np.empty((w.shape[1], len(w), len(w)))
    for k, weights in enumerate(curvature.T):
        table = block.completed(k)
        sums[k] = (table * weights[:, None]).T @ table
    return (sums,)


def cell_slopes(
    block: SharedBlock, loss: Loss, ahead: float, w: Array, u: Array, sides: Array
) -> tuple[Array, Indices]:
    """Return for each completion how the score moves with each cell, in radii, and the best level of each category."""
    i, j, y = block.cell_rows, block.cell_columns, block.y[:, None]
    scores, products = block.scores(w) - ahead * y, block.scores(u)
    weight = block.weight[:, None]
    curvature, slope = weight * loss.curvature(y, scores), weight * loss.derivative(y, scores)
    cells = -sides * block.cell_radii[:, None] * ((curvature * products)[i] * w[j] + slope[i] * u[j])
    return cells, best_levels(block, loss, scores, products, w, u, sides)
