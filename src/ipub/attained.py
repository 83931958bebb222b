"""The inner bound: predictions that retrained completions really attain.

A certificate bounds the range of a prediction from outside; this bounds it from inside. The ratio of the two
widths says how much a certificate can be off. A completion is chosen for one row x and one side by pushing every
uncertain cell to the end of its interval where the prediction is farther on that side. To first order in the
change of the model, with ``u = H^-1 x`` and H the Hessian of the objective, row i of the table moves ``x.w`` by

    -m_i psi(x''_i.w) (x''_i.u) + constant,

of which each cell takes the better end, all others staying where they are. The model is retrained there, and the
cells are pushed again, until nothing is gained. All rows and sides are searched side by side: they share each
pass over the training rows. A kinked loss is searched through smoothed ones. If there are few cells, flips of
single cells follow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from ipub.data.blocks import Block, Rows, Sums
from ipub.data.intervals import Indices, completed_cells, row_slices
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import Array, overflow_passes
from ipub.solvers import Solution, solve
from ipub.solvers.quadratic import minimise_quadratic, solve_shifted

Positions = NDArray[np.int8]
"""Where each uncertain cell is, in the order of the rows: -1 lower end, 0 center, 1 upper end."""

KINK_WIDTHS = (1.0, 0.1, 0.01)
"""Over which scores the derivative of a kinked loss is taken to change, when a completion is chosen."""
ROUNDS = 4
"""How often cells are pushed, at most."""
FEW_CELLS = 16
"""Up to so many uncertain cells, flips of single cells are tried one by one."""
ROWS_AT_ONCE = 32
"""Test rows that share the passes over the training rows."""
POSITIONS_AT_ONCE = 1 << 26
"""Bytes that positions of cells may take at once."""
CHORDS = 25
"""How many steps with the Hessian of the center are tried before a completion is trained by itself."""
TOLERANCE = 1e-10
"""Relative duality gap, or size of the last step relative to the model, to which completions are trained."""


@dataclass(frozen=True)
class Completion:
    """A completion of the training rows: every uncertain cell at one end, or at the middle, of its interval.

    Parameters
    ----------
    rows : Rows
        The rows with their intervals.
    starts : array of shape (n_rows + 1,)
        The uncertain cells of row i are numbers ``starts[i]`` to ``starts[i + 1] - 1``.
    positions : array of shape (n_uncertain,)
        -1, 0 or 1 for each cell: the lower end, the middle or the upper end.
    """

    rows: Rows
    starts: Indices
    positions: Positions

    def table(self) -> Array:
        """Return the completed training table."""
        (table,) = CompletedRows(self).collect(lambda block: (block.center,))
        return np.asarray(table)


class CompletedRows(Rows):
    """The rows of one completion: no cell is uncertain any more."""

    def __init__(self, completion: Completion) -> None:
        rows = completion.rows
        super().__init__(rows.n_features, rows.y, rows.weight)
        self.completion = completion

    def block(self, rows: slice) -> Block:
        whole = self.completion.rows.block(rows)
        starts = self.completion.starts
        positions = self.completion.positions[starts[rows.start] : starts[rows.stop]]
        center, i, j = whole.center.copy(), whole.cell_rows, whole.cell_columns
        center[i, j] = completed_cells(center[i, j], whole.cell_radii, positions)
        nothing = np.zeros(0, dtype=np.intp)
        return Block(center, nothing, nothing, np.zeros(0), whole.y, self.weight[rows])


@dataclass(frozen=True, slots=True)
class SharedBlock(Block):
    """A block with several completions of its rows: by how much each of them moves each uncertain cell."""

    shifts: Array

    def scores(self, vectors: Array) -> Array:
        """Return the score of each row under a vector for each completion."""
        moved = self.shifts * vectors[self.cell_columns]
        return np.asarray(self.center @ vectors + self._cells(self.cell_rows, len(self.y)) @ moved)

    def transposed_dot(self, coefficients: Array) -> Array:
        """Return the sum of the rows of each completion, each times its coefficient."""
        moved = self.shifts * coefficients[self.cell_rows]
        d = self.center.shape[1]
        return np.asarray(self.center.T @ coefficients + self._cells(self.cell_columns, d) @ moved)

    def _cells(self, numbers: Indices, n: int) -> csr_array:
        """Return the matrix that adds up values of cells by their row, or by their column."""
        m = len(numbers)
        return csr_array((np.ones(m), (numbers, np.arange(m))), shape=(n, m))


class SharedRows(Rows):
    """The rows of several completions, for kernels that look at all of them in one pass."""

    def __init__(self, rows: Rows, starts: Indices, positions: Positions) -> None:
        super().__init__(rows.n_features, rows.y, rows.weight)
        self.rows, self.starts, self.positions = rows, starts, positions

    def block(self, rows: slice) -> SharedBlock:
        whole = self.rows.block(rows)
        here = self.positions[:, self.starts[rows.start] : self.starts[rows.stop]]
        shifts = whole.cell_radii[:, None] * here.T
        return SharedBlock(
            whole.center, whole.cell_rows, whole.cell_columns, whole.cell_radii, whole.y, self.weight[rows], shifts
        )


@dataclass(frozen=True)
class Attained:
    """What a search found for some test rows: for each row and side a score and where it is attained."""

    scores: Array
    positions: Positions

    def record(self, positions: Positions, scores: Array) -> bool:
        """Keep those of some completions that are better; return whether one is."""
        improved = False
        for end, best in ((0, np.argmin(scores, axis=0)), (1, np.argmax(scores, axis=0))):
            rows = np.arange(len(best))
            found = scores[best, rows]
            better = (found > self.scores[:, 1]) if end else (found < self.scores[:, 0])
            self.scores[better, end] = found[better]
            self.positions[better, end] = positions[best[better]]
            improved |= bool(better.any())
        return improved


class Search:
    """The search for completions, with what all test rows share."""

    def __init__(self, problem: Problem, solution: Solution) -> None:
        self.problem, self.w = problem, solution.w
        (counts,) = problem.rows.collect(_cell_counts)
        self.starts: Indices = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self.n_cells = int(self.starts[-1])
        loss = problem.loss
        widths = KINK_WIDTHS if not loss.is_smooth else (0.0,)
        self.paths = [Path(Problem(problem.rows, loss.smoothed(width), problem.penalty), self) for width in widths]
        self._trained: dict[bytes, Array] = {}

    def run(self, X: Array) -> Attained:
        """Search for the ends of some test rows."""
        center = X @ self.w
        found = Attained(np.stack([center, center], axis=1), np.zeros((len(X), 2, self.n_cells), dtype=np.int8))
        aims, sides = np.repeat(X, 2, axis=0), np.tile([-1.0, 1.0], len(X))
        for path in self.paths:
            positions = np.zeros((len(aims), self.n_cells), dtype=np.int8)
            w = np.repeat(path.w[None], len(aims), axis=0)
            for _ in range(ROUNDS):
                pushed = path.push(positions, w, aims, sides)
                if np.array_equal(pushed, positions):
                    break
                positions = pushed
                w = path.train(positions, w)
                models = w if self.problem.loss.is_smooth else self.train(positions, w)
                if not found.record(positions, models @ X.T):
                    break
        while self.n_cells <= FEW_CELLS:
            around = np.unique(found.positions.reshape(-1, self.n_cells), axis=0)
            flips = around[:, None, :] * (1 - 2 * np.eye(self.n_cells, dtype=np.int8))
            flips = np.unique(flips.reshape(-1, self.n_cells), axis=0)
            if not found.record(flips, self.train(flips, np.repeat(self.w[None], len(flips), axis=0)) @ X.T):
                break
        return found

    def train(self, positions: Positions, start: Array) -> Array:
        """Return the exact models of some completions, each trained by itself."""
        return np.array([self._train(self.problem, *pair) for pair in zip(positions, start, strict=True)])

    def _train(self, problem: Problem, positions: Positions, start: Array) -> Array:
        rows = CompletedRows(Completion(problem.rows, self.starts, positions))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return solve(Problem(rows, problem.loss, problem.penalty), tol=TOLERANCE, start=start).w


class Path:
    """One smooth loss through which completions are searched: the problem's own, or a smoothed one."""

    def __init__(self, problem: Problem, search: Search) -> None:
        self.problem, self.search = problem, search
        self.w = search.w if problem.loss is search.problem.loss else solve(problem, start=search.w).w
        self.hessian = problem.evaluate(self.w, problem.loss).hessian

    def push(self, positions: Positions, w: Array, aims: Array, sides: Array) -> Positions:
        u = np.zeros_like(w)
        for k, x in enumerate(aims):
            free = w[k] != 0.0 if self.problem.penalty.kappa > 0.0 else slice(None)
            u[k, free] = solve_shifted(self.hessian[free][:, free], self.problem.penalty.lam, x[free])
        rows = SharedRows(self.problem.rows, self.search.starts, positions)
        (pushed,) = rows.collect(_push, self.problem.loss, w.T, u.T, sides)
        return np.ascontiguousarray(pushed.T)

    def train(self, positions: Positions, w: Array) -> Array:
        """Return the models of some completions: steps with the Hessian of the center, where these converge."""
        w = w.copy()
        penalty, total = self.problem.penalty, self.problem.rows.total_weight
        moving, step = np.arange(len(w)), np.full(len(w), np.inf)
        alone = []
        for _ in range(CHORDS):
            if len(moving) == 0:
                break
            rows = SharedRows(self.problem.rows, self.search.starts, positions[moving])
            (gradient,) = rows.reduce(_gradients, self.problem.loss, w[moving].T)
            still = []
            for k, g in zip(moving, gradient.T / total, strict=True):
                new = minimise_quadratic(self.hessian, self.hessian @ w[k] - g, penalty.lam, penalty.kappa, w[k])
                size = np.linalg.norm(new - w[k])
                w[k] = new
                if size > TOLERANCE * np.linalg.norm(new):
                    (still if size < 0.5 * step[k] else alone).append(k)
                step[k] = size
            moving = np.array(still, dtype=int)
        for k in [*alone, *moving]:
            w[k] = self.search._train(self.problem, positions[k], self.w)
        self.alone = getattr(self, "alone", 0) + len(alone) + len(moving)
        self.all = getattr(self, "all", 0) + len(w)
        return w


def attained_bounds(problem, solution, X, progress=None):
    search = Search(problem, solution)
    return search.run(X).scores


def _cell_counts(block: Block) -> Sums:
    return (np.bincount(block.cell_rows, minlength=len(block.y)),)


def _gradients(block: SharedBlock, loss: Loss, w: Array) -> Sums:
    slope = loss.derivative(block.y[:, None], block.scores(w))
    return (block.transposed_dot(block.weight[:, None] * slope),)


def _push(block: SharedBlock, loss: Loss, w: Array, u: Array, sides: Array) -> Sums:
    i, j, y = block.cell_rows, block.cell_columns, block.y[block.cell_rows, None]
    score, product = block.scores(w)[i], block.scores(u)[i]
    effects = []
    for end in (-block.cell_radii, block.cell_radii):
        change = end[:, None] - block.shifts
        effects.append(-loss.derivative(y, score + change * w[j]) * (product + change * u[j]))
    return (np.sign(sides * (effects[1] - effects[0])).astype(np.int8),)
