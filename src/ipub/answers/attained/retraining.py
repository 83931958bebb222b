"""Models retrained on completions: one by one, several in the same passes, or many of a small table at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ipub.errors import IpubError
from ipub.losses import Loss
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution, solve
from ipub.problem.solvers.quadratic import minimise_quadratic
from ipub.problem.solvers.tables import WIDTHS, solve_tables
from ipub.rows import Rows, with_intercept_column, without_intercept_column
from ipub.rows.completions import Completion, PositionLayout, Positions, SharedBlock, side_by_side, whole_table
from ipub.rows.slices import BLOCK_CELLS
from ipub.tables.missing_category import MissingCategories

MOST_SHARED_STEPS = 15
"""Quasi-Newton steps of several completions in the same passes; one that needs more is trained by itself."""
TOLERANCE = 1e-10
"""Relative duality gap, or last step relative to the weights, to which completions are trained."""
LAST_WIDTHS = WIDTHS[2:]
"""Widths over which kinks are smoothed for approximate models that start near them."""
FAILED = 1e-6
"""Relative duality gap above which training on a completion has failed, and its scores do not count."""


class Retraining:
    """Trains models on completions of the rows of a problem; all start from its `solution` at the center."""

    def __init__(self, problem: Problem, solution: Solution) -> None:
        self.problem, self.layout = problem, PositionLayout.of(problem.rows)
        self.w = solution.w
        self.w = self._solve(self.layout.center).w
        self._trained: dict[bytes, Array] = {}

    @property
    def table_cells(self) -> int:
        """Cells of the training table."""
        return self.problem.rows.n_rows * self.problem.rows.n_features

    def completion(self, positions: Positions) -> Completion:
        """Return the completion with the uncertain cells at these positions, without a column of ones."""
        return Completion(without_intercept_column(self.problem.rows), self.layout, positions)

    def one_by_one(self, positions: Positions) -> Array:
        """Return the models of several completions, each trained by itself; NaN where training failed."""
        return np.array([self._train(each) for each in positions]).reshape(len(positions), len(self.w))

    def cached(self, positions: Positions) -> Array:
        """Return the models of completions of a small table, each trained at most once."""
        for each in positions:
            if each.tobytes() not in self._trained:
                self._trained[each.tobytes()] = self._train(each)
        return np.array([self._trained[each.tobytes()] for each in positions])

    def together(self, positions: Positions, models: Array, hessians: Array) -> tuple[Array, Array]:
        """Return the models of several completions for a smooth loss, by quasi-Newton steps in the same passes.

        Also returned are the Hessians, one for each completion, updated in place (BFGS).
        """
        w, before, gradient = models.copy(), models.copy(), np.zeros_like(models)
        lam, kappa = (part(w.shape[1]) for part in (self.problem.penalty.lam_vector, self.problem.penalty.kappa_vector))
        moving = np.arange(len(w))
        for number in range(MOST_SHARED_STEPS):
            rows = side_by_side(self.problem.rows, self.layout, positions[moving])
            (sums,) = rows.reduce(_gradient_sums, self.problem.loss, w[moving].T)
            now = sums.T / rows.total_weight
            if number > 0:
                hessians[moving] += _updates(hessians[moving], (w - before)[moving], now - gradient[moving])
            before[moving], gradient[moving] = w[moving], now
            w[moving] = _minimised(hessians[moving], w[moving], now, lam, kappa)
            settled = np.abs(w - before)[moving].max(axis=1) <= TOLERANCE * np.abs(w[moving]).max(axis=1)
            moving = moving[~settled]
            if len(moving) == 0:
                break
        w[moving] = self.one_by_one(positions[moving])
        return w, hessians

    def approximate(self, positions: Positions, near: Array | None = None) -> Array:
        """Return approximate models of many completions of a small table, faster if models `near` them are known."""
        rows, penalty, n_cells = self.problem.rows, self.problem.penalty, self.layout.n_cells
        whole = whole_table(rows)
        in_row = np.repeat(np.arange(rows.n_rows), whole.cell_counts)
        missing_rows = np.repeat(np.arange(rows.n_rows), whole.missing_counts)
        missing_categories = MissingCategories(missing_rows, whole.categories, rows.categories)
        parts = []
        for part in row_slices(len(positions), self.table_cells, BLOCK_CELLS):
            tables = np.repeat(whole.center[None], part.stop - part.start, axis=0)
            tables[:, in_row, whole.cell_columns] += whole.cell_radii * positions[part, :n_cells]
            for table, each in zip(tables, positions[part], strict=True):
                missing_categories.put(table, each[n_cells:].astype(np.intp))
            start, widths = (self.w, WIDTHS) if near is None else (near[part], LAST_WIDTHS)
            parts.append(solve_tables(tables, whole.y, whole.weight, self.problem.loss, penalty, start, widths))
        return np.concatenate(parts)

    def _train(self, positions: Positions) -> Array:
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


def gathered(rows: Rows, kernel: Callable[..., Any], *args: Any) -> Any:
    """Gather what a search needs of all rows or cells; raises ValueError if it is too much."""
    values = rows.gather(kernel, *args)
    if values is None:
        raise IpubError(f"The uncertain cells of {rows.n_rows:,} rows are too many to search for fillings.")
    return values


def _minimised(hessians: Array, w: Array, gradients: Array, lam: Array, kappa: Array) -> Array:
    """Return where quadratics with these Hessians and gradients at w, and the penalty, have their minima."""
    linear = np.nan_to_num(np.einsum("kij,kj->ki", hessians, w) - gradients)
    if not kappa.any():
        try:
            return np.asarray(np.linalg.solve(hessians + np.diag(lam), linear[..., None])[..., 0])
        except np.linalg.LinAlgError:
            pass
    each = zip(hessians, linear, w, strict=True)
    return np.array([minimise_quadratic(hessian, right, lam, kappa, here) for hessian, right, here in each])


def _updates(hessians: Array, steps: Array, changes: Array) -> Array:
    """Return what makes Hessians map the steps to the changes of the gradients (BFGS)."""
    images = np.einsum("kij,kj->ki", hessians, steps)
    turned, before = np.einsum("kj,kj->k", changes, steps), np.einsum("kj,kj->k", images, steps)
    usable = (turned > 0.0) & (before > 0.0)
    parts = [
        each[:, :, None] * each[:, None, :] / np.where(usable, size, np.inf)[:, None, None]
        for each, size in ((changes, turned), (images, before))
    ]
    return np.asarray(np.where(usable[:, None, None], parts[0] - parts[1], 0.0))


def _gradient_sums(block: SharedBlock, loss: Loss, w: Array) -> tuple[Array]:
    slope = loss.derivative(block.y[:, None], block.scores(w))
    return (block.transposed_dot(block.weight[:, None] * slope),)
