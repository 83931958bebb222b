"""What one missing value by itself does to a score, whatever all others are, bounded from both sides (thm-trends)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.incomplete_rows import IncompleteRows
from ipub.certificates.slopes.linearization import Linearization, linearize
from ipub.model_sets.move_sets import MoveSet
from ipub.numeric.linalg import EnclosedInverse, root_form_upper
from ipub.numeric.rounding import Array, dot_bounds, down, sum_error, sum_upper, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.tables.interval_matrix import Indices


def reason_against_trends(problem: Problem) -> str | None:
    """Return why the trends of thm-trends do not apply to a problem; None if they do, missing categories apart."""
    if problem.rows.uncertain_labels:
        return "With uncertain labels there are no 'pointwise' bounds for this table and loss: 'tight' is used instead."
    if problem.penalty.kappa > 0.0:
        return "With an l1 penalty there are no 'pointwise' bounds here: 'tight' is used instead."
    if not problem.loss.is_smooth:
        return f"With the loss {problem.loss.name!r} there are no 'pointwise' bounds here: 'tight' is used instead."
    return None


class LevelMoves(NamedTuple):
    """How scores move from one level of a missing category to another, everywhere between two bounds."""

    which: Indices
    """Shape (n,): numbers of the missing categories."""
    lowest: Array
    highest: Array
    """Shape (m, n, n_levels, n_levels): of rows to predict, from the level before the last to the last."""


class _Enclosed(NamedTuple):
    """``u = H^-1 x`` of rows x to predict, and its products with the incomplete rows, over all completions."""

    u: Array
    """Shape (m, d): about the middle of u."""
    radius: Array
    """Shape (m, d): how far it may be off."""
    spread: Array
    """Shape (m,): bounds of ``sqrt(x.spread x)``, of the enclosed inverse's spread."""
    error: Array
    """Shape (m, d): rounding of `u`."""
    lowest: Array
    highest: Array
    """Shape (m, n_incomplete): bounds of ``x''_i.u``."""


