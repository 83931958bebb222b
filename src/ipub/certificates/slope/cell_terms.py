"""The uncertain cells: what each adds to the gradient, to the Hessian and to their remainders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, eigh

from ipub.certificates.slope.categories import ChoiceTerms
from ipub.data.interval_matrix import Indices
from ipub.data.missing_category import Levels, MissingCategories
from ipub.engine.ops import weighted_gram
from ipub.linalg import greatest_ratio_upper, positive_weights, rounded_up
from ipub.losses import Loss
from ipub.rounding import EPS, TINY, Array, down, midpoint_and_radius, sum_error, sum_upper, up

WEIGHT_ROUNDS = 3
"""How often the weights of the generators are improved."""

LEADING = 0.6
"""Directions count as bad from this share of the worst."""

WEIGHT_STEP = 0.3
"""How far, each time."""

Leverages = tuple[Array, Array]
"""``inverse x`` and ``x.inverse x`` for each row x."""

Prices = tuple[Array, Array]
"""An inverse, and the second of its `Leverages`: what prices are chosen by."""


@dataclass(frozen=True)
class IncompleteRows:
    """The rows with uncertain cells, with what is known of their scores and derivatives."""

    center: Array
    y: Array
    weight: Array
    """Weights over the total weight, with two roundings."""
    score_lower: Array
    score_upper: Array
    """Bounds of the score of the center under w'."""
    lower: Array
    upper: Array
    """Bounds of the score of every completion under w'."""
    least: Array
    most: Array
    """Bounds of the slope of the derivative between scores of w' and of w''."""
    slope: Array
    looseness: Array
    """h and kappa: h lies within kappa of every such slope."""
    fixed: Array
    """The derivative c of a row at a jump, NaN for others."""
    loose: Array
    """How far its derivative may be off: e."""
    row_move: Array
    """Bounds of ``|x_i.v|``."""
    cell_move: Array
    """Bounds of ``|d_i.v|``."""
    cell_counts: Indices
    """Number of uncertain cells of each row."""
    cell_columns: Indices
    cell_radii: Array
    choice_counts: Indices
    """Number of missing categories of each row."""
    choice_categories: Indices
    categories: tuple[Levels, ...]

    @cached_property
    def choices(self) -> MissingCategories:
        """The missing categories."""
        rows = np.repeat(np.arange(len(self.y)), self.choice_counts)
        return MissingCategories(rows, self.choice_categories, self.categories)

    @cached_property
    def sizes(self) -> Array:
        """Absolute values of the center."""
        return np.abs(self.center)

    @cached_property
    def cell_rows(self) -> Indices:
        """Row of each uncertain cell."""
        return np.repeat(np.arange(len(self.y)), self.cell_counts)

    def column_sums(self, values: Array) -> Array:
        """Bound from above, for each column, the sum of non-negative values of its cells."""
        sums = np.bincount(self.cell_columns, values, minlength=self.center.shape[1])
        return sum_upper(sums.astype(float, copy=False), self.roundings)

    def row_sums(self, values: Array) -> Array:
        """Bound from above, for each row, the sum of non-negative values of its cells."""
        sums = np.bincount(self.cell_rows, values, minlength=len(self.y))
        return sum_upper(sums.astype(float, copy=False), self.roundings)

    def choice_sums(self, values: Array) -> Array:
        """Bound from above, for each row, the sum of non-negative values of its missing categories."""
        sums = np.bincount(self.choices.rows, values, minlength=len(self.y))
        return sum_upper(sums.astype(float, copy=False), self.roundings)

    def coordinate_sums(self, *pairs: tuple[Array, Array]) -> Array:
        """Bound ``sum_k rows_k |x_i| + cells_k e_j`` over the cells, for pairs (rows, cells) of non-negative values."""
        rows = np.array([np.bincount(self.cell_rows, values, minlength=len(self.y)) for values, _ in pairs])
        columns = np.array([self.column_sums(values) for _, values in pairs])
        return up(sum_upper(sum_upper(rows, self.roundings) @ self.sizes, self.roundings) + columns)

    def leverages(self, inverse: Array) -> Leverages:
        """Return ``inverse x`` and ``x.inverse x`` for each row."""
        seen = self.center @ inverse
        return seen, np.einsum("ij,ij->i", seen, self.center)

    def signed_sums(self, rows: Array, cells: Array) -> Array:
        """Return ``sum_k rows_k x_i + cells_k e_j`` over the cells."""
        across = np.bincount(self.cell_rows, rows, minlength=len(self.y))
        return np.asarray(across @ self.center + self.signed_column_sums(cells))

    def signed_column_sums(self, values: Array) -> Array:
        """Return, for each column, the sum of values of its cells."""
        return np.asarray(np.bincount(self.cell_columns, values, minlength=self.center.shape[1]), dtype=float)

    def form(self, values: Array) -> Array:
        """Return ``sum_i values_i x_i x_i^T``."""
        return weighted_gram(self.center, values)

    @property
    def roundings(self) -> int:
        """Of a sum over cells or rows, with what is multiplied in each term."""
        return len(self.cell_columns) + len(self.choice_categories) + len(self.y) + 20

    def hessian_loss(self, known: Prices | None) -> tuple[Array, Array, Array]:
        """Return what uncertain cells can take from the Hessian (Lemma 4): a form, a diagonal, a size for rounding."""
        m, R, j = self.weight, self.cell_radii, self.cell_columns
        price = self._prices(known)
        share = up(self.row_sums(R * price[j]) + self.choice_sums(self.choices.reach(price)))
        kept = self.least > 2.0 * self.most * share
        row_least = np.where(kept, down(self.least - up(self.most * share)), 0.0)
        lost = np.maximum(up(m * up(up(self.slope - self.looseness) - row_least)), 0.0)
        paid = np.where(kept, m * self.most, 0.0)
        levels = self.choices.column_sums(paid[self.choices.rows], len(price)) / price
        cells = up(self.column_sums(paid[self.cell_rows] * R / price[j]) + sum_upper(levels, self.roundings))
        form = self.form(lost)
        return form, cells, np.diag(form)

    def hessian_gain(self, metric: Array) -> tuple[Array, Array, Array]:
        """Return what they can add to it (Lemma 4), in the same way."""
        m, R, j = self.weight, self.cell_radii, self.cell_columns
        price = self._prices(self.prices_of(metric))
        share = up(self.row_sums(R * price[j]) + self.choice_sums(self.choices.reach(price)))
        gained = np.maximum(up(m * up(up(self.most * up(1.0 + share)) - down(self.slope + self.looseness))), 0.0)
        paid = m * self.most * (1.0 + share)
        levels = self.choices.column_sums(paid[self.choices.rows], len(price)) / price
        cells = up(self.column_sums(paid[self.cell_rows] * R / price[j]) + sum_upper(levels, self.roundings))
        form = self.form(gained)
        return form, cells, np.diag(form)

    def prices_of(self, metric: Array) -> Prices | None:
        """Return what prices are chosen by in a metric, if it has an inverse."""
        try:
            inverse = np.asarray(np.linalg.pinv(metric, hermitian=True), dtype=float)
        except np.linalg.LinAlgError:
            return None
        return inverse, self.leverages(inverse)[1]

    def _prices(self, known: Prices | None) -> Array:
        """Choose for each column how a cross term is shared between row and cell; any positive numbers are valid.

        The best share balances both in the metric of the Hessian: the square root of (H^-1)_jj over the mean
        leverage of the rows with a hole in the column.
        """
        d = self.center.shape[1]
        if known is None:
            return np.ones(d)
        inverse, leverage = known
        cells, levels = self.weight[self.cell_rows] * self.cell_radii, self.weight[self.choices.rows]
        weighted, plain = self.column_sums(cells * leverage[self.cell_rows]), self.column_sums(cells)
        weighted = weighted + self.choices.column_sums(levels * leverage[self.choices.rows], d)
        plain = plain + self.choices.column_sums(levels, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.sqrt(np.diag(inverse) * plain / weighted)
        return np.clip(np.where(np.isfinite(price), price, 1.0), 1e-140, 1e140)


@dataclass(frozen=True)
class CellTerms:
    """The terms of Theorem 6 that come from uncertain cells."""

    some: IncompleteRows
    rise: Array
    level: Array
    """``G = rise x + level e_j``: half the difference that the two ends of a cell make to the gradient."""
    shift: Array
    """By how much the ends of all cells move the middle of the gradient."""
    slack: Array
    """Everything that is bounded coordinate by coordinate."""
    gradient_slack: Array
    """The same for ``u.g`` alone."""
    force_shift: Array
    force_slack: Array
    """For the gradient as a vector: everything but the generators."""
    crossing: Array
    """Form of what cells of one row do to each other through the bend of the derivative."""
    pull_row: Array
    pull_cell: Array
    bend_row: Array
    bend_cell: Array
    curved: Array
    """``m_i h_i`` of each row."""
    products: Array
    """What the rounding of sums of generators and pulls is relative to, coordinate by coordinate."""
    choices: tuple[ChoiceTerms, ...]
    crossing_sum: float
    crossing_form: Array
    """What `crossing` is the product of."""

    @cached_property
    def generators(self) -> Array:
        """G, one by one."""
        some = self.some
        generators = some.center[some.cell_rows] * self.rise[:, None]
        generators[np.arange(len(generators)), some.cell_columns] += self.level
        return generators

    @classmethod
    def of(cls, some: IncompleteRows, loss: Loss, w: Array, farthest: Array) -> CellTerms:
        """Compute them all (Lemmas 6 and 7)."""
        i, j, R, m, y = some.cell_rows, some.cell_columns, some.cell_radii, some.weight, some.y
        at_jump = ~np.isnan(some.fixed)
        weight = m[i]
        # --- the derivative at the ends of each cell, the row's other cells at their centers -----------------
        q = R * w[j]
        lower, upper = some.score_lower[i], some.score_upper[i]
        above, above_doubt = _derivative(some, loss, i, down(lower + down(q)), up(upper + up(q)))
        below, below_doubt = _derivative(some, loss, i, down(lower - up(q)), up(upper - down(q)))
        all_rows = np.arange(len(y))
        here, here_doubt = (part[i] for part in _derivative(some, loss, all_rows, some.score_lower, some.score_upper))
        rise, level = 0.5 * above - 0.5 * below, 0.5 * above + 0.5 * below
        generator_rise, generator_level = weight * rise, weight * level * R
        shifted, risen = weight * (level - here), generator_rise * R
        shift = some.signed_sums(shifted, risen)
        doubt = above_doubt + below_doubt + here_doubt + 32.0 * EPS * (np.abs(above) + np.abs(below) + np.abs(here))
        doubt = 2.0 * weight * doubt
        risen_size = np.abs(risen)
        numeric, shift_size = some.coordinate_sums((doubt, doubt * R), (np.abs(shifted), risen_size))
        numeric = up(numeric + sum_error(shift_size, some.roundings))
        # --- Lemma 6: the bend of one cell's term, and the crossing of several in one row -------------------
        flattest, steepest = loss.curvature_range(y, some.lower, some.upper)
        flattest, steepest = np.where(at_jump, 0.0, flattest), np.where(at_jump, 0.0, steepest)
        bending, reach = up(steepest - flattest), up(np.abs(q))
        row_reach = up(some.row_sums(reach) + some.choice_sums(up(some.choices.spread(w))))
        several = some.cell_counts + some.choice_counts > 1
        crossing = up(m * np.where(several, up(bending * row_reach), 0.0))
        crossing_cells = np.where(several[i], weight * R * steepest[i] * (row_reach[i] - reach), 0.0)
        bend_row = up(weight * up(reach * bending[i]))
        bend_cell = up(weight * up(up(reach * R) * up(3.0 * steepest - flattest)[i]))
        # --- Lemma 7: products of a cell with v, and what the lines leave open in rows with cells -----------
        curved = up(m * some.slope)
        pull_row, pull_cell = up(R * up(curved[i] * farthest[j])), up(R * up(curved[i] * some.row_move[i]))
        open_ = some.slope * some.cell_move + some.looseness * (some.row_move + some.cell_move) + some.loose
        slack = up(numeric + some.column_sums(crossing_cells + (m * open_)[i] * R))
        # For the gradient alone: a cell's bend is (1 - D^2) times a vector, half of which is known (Lemma 6).
        force_shift = shift - 0.5 * some.signed_column_sums(risen)
        bent = 0.5 * risen_size + 0.5 * bend_row * R + doubt * R + (m * some.loose)[i] * R
        # Rounding of the products in `SlopeBounds`, with generators, rows, and pulls of whole groups.
        seen = some.sizes @ farthest
        along = 6.0 * pull_row + 4.0 * bend_row + 4.0 * np.abs(generator_rise)
        across = (curved * seen)[i] * R + pull_cell + bend_cell + 4.0 * np.abs(generator_level)
        products, bends = some.coordinate_sums((along, across), (0.5 * bend_row, crossing_cells + bent))
        rounding = sum_error(products, some.roundings + 6 * len(w))
        slack = up(slack + rounding)
        gradient_slack = up(up(numeric + some.column_sums(crossing_cells)) + rounding)
        force_slack = up(up(numeric + bends) + sum_upper(crossing @ some.sizes, some.roundings))
        force_slack = up(force_slack + sum_error(shift_size, some.roundings))
        crossing_form = some.form(crossing)
        # --- missing categories ---------------------------------------------------------------------------
        crossing_choices = np.where(several, steepest * row_reach, 0.0)
        unlike = some.looseness * (some.row_move + some.cell_move) + some.loose
        choices = _choice_terms(some, loss, w, farthest, unlike, crossing_choices)
        for each in choices:
            slack, force_slack = up(slack + each.slack), up(force_slack + each.force_slack)
            gradient_slack = up(gradient_slack + each.slack)
        return cls(
            some,
            generator_rise,
            generator_level,
            shift,
            slack,
            gradient_slack,
            force_shift,
            force_slack,
            rounded_up(float(sum_upper(crossing.sum(), some.roundings)) * crossing_form, some.roundings),
            pull_row,
            pull_cell,
            bend_row,
            bend_cell,
            m * some.slope,
            products,
            choices,
            float(crossing.sum()),
            crossing_form,
        )

    def hessian_loss(self, metric: Array) -> tuple[Array, Array, Array]:
        """Return what uncertain cells can take from the Hessian (Lemma 4): a form, a diagonal, a size for rounding."""
        return self.some.hessian_loss(self.some.prices_of(metric))

    @property
    def middle(self) -> Array:
        """By how much the levels of missing categories move the middle of the gradient."""
        return sum((each.middle for each in self.choices), np.zeros(self.some.center.shape[1]))

    def zonotope_upper(self, matrix: Array, box: Array, more: Array | None = None) -> float:
        """Bound ``sqrt(z.M^-1 z)`` over all ``z = sum_k D_k G_k`` plus a vector in a box, with abs(D_k) <= 1.

        Plus what missing categories can add to their middle, and `more` generators.

        ``z z^T <= (sum_k o_k) sum_k G_k G_k^T / o_k = Q`` for any positive weights o, and ``z.M^-1 z <= mu`` where
        ``mu M - Q >= 0``. The weights are made larger, step by step, where the worst direction meets large generators.
        """
        inverse = np.asarray(np.linalg.pinv(matrix, hermitian=True), dtype=float)
        chosen = sum(each.norm_upper(matrix, inverse) for each in self.choices) * (1.0 + 16.0 * EPS)
        sides = np.flatnonzero(box)
        others = np.diag(box)[sides] if more is None else np.concatenate([np.diag(box)[sides], more])
        G = np.concatenate([self.generators, others])
        if len(G) == 0:
            return chosen
        sizes = np.sqrt(np.maximum(np.einsum("ij,ij->i", others @ inverse, others), 0.0))
        weights = np.concatenate([self.own_size(inverse), sizes])
        weights = positive_weights(weights)
        best, best_ratio = None, np.inf
        for _ in range(WEIGHT_ROUNDS):
            weights = weights / weights.sum()
            form = (G / weights[:, None]).T @ G
            try:
                values, vectors = eigh(form, matrix)
            except (LinAlgError, ValueError):
                return np.inf
            if values[-1] < best_ratio:
                best, best_ratio = form, values[-1]
            worst = np.maximum(values / max(values[-1], TINY) - LEADING, 0.0)
            seen = np.sqrt((G @ vectors) ** 2 @ worst)
            weights = positive_weights((1.0 - WEIGHT_STEP) * weights + WEIGHT_STEP * seen / seen.sum())
        if best is None:  # every ratio overflowed
            return np.inf
        form = rounded_up(best, len(G) + self.some.roundings + len(matrix))
        return float(up(up(np.sqrt(greatest_ratio_upper(form, matrix))) + chosen))

    def squares(self, inverse: Array, known: Leverages) -> Array:
        """Return about ``G.inverse G`` for each cell."""
        i, j, (seen, leverage) = self.some.cell_rows, self.some.cell_columns, known
        square = self.rise * (self.rise * leverage[i] + 2.0 * self.level * seen[i, j])
        return np.maximum(square + self.level**2 * np.diag(inverse)[j], 0.0)

    def own_size(self, inverse: Array, known: Leverages | None = None) -> Array:
        """Choose a positive weight for each cell: the size of its term in a typical direction."""
        known = self.some.leverages(inverse) if known is None else known
        i, j = self.some.cell_rows, self.some.cell_columns
        own = np.sqrt(np.maximum(np.diag(inverse), 0.0))[j]
        across = np.sqrt(np.maximum(known[1], 0.0))[i]
        size = own * np.abs(self.some.center[i, j] * self.rise + self.level)
        size += 0.1 * np.sqrt(self.squares(inverse, known))
        size += own * (self.pull_cell + self.bend_cell) + across * (self.pull_row + self.bend_row)
        return positive_weights(size)

    def least_half(self, U: Array) -> Array:
        """Return about how much the cells move ``u.g`` to first order alone, for each row u."""
        return np.asarray(np.abs(U @ self.generators.T).sum(axis=1))

    def shares(self, inverse: Array, known: Leverages | None = None, size: Array | None = None) -> Array:
        """Choose for each column how much of its form goes to what depends on the move (Lemma 8)."""
        some, d = self.some, len(inverse)
        known = some.leverages(inverse) if known is None else known
        size = self.own_size(inverse, known) if size is None else size
        own, leverage = np.diag(inverse)[some.cell_columns], known[1][some.cell_rows]
        moving = (leverage * self.pull_row**2 + own * self.pull_cell**2) / size
        fixed = self.squares(inverse, known) / size
        sums = (np.bincount(some.cell_columns, part, minlength=d) for part in (moving, fixed))
        return np.array([best_share(*pair) for pair in zip(*sums, strict=True)])


def _derivative(some: IncompleteRows, loss: Loss, i: Indices, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return c and e: the derivatives of rows i, at scores in short intervals, are within e of c; chosen at a jump."""
    middle, half = loss.derivative_midpoint_and_radius(some.y[i], lower, upper)
    fixed = some.fixed[i]
    at_jump = ~np.isnan(fixed)
    return (np.where(at_jump, fixed, middle), np.where(at_jump, 0.0, half)) if at_jump.any() else (middle, half)


def _choice_terms(
    some: IncompleteRows, loss: Loss, w: Array, farthest: Array, open_: Array, crossing: Array
) -> tuple[ChoiceTerms, ...]:
    """Compute what missing categories add (Lemma 11), category by category."""
    terms, d = [], len(w)
    for number, levels in enumerate(some.categories):
        i = some.choices.rows[some.choices.categories == number]
        if len(i) == 0:
            continue
        X, m, y, fixed = some.center[i], some.weight[i], some.y[i], some.fixed[i]
        shift = levels.changes(w)
        wrong = sum_error(np.abs(w[levels.columns]) + np.abs(w[levels.columns]).mean(), len(shift) + 3)
        lowest = down(some.score_lower[i, None] + down(shift - wrong))
        highest = up(some.score_upper[i, None] + up(shift + wrong))
        ranges = (
            loss.derivative_range(y, some.score_lower[i], some.score_upper[i]),
            loss.derivative_range(y[:, None], lowest, highest),
        )
        (here, here_doubt), (there, there_doubt) = (midpoint_and_radius(*ends) for ends in ranges)
        is_fixed = ~np.isnan(fixed)
        here, there = np.where(is_fixed, fixed, here), np.where(is_fixed[:, None], fixed[:, None], there)
        doubt = np.where(is_fixed, 0.0, here_doubt + there_doubt.max(axis=1))
        rise, level = m[:, None] * (there - here[:, None]), m[:, None] * there
        off = m * (2.0 * doubt + 32.0 * EPS * (np.abs(here) + np.abs(there).max(axis=1)))
        curved, seen = m * some.slope[i], np.abs(X) @ farthest
        farther = 2.0 * farthest[levels.columns].max()
        pull_row = up(curved * farther) * (1.0 + 8.0 * EPS)
        pull_level = up(curved * up(some.row_move[i] + farther)) * (1.0 + 8.0 * EPS)
        crossed = up(m * crossing[i])
        # The product of the choice with itself is part of N.
        own_move = (farthest[levels.columns].max() + farthest[levels.columns].mean()) * (1.0 - 4.0 * d * EPS)
        others = up(some.slope[i] * np.maximum(up(some.cell_move[i] - own_move), 0.0))
        loose_level = up(up(off + up(m * up(others + open_[i]))) + crossed) * (1.0 + 16.0 * EPS)
        middle = rise.mean(axis=1) @ X
        middle[levels.columns] += levels.share * (level - level.mean(axis=1, keepdims=True)).sum(axis=0)
        # Rounding of the products with U and of the middle.
        sizes = sum_upper((np.abs(rise).max(axis=1) + pull_row + off) @ np.abs(X), some.roundings)
        at_levels = np.zeros(d)
        own = np.abs(level).max(axis=1) + pull_row + pull_level + loose_level + curved * seen
        at_levels[levels.columns] = 2.0 * sum_upper(own.sum(), some.roundings)
        slack = sum_error(8.0 * (sizes + at_levels), some.roundings + 6 * d + len(levels.columns))
        vector = np.zeros(d)
        vector[levels.columns] = sum_upper(off.sum(), some.roundings)
        force_slack = up(up(slack + sum_upper(off @ np.abs(X), some.roundings)) + vector)
        pulls = curved, pull_row, pull_level, off, loose_level, up(crossed + up(m * some.loose[i]))
        terms.append(ChoiceTerms(levels, X, rise, level, *pulls, middle, slack, force_slack))
    return tuple(terms)


def best_share(moving: float, fixed: float) -> float:
    """Choose how to share a form between what depends on the move and what does not; any positive number is valid."""
    share = np.sqrt(2.0 * moving / fixed) if fixed > 0.0 and moving > 0.0 else 1.0
    return float(np.clip(np.nan_to_num(share, nan=1.0), 1e-6, 1.0))
