"""Missing categories: what each possible level adds to the gradient, and to its remainders (lem-levels)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.incomplete_rows import IncompleteRows
from ipub.losses import Loss
from ipub.numeric.linalg import greatest_ratio_upper, positive_weights, rounded_up
from ipub.numeric.parallel import CACHED_NUMBERS, row_slices
from ipub.numeric.rounding import EPS, Array, down, midpoint_and_radius, sum_error, sum_upper, up
from ipub.tables.interval_matrix import Indices
from ipub.tables.missing_category import Levels


class _BestLevels(NamedTuple):
    """Of each row and direction u: what its best level adds to first order, its second best, and the best itself."""

    value: Array
    second: Array
    level: Indices
    step: Array
    """``delta_l.u`` of the best level."""


@dataclass(frozen=True)
class ChoiceTerms:
    """The rows in which one category is missing, and what its levels do to ``u.(g + r)``.

    Level k of row i adds ``generator_row_ik (x_i.u) + generator_level_ik z_k + Gamma_ik.v``, ``z_k = delta_k.u``, with
    an error of at most ``error_row_i |x_i.u| + error_level_i max_k |z_k|``, where ``Gamma_ik.v = weighted_slope_i
    ((x_i.u + z_k) (delta_k.v) + z_k (x_i.v))``. ``|(Gamma_ik - Gamma_il).v|`` is at most ``product_row_i (|x_i.u| +
    |z_l|) + product_level_i |z_k - z_l|``. What all levels add on the average is part of the gradient's middle.
    """

    levels: Levels
    rows: Array
    generator_row: Array
    generator_level: Array
    """Shape (n, n_levels): rise and level of each level (lem-levels)."""
    weighted_slope: Array
    """Shape (n,): ``m_i h_i``."""
    product_row: Array
    product_level: Array
    """Shape (n,): what a product with v has along the row, and at the levels (lem-levels-product)."""
    error_row: Array
    error_level: Array
    crossing_level: Array
    """Shape (n,): what the levels do together with the row's other parts (lem-levels-gradient)."""
    middle: Array
    """Shape (n_features,): sum over the rows of the mean over the levels."""
    slack: Array
    force_slack: Array
    """Shape (n_features,): what is bounded coordinate by coordinate, in ``u.(g + r)`` and in g as a vector."""
    is_fast: bool = False
    """Whether products with v are bounded for all levels of a row together: twice as fast, and wider by 0 to 11 % where
    slopes are used without a mean value (adult, alpha from 1 to 0.2)."""

    def ends(self, U: Array, max_score_move: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Bound from above by how much ``u.(g + r)`` can be below, and above, its middle, for each row u.

        The level that is best to first order keeps its product with v, which is added up over all rows and bounded by
        `max_score_move`; others must make up for it (lem-levels-product).
        """
        along = self.levels.changes(U).T
        moves = bool(self.weighted_slope.any() or self.product_row.any() or self.product_level.any())
        sums, products = np.zeros((2, len(U))), np.zeros((2, *U.shape))
        for chunk in row_slices(len(self.rows), len(U), CACHED_NUMBERS):
            across = self.rows[chunk] @ U.T
            # The mean of all levels, which the gradient's middle has already.
            mean = self.generator_level[chunk] @ along * self.levels.center_value
            mean += across * self.generator_row[chunk].mean(axis=1, keepdims=True)
            sums += self.error_row[chunk] @ np.abs(across)
            if not moves:
                least, greatest = self._extremes(chunk, across, along)
                sums += np.array([(mean - least).sum(axis=0), (greatest - mean).sum(axis=0)])
                continue
            for side, sign in enumerate((-1.0, 1.0)):
                best = self._best(chunk, across, along, sign)
                excess = self._excess(chunk, across, along, best, sign)
                sums[side] += (best.value - sign * mean + excess).sum(axis=0)
                products[side] += self._products(chunk, across, best)
        error = np.abs(along).max(axis=0) * self.error_level.sum()
        totals = sum_upper(sums + error, len(self.rows) + len(self.levels.columns) + 8)
        if moves:
            totals = up(totals + np.array([max_score_move(vectors) for vectors in products]))
        return totals[0], totals[1]

    def _extremes(self, chunk: slice, across: Array, along: Array) -> tuple[Array, Array]:
        """Return the least and the greatest that a level adds to first order, for each row of a chunk and each u."""
        least, greatest = np.full_like(across, np.inf), np.full_like(across, -np.inf)
        value, other = np.empty_like(across), np.empty_like(across)
        for k, (rise, level) in enumerate(zip(self.generator_row[chunk].T, self.generator_level[chunk].T, strict=True)):
            np.multiply(across, rise[:, None], out=value)
            np.multiply(along[k], level[:, None], out=other)
            value += other
            np.minimum(least, value, out=least)
            np.maximum(greatest, value, out=greatest)
        return least, greatest

    def _best(self, chunk: slice, across: Array, along: Array, sign: float) -> _BestLevels:
        """Find the levels that add most to ``sign u.g`` to first order, for each row of a chunk and each u."""
        value, second = np.full_like(across, -np.inf), np.full_like(across, -np.inf)
        here, other = np.empty_like(across), np.empty_like(across)
        kind: type[np.signedinteger] = np.int8 if len(along) <= np.iinfo(np.int8).max else np.intp
        level, number = np.zeros(across.shape, dtype=kind), np.empty(across.shape, dtype=kind)
        for k, (rise, own) in enumerate(zip(self.generator_row[chunk].T, self.generator_level[chunk].T, strict=True)):
            np.multiply(across, sign * rise[:, None], out=here)
            np.multiply(along[k], sign * own[:, None], out=other)
            here += other
            # A later level has a larger number: the greatest is the last that was ahead.
            np.multiply((here > value).view(np.int8), kind(k), out=number)
            np.maximum(level, number, out=level)
            np.minimum(here, value, out=other)
            np.maximum(second, other, out=second)
            np.maximum(value, here, out=value)
        indices = level.astype(np.intp)
        return _BestLevels(value, second, indices, np.take_along_axis(along, indices, axis=0))

    def _excess(self, chunk: slice, across: Array, along: Array, best: _BestLevels, sign: float) -> Array:
        """Bound by how much a level other than the `best` can be ahead with its product with v (lem-levels-product).

        Most are so far behind that none can: they are not looked at level by level.
        """
        step = best.step
        product = (np.abs(across) + np.abs(step)) * self.product_row[chunk, None]
        farthest = np.maximum(along.max(axis=0) - step, step - along.min(axis=0))
        most = product + farthest * self.product_level[chunk, None]
        if self.is_fast:
            # No other level is better to first order than the second, or farther than the farthest.
            return np.asarray(np.maximum(most - (best.value - best.second), 0.0))
        excess = np.zeros_like(across)
        i, u = np.nonzero(~(most <= best.value - best.second))  # a NaN is looked at
        rows, along = i + chunk.start, along.T[u]
        ahead = across[i, u, None] * self.generator_row[rows] + along * self.generator_level[rows]
        ahead = sign * ahead - (best.value - product)[i, u, None]
        ahead += np.abs(along - step[i, u, None]) * self.product_level[rows, None]
        ahead[np.arange(len(u)), best.level[i, u]] = 0.0
        excess[i, u] = ahead.max(axis=1)
        return excess

    def _products(self, chunk: slice, across: Array, best: _BestLevels) -> Array:
        """Add up what the products of the best levels with v are the products of v with, for each u."""
        columns, slope, m = self.levels.columns, self.weighted_slope[chunk, None], across.shape[1]
        vectors = (best.step * slope).T @ self.rows[chunk]
        chosen = (across + best.step) * slope
        cells = best.level * m + np.arange(m)
        by_level = np.bincount(cells.ravel(), chosen.ravel(), minlength=len(columns) * m).reshape(len(columns), m)
        vectors[:, columns] += (by_level - self.levels.center_value * chosen.sum(axis=0)).T
        return np.asarray(vectors)

    def at_rest(self) -> ChoiceTerms:
        """Return the terms of ``u.g`` alone, without what depends on v."""
        error = up(self.error_row + self.crossing_level) * (1.0 + 8.0 * EPS)
        return replace(self.without_products(), error_level=error)

    def without_products(self) -> ChoiceTerms:
        """Return the terms without products with v: what they add is no bound, and never more than what these add."""
        nothing = np.zeros_like(self.weighted_slope)
        return replace(self, weighted_slope=nothing, product_row=nothing, product_level=nothing)

    def sizes(self) -> Array:
        """Bound in each coordinate what the levels can add to the gradient's middle."""
        most = np.zeros_like(self.rows)
        for deviation in self._deviations():
            np.maximum(most, np.abs(deviation), out=most)
        sizes = sum_upper(most.sum(axis=0), len(self.rows) + 2 * len(self.levels.columns) + 16)
        sizes[self.levels.columns] += sum_upper(self.crossing_level.sum(), len(self.rows))
        return up(sizes)

    def norm_upper(self, matrix: Array, inverse: Array) -> float:
        """Bound ``sqrt(z.M^-1 z)`` over all z that levels can add to the gradient's middle."""
        form = np.zeros_like(matrix)
        size = self._weights(inverse)
        for deviation in self._deviations():
            scaled = deviation * np.sqrt(size.sum() / size)[:, None]
            form += scaled.T @ scaled
        form = rounded_up(form, len(self.rows) + 2 * len(self.levels.columns) + 16)
        norm = up(np.sqrt(greatest_ratio_upper(form, matrix)))
        # With the row's other parts: any multiple of one delta_l up to `crossing_level`.
        along = self.levels.changes(np.eye(len(matrix))).T
        form = rounded_up(along.T @ along, 2 * len(self.levels.columns) + 16)
        crossed = sum_upper(self.crossing_level.sum(), len(self.rows))
        return float(up(norm + up(crossed * up(np.sqrt(greatest_ratio_upper(form, matrix))))))

    def form(self, inverse: Array) -> Array:
        """Return S with ``sqrt(u.S u)`` at least what the levels can add on either side, remainders included."""
        size = self._weights(inverse)
        factor = np.sqrt(size.sum() / size)
        form = np.zeros_like(inverse)
        for deviation in self._deviations():
            scaled = deviation * (np.sqrt(2.0) * factor)[:, None]
            form += scaled.T @ scaled
        scaled = self.rows * (2.0 * factor * (self.product_row + self.error_row))[:, None]
        form += scaled.T @ scaled
        along = self.levels.changes(np.eye(len(inverse))).T
        at_levels = self.product_row + self.product_level + self.error_level
        form += ((2.0 * factor * at_levels) ** 2).sum() * (along.T @ along)
        return rounded_up(form, len(self.rows) + 2 * len(self.levels.columns) + 30)

    def _deviations(self) -> Iterator[Array]:
        """Yield for each level what it adds beyond the mean of all, for each row (sec-level-forms)."""
        row_mean, share = self.generator_row.mean(axis=1), self.levels.center_value
        mean = share * (self.generator_level - self.generator_level.mean(axis=1, keepdims=True))
        for k, column in enumerate(self.levels.columns):
            deviation = self.rows * (self.generator_row[:, k] - row_mean)[:, None]
            deviation[:, self.levels.columns] -= mean + share * self.generator_level[:, [k]]
            deviation[:, column] += self.generator_level[:, k]
            yield deviation

    def _weights(self, inverse: Array) -> Array:
        """Choose a positive weight for each row: the size of its term in a typical direction."""
        squares = np.zeros(len(self.rows))
        for deviation in self._deviations():
            squares = np.maximum(squares, np.einsum("ij,ij->i", deviation @ inverse, deviation))
        across = np.sqrt(np.maximum(np.einsum("ij,ij->i", self.rows @ inverse, self.rows), 0.0))
        own = np.sqrt(np.maximum(np.diag(inverse)[self.levels.columns].max(), 0.0))
        size = np.sqrt(squares) + (self.product_row + self.error_row) * across
        return positive_weights(size + (self.product_level + self.error_level) * own)


def choice_terms(
    incomplete: IncompleteRows, loss: Loss, w: Array, move_limits: Array, line_error: Array, crossing: Array
) -> tuple[ChoiceTerms, ...]:
    """Return what missing categories add (lem-levels), category by category.

    Parameters
    ----------
    incomplete : IncompleteRows
    loss : Loss
    w, move_limits : arrays of shape (n_features,)
    line_error : array of shape (n_rows,)
        ``slope_radius_i (row_move_i + cell_move_i) + derivative_radius_i``: how far derivatives can be from lines.
    crossing : array of shape (n_rows,)
        ``h^+ p^`` (lem-levels-gradient), 0 for rows with one part.
    """
    terms = []
    for number, levels in enumerate(incomplete.categories):
        rows = incomplete.choices.rows[incomplete.choices.categories == number]
        if len(rows):
            terms.append(_terms_of(incomplete, rows, levels, loss, w, move_limits, line_error[rows], crossing[rows]))
    return tuple(terms)


def _terms_of(
    incomplete: IncompleteRows,
    rows: Indices,
    levels: Levels,
    loss: Loss,
    w: Array,
    move_limits: Array,
    line_error: Array,
    crossing: Array,
) -> ChoiceTerms:
    """Return the terms of one category, missing in these rows."""
    X, m, d = incomplete.center[rows], incomplete.weight[rows], len(w)
    generator_row, generator_level, error_row = _level_generators(incomplete, rows, levels, loss, w)
    weighted_slope = m * incomplete.lines.slope[rows]
    largest_move = 2.0 * move_limits[levels.columns].max()
    product_row = up(weighted_slope * largest_move) * (1.0 + 8.0 * EPS)
    product_level = up(weighted_slope * up(incomplete.lines.row_move[rows] + largest_move)) * (1.0 + 8.0 * EPS)
    crossing_level = up(m * crossing)
    # The product of the choice with itself is part of N.
    own_move = (move_limits[levels.columns].max() + move_limits[levels.columns].mean()) * (1.0 - 4.0 * d * EPS)
    other_parts = up(incomplete.lines.slope[rows] * np.maximum(up(incomplete.lines.cell_move[rows] - own_move), 0.0))
    error_level = up(up(error_row + up(m * up(other_parts + line_error))) + crossing_level) * (1.0 + 16.0 * EPS)
    middle = generator_row.mean(axis=1) @ X
    beyond_mean = generator_level - generator_level.mean(axis=1, keepdims=True)
    middle[levels.columns] += levels.center_value * beyond_mean.sum(axis=0)
    # Rounding of the products with U and of the middle.
    roundings = incomplete.roundings
    sizes = sum_upper((np.abs(generator_row).max(axis=1) + product_row + error_row) @ np.abs(X), roundings)
    own = np.abs(generator_level).max(axis=1) + product_row + product_level + error_level
    own = own + weighted_slope * (np.abs(X) @ move_limits)
    at_levels, error_levels = np.zeros(d), np.zeros(d)
    at_levels[levels.columns] = 2.0 * sum_upper(own.sum(), roundings)
    slack = sum_error(8.0 * (sizes + at_levels), roundings + 6 * d + len(levels.columns))
    error_levels[levels.columns] = sum_upper(error_row.sum(), roundings)
    return ChoiceTerms(
        levels=levels,
        rows=X,
        generator_row=generator_row,
        generator_level=generator_level,
        weighted_slope=weighted_slope,
        product_row=product_row,
        product_level=product_level,
        error_row=error_row,
        error_level=error_level,
        crossing_level=up(crossing_level + up(m * incomplete.lines.derivative_radius[rows])),
        middle=middle,
        slack=slack,
        force_slack=up(up(slack + sum_upper(error_row @ np.abs(X), roundings)) + error_levels),
    )


def _level_generators(
    incomplete: IncompleteRows, rows: Indices, levels: Levels, loss: Loss, w: Array
) -> tuple[Array, Array, Array]:
    """Return rise and level of each row and level (lem-levels), and how far they can be off in a row (fp-levels)."""
    y, m, fixed = incomplete.y[rows], incomplete.weight[rows], incomplete.lines.fixed_derivative[rows]
    score_lower, score_upper = incomplete.lines.score_lower[rows], incomplete.lines.score_upper[rows]
    change = levels.changes(w)
    change_error = sum_error(np.abs(w[levels.columns]) + np.abs(w[levels.columns]).mean(), len(change) + 3)
    lowest = down(score_lower[:, None] + down(change - change_error))
    highest = up(score_upper[:, None] + up(change + change_error))
    at_center, center_error = midpoint_and_radius(*loss.derivative_range(y, score_lower, score_upper))
    at_level, level_error = midpoint_and_radius(*loss.derivative_range(y[:, None], lowest, highest))
    is_fixed = ~np.isnan(fixed)
    at_center = np.where(is_fixed, fixed, at_center)
    at_level = np.where(is_fixed[:, None], fixed[:, None], at_level)
    error = np.where(is_fixed, 0.0, center_error + level_error.max(axis=1))
    error = m * (2.0 * error + 32.0 * EPS * (np.abs(at_center) + np.abs(at_level).max(axis=1)))
    return m[:, None] * (at_level - at_center[:, None]), m[:, None] * at_level, error