@dataclass(frozen=True)
class Trends:
    """Enclosures of the models of all completions and of the Hessians between any two of them."""

    problem: Problem
    linear: Linearization
    incomplete: IncompleteRows
    inverse: EnclosedInverse

    @classmethod
    def of(cls, problem: Problem, solution: Solution, moves: MoveSet) -> Trends | None:
        """Enclose them, of a problem whose models are proved to be at `moves` from w; None if that fails."""
        linear = linearize(problem, solution, moves, everywhere=True)
        inverse = EnclosedInverse.between(linear.hessian_lower(), linear.hessian_upper())
        if inverse is None or linear.incomplete is None:
            return None
        return cls(problem, linear, linear.incomplete, inverse)

    def of_cells(self, X: Array) -> tuple[Array, Array]:
        """Bound the fall of ``x.w''`` with each uncertain cell, over its row's weight, from both sides (thm-trends).

        Shapes (m, n_cells): the score of row x falls by at least the first times the weight of the cell's row, for
        each unit that the cell rises, whatever all other cells are; and by at most the second.
        """
        linear, incomplete = self.linear, self.incomplete
        i, j = incomplete.cell_rows, incomplete.cell_columns
        u = self._enclosed(X)
        # psi u_j + k (x''.u) w_j
        derivatives = (end[i] for end in self._derivatives)
        first = _product(tuple(derivatives), (down(u.u - u.radius)[:, j], up(u.u + u.radius)[:, j]))
        weights = down(linear.w - linear.move_limits)[j], up(linear.w + linear.move_limits)[j]
        slopes = incomplete.lines.least_slope[i], incomplete.lines.greatest_slope[i]
        second = _product(_product(slopes, weights), (u.lowest[:, i], u.highest[:, i]))
        return down(first[0] + second[0]), up(first[1] + second[1])

    def of_levels(self, X: Array) -> Iterator[LevelMoves]:
        """Yield for each category how scores move from any level of it to any other (thm-trends)."""
        linear, incomplete, u = self.linear, self.incomplete, self._enclosed(X)
        spread = self.inverse.spread
        for number, levels in enumerate(incomplete.categories):
            which = np.flatnonzero(incomplete.choices.categories == number)
            i, columns = incomplete.choices.rows[which], levels.columns
            # From level a, in the rows of these arrays, to level b: delta = e_b - e_a.
            steps = np.eye(len(linear.w))[columns][None, :] - np.eye(len(linear.w))[columns][:, None]
            along = u.u[:, None, columns] - u.u[:, columns, None]
            size = np.abs(u.u[:, None, columns]) + np.abs(u.u[:, columns, None])
            error = u.error[:, None, columns] + u.error[:, columns, None]
            reach = root_form_upper(spread, steps.reshape(-1, len(linear.w))).reshape(len(columns), len(columns))
            radius = up(up(reach * u.spread[:, None, None]) + up(error + sum_error(size + error, 4)))
            low, high = down(along - radius)[:, None], up(along + radius)[:, None]
            derivatives = tuple(end[i, None, None] for end in self._derivatives)
            first = _product(derivatives, (low, high))
            lower, upper = down(linear.w - linear.move_limits)[columns], up(linear.w + linear.move_limits)[columns]
            change = down(lower[None, :] - upper[:, None]), up(upper[None, :] - lower[:, None])
            slopes = incomplete.lines.least_slope[i], incomplete.lines.greatest_slope[i]
            products = _product(slopes, (u.lowest[:, i], u.highest[:, i]))
            second = _product(tuple(end[:, :, None, None] for end in products), change)
            fall = down(first[0] + second[0]), up(first[1] + second[1])
            weight = incomplete.weight[i, None, None]
            # A weight of a row has two roundings.
            near, far = down(weight * (1.0 - 4.0 * 2.0**-52)), up(weight * (1.0 + 4.0 * 2.0**-52))
            lowest, highest = _product((near, far), (-fall[1], -fall[0]))
            same = np.arange(len(columns))
            lowest[..., same, same], highest[..., same, same] = 0.0, 0.0
            yield LevelMoves(which, lowest, highest)

    @cached_property
    def _derivatives(self) -> tuple[Array, Array]:
        """Bounds of the derivative of each incomplete row, at every score that a completion may give it."""
        lines = self.incomplete.lines
        move = up(lines.row_move + lines.cell_move)
        lower, upper = down(lines.lower - move), up(lines.upper + move)
        return self.problem.loss.derivative_range(self.incomplete.y, lower, upper)

    @cached_property
    def _row_spread(self) -> Array:
        """Bounds of ``sqrt(x_i.spread x_i)`` of the incomplete rows."""
        return root_form_upper(self.inverse.spread, self.incomplete.center)

    @cached_property
    def _radii(self) -> Array:
        """Shape (n_features, n_incomplete): the radius of each cell, 0 where a value is certain."""
        radii = np.zeros(self.incomplete.center.shape)
        radii[self.incomplete.cell_rows, self.incomplete.cell_columns] = self.incomplete.cell_radii
        return np.ascontiguousarray(radii.T)

    def _enclosed(self, X: Array) -> _Enclosed:
        incomplete, inverse, d = self.incomplete, self.inverse, X.shape[1]
        u = X @ inverse.center
        error = sum_error(np.abs(X) @ np.abs(inverse.center), d + 1)
        spread = root_form_upper(inverse.spread, X)
        radius = up(up(spread[:, None] * up(np.sqrt(np.diag(inverse.spread)))) + error)
        largest = up(np.abs(u) + radius)
        low, high = dot_bounds(u, incomplete.center.T)
        around = up(sum_upper(error @ incomplete.sizes.T, d + 1) + up(spread[:, None] * self._row_spread))
        around = up(around + sum_upper(largest @ self._radii, d + 1))
        choices = incomplete.choices
        for which, levels in choices.by_category():
            change = largest[:, levels.columns]
            most = sum_upper(change.max(axis=1) + change.mean(axis=1), len(levels.columns) + 3)
            around[:, choices.rows[which]] = up(around[:, choices.rows[which]] + most[:, None])
        return _Enclosed(u, radius, spread, error, down(low - around), up(high + around))


def _product(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, Array]:
    """Bound the products of numbers in two intervals."""
    products = [x * y for x in a for y in b]
    return down(np.minimum.reduce(products)), up(np.maximum.reduce(products))
