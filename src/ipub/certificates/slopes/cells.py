"""What an uncertain cell adds to the gradient (lem-cell-gradient) and to products with the move (lem-cell-product)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.categories import ChoiceTerms, choice_terms
from ipub.certificates.slopes.cell_coefficients import CellCoefficients, TuningChoices
from ipub.certificates.slopes.cell_groups import CellTable, ColumnGroups
from ipub.certificates.slopes.column_bounds import sorted_cells, with_column_forms
from ipub.certificates.slopes.hessian import HessianChange, hessian_loss
from ipub.certificates.slopes.incomplete_rows import IncompleteRows, choose_prices, price_sums
from ipub.losses import Loss
from ipub.numeric.linalg import form_norm_upper, rough_inverse, rounded_up, zonotope_norm_upper
from ipub.numeric.rounding import EPS, Array, down, sum_error, sum_upper, up
from ipub.tables.interval_matrix import Indices


@dataclass(frozen=True)
class CellTerms(CellCoefficients):
    """The terms of thm-slopes that come from uncertain cells, one by one."""

    shift: Array
    """By how much the ends of all cells move the middle of the gradient."""
    slack: Array
    """Everything that is bounded coordinate by coordinate."""
    gradient_slack: Array
    """The same for ``u.g`` alone."""
    force_shift: Array
    force_slack: Array
    """For the gradient as a vector: everything but the generators."""
    product_sizes: Array
    """What the rounding of sums of generators and products is relative to, coordinate by coordinate."""
    crossing_sum: float
    crossing_form: Array
    """``sum_i w_i`` and ``sum_i w_i x_i x_i^T``, ``w_i |x_i.u|`` cross terms of a row's cells (lem-cell-gradient)."""
    crossing: Array
    """Their product, from above: cross terms (lem-cell-gradient) are at most ``sqrt(u.crossing u)`` along the rows."""
    choices: tuple[ChoiceTerms, ...]

    @property
    def n_rows(self) -> int:
        """How many rows have an uncertain cell or a missing category."""
        return len(self.incomplete.y)

    @property
    def n_crossing_rows(self) -> int:
        """How many rows `crossing` is a sum over."""
        return int(np.count_nonzero(self.incomplete.has_several_parts))

    @property
    def middle(self) -> Array:
        """By how much the levels of missing categories move the middle of the gradient."""
        return sum((terms.middle for terms in self.choices), np.zeros(self.incomplete.center.shape[1]))

    def hessian_loss(self, curvature: Array) -> HessianChange:
        """Return what uncertain cells can take from the Hessian (lem-hessian)."""
        return hessian_loss(self.incomplete, choose_prices(self.incomplete, curvature))

    def zonotope_upper(
        self, matrix: Array, box: Array, jump_rows: Array | None = None, jump_form: Array | None = None
    ) -> float:
        """Bound ``sqrt(z.M^-1 z)`` over all ``z = sum_k xi_k G_k`` plus a vector in a box, with abs(xi_k) <= 1.

        Plus what missing categories can add to their middle, and rows at a jump: one by one, or all in one form.
        """
        inverse = rough_inverse(matrix, pseudo=True)
        others = sum(terms.norm_upper(matrix, inverse) for terms in self.choices) * (1.0 + 16.0 * EPS)
        if jump_form is not None:
            others = up(others + form_norm_upper(jump_form, matrix))
        sides = np.flatnonzero(box)
        added = np.diag(box)[sides] if jump_rows is None else np.concatenate([np.diag(box)[sides], jump_rows])
        generators = np.concatenate([self.generators, added])
        if len(generators) == 0:
            return others
        sizes = np.sqrt(np.maximum(np.einsum("ij,ij->i", added @ inverse, added), 0.0))
        weights = np.concatenate([self.weights(inverse), sizes])
        return float(up(zonotope_norm_upper(generators, weights, matrix, self.incomplete.roundings) + others))

    def first_order_half_width(self, U: Array) -> Array:
        """Return about how much the cells move ``u.g`` to first order alone, for each row u."""
        return np.asarray(np.abs(U @ self.generators.T).sum(axis=1))

    def groups(self, inverse: Array, *, with_forms: bool) -> tuple[ColumnGroups, CellTable | None]:
        """Return the cells of each column together, `with_forms` as forms too (lem-column-form), and one by one."""
        groups, cells = sorted_cells(self)
        return (with_column_forms(groups, self, inverse) if with_forms else groups), cells

    def gradient_sizes(self) -> tuple[Array, Array] | None:
        """Return `gradient_slack`, and what the generators add up to coordinate by coordinate."""
        return self.gradient_slack, sum_upper(np.abs(self.generators).sum(axis=0), self.incomplete.roundings)

    def tuning_for_sums(self, inverse: Array) -> TuningChoices:
        """Return the choices that this suggests for a similar problem whose cells are summed."""
        leverages = self.incomplete.leverages(inverse)
        prices = price_sums(self.incomplete, leverages.squares).prices(inverse)
        return TuningChoices(inverse, self.moving_shares(inverse, leverages), prices)


class Generators(NamedTuple):
    """The first order of lem-cell-gradient: what the ends of each cell add, the row's other cells at their centers."""

    row: Array
    cell: Array
    """``G_k = row_k x_i + cell_k e_j``."""
    row_shift: Array
    cell_shift: Array
    """Both ends together move the middle of g by ``row_shift_k x_i + cell_shift_k e_j``."""
    error: Array
    """How far the derivatives at the ends, times the row's weight, can be off (fp-slopes)."""


def cell_generators(incomplete: IncompleteRows, loss: Loss, w: Array) -> Generators:
    """Return the generator of each cell, and what both its ends add to the middle of g (lem-cell-gradient)."""
    i, R = incomplete.cell_rows, incomplete.cell_radii
    weight, q = incomplete.weight[i], R * w[incomplete.cell_columns]
    lower, upper = incomplete.lines.score_lower[i], incomplete.lines.score_upper[i]
    above, above_error = _derivative(incomplete, loss, i, down(lower + down(q)), up(upper + up(q)))
    below, below_error = _derivative(incomplete, loss, i, down(lower - up(q)), up(upper - down(q)))
    each_row = np.arange(len(incomplete.y), like=incomplete.y)
    at_centers = _derivative(incomplete, loss, each_row, incomplete.lines.score_lower, incomplete.lines.score_upper)
    center, center_error = (part[i] for part in at_centers)
    rise, level = 0.5 * above - 0.5 * below, 0.5 * above + 0.5 * below
    error = above_error + below_error + center_error
    error = error + 32.0 * EPS * (np.abs(above) + np.abs(below) + np.abs(center))
    return Generators(
        row=weight * rise,
        cell=weight * level * R,
        row_shift=weight * (level - center),
        cell_shift=weight * rise * R,
        error=2.0 * weight * error,
    )


def _derivative(incomplete: IncompleteRows, loss: Loss, i: Indices, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return c and e: the derivatives of rows i, at scores in short intervals, are within e of c; chosen at a jump."""
    middle, half = loss.derivative_midpoint_and_radius(incomplete.y[i], lower, upper)
    fixed = incomplete.lines.fixed_derivative[i]
    at_jump = ~np.isnan(fixed)
    return (np.where(at_jump, fixed, middle), np.where(at_jump, 0.0, half)) if at_jump.any() else (middle, half)


class Curvatures(NamedTuple):
    """The second order of lem-cell-gradient."""

    row: Array
    cell: Array
    """``curv_k = row_k |x_i.u| + cell_k |u_j|``."""
    crossing: Array
    """``m_i (b - a) Q`` of each row with several parts: the cross term along the row (lem-cell-gradient)."""
    crossing_cells: Array
    """``m_i h^+ (p^ - |c_k|) R_k`` of each cell: the cross term along the cell (lem-cell-gradient)."""
    crossing_choices: Array
    """``b Q`` of each row with several parts, for its missing categories."""


def cell_curvatures(incomplete: IncompleteRows, loss: Loss, w: Array) -> Curvatures:
    """Return the second order of each cell, and what several parts of one row do to each other (lem-cell-gradient)."""
    i, R, m = incomplete.cell_rows, incomplete.cell_radii, incomplete.weight
    weight, q = m[i], R * w[incomplete.cell_columns]
    flattest, steepest = loss.curvature_range(incomplete.y, incomplete.lines.lower, incomplete.lines.upper)
    flattest, steepest = (np.where(incomplete.at_jump, 0.0, part) for part in (flattest, steepest))
    change, score_change = up(steepest - flattest), up(np.abs(q))
    row_change = up(
        incomplete.sum_cells_by_row(score_change) + incomplete.choice_sums(up(incomplete.choices.score_change(w)))
    )
    several = incomplete.has_several_parts
    others = weight * R * steepest[i] * (row_change[i] - score_change)
    return Curvatures(
        row=up(weight * up(score_change * change[i])),
        cell=up(weight * up(up(score_change * R) * up(3.0 * steepest - flattest)[i])),
        crossing=np.where(several, up(m * up(change * row_change)), 0.0),
        crossing_cells=np.where(several[i], others, 0.0),
        crossing_choices=np.where(several, steepest * row_change, 0.0),
    )


class Products(NamedTuple):
    """The products of cells with the move v (lem-cell-product)."""

    row: Array
    cell: Array
    """``prod_k = row_k |x_i.u| + cell_k |u_j|``."""
    weighted_slope: Array
    """``m_i h_i`` of each row, rounded up."""


def cell_products(incomplete: IncompleteRows, move_limits: Array) -> Products:
    """Bound each cell's product with the move (lem-cell-product)."""
    i, R, weighted_slope = incomplete.cell_rows, incomplete.cell_radii, up(incomplete.weight * incomplete.lines.slope)
    return Products(
        row=up(R * up(weighted_slope[i] * move_limits[incomplete.cell_columns])),
        cell=up(R * up(weighted_slope[i] * incomplete.lines.row_move[i])),
        weighted_slope=weighted_slope,
    )


class Slacks(NamedTuple):
    """What is bounded coordinate by coordinate; see `CellTerms`."""

    slack: Array
    gradient_slack: Array
    force_slack: Array
    product_sizes: Array


def cell_slacks(
    incomplete: IncompleteRows, generators: Generators, curvatures: Curvatures, products: Products, move_limits: Array
) -> Slacks:
    """Return what cells add by coordinate: remainders along them, and rounding (sec-remainders, fp-slopes)."""
    i, R, m, roundings = incomplete.cell_rows, incomplete.cell_radii, incomplete.weight, incomplete.roundings
    rise_size = np.abs(generators.cell_shift)
    numeric, shift_size = incomplete.coordinate_sums(
        (generators.error, generators.error * R), (np.abs(generators.row_shift), rise_size)
    )
    numeric = up(numeric + sum_error(shift_size, roundings))
    # What the lines leave open at the cells, products of two cells included.
    at_cells = incomplete.lines.slope * incomplete.lines.cell_move
    at_cells = at_cells + incomplete.lines.slope_radius * (incomplete.lines.row_move + incomplete.lines.cell_move)
    at_cells = at_cells + incomplete.lines.derivative_radius
    slack = up(numeric + incomplete.column_sums(curvatures.crossing_cells + (m * at_cells)[i] * R))
    # For the gradient alone: half of the vector of second order of a cell is known (lem-cell-gradient).
    second_order = 0.5 * rise_size + 0.5 * curvatures.row * R + generators.error * R
    second_order = second_order + (m * incomplete.lines.derivative_radius)[i] * R
    # Rounding of the products in `SlopeBounds`, with generators, rows, and product vectors of whole groups.
    along = 6.0 * products.row + 4.0 * curvatures.row + 4.0 * np.abs(generators.row)
    across = (products.weighted_slope * (incomplete.sizes @ move_limits))[i] * R
    across = across + products.cell + curvatures.cell + 4.0 * np.abs(generators.cell)
    product_sizes, second_orders = incomplete.coordinate_sums(
        (along, across), (0.5 * curvatures.row, curvatures.crossing_cells + second_order)
    )
    rounding = sum_error(product_sizes, roundings + 6 * len(move_limits))
    force_slack = up(up(numeric + second_orders) + sum_upper(curvatures.crossing @ incomplete.sizes, roundings))
    return Slacks(
        slack=up(slack + rounding),
        gradient_slack=up(up(numeric + incomplete.column_sums(curvatures.crossing_cells)) + rounding),
        force_slack=up(force_slack + sum_error(shift_size, roundings)),
        product_sizes=product_sizes,
    )


def cell_terms(incomplete: IncompleteRows, loss: Loss, w: Array, move_limits: Array) -> CellTerms:
    """Compute what uncertain cells add (lem-cell-gradient, lem-cell-product), and missing categories (lem-levels)."""
    generators = cell_generators(incomplete, loss, w)
    curvatures = cell_curvatures(incomplete, loss, w)
    products = cell_products(incomplete, move_limits)
    slack, gradient_slack, force_slack, product_sizes = cell_slacks(
        incomplete, generators, curvatures, products, move_limits
    )
    line_error = (
        incomplete.lines.slope_radius * (incomplete.lines.row_move + incomplete.lines.cell_move)
        + incomplete.lines.derivative_radius
    )
    choices = choice_terms(incomplete, loss, w, move_limits, line_error, curvatures.crossing_choices)
    for terms in choices:
        slack, force_slack = up(slack + terms.slack), up(force_slack + terms.force_slack)
        gradient_slack = up(gradient_slack + terms.slack)
    shift = incomplete.signed_sums(generators.row_shift, generators.cell_shift)
    crossing_form, crossing_sum = incomplete.form(curvatures.crossing), float(curvatures.crossing.sum())
    crossing = float(sum_upper(crossing_sum, incomplete.roundings)) * crossing_form
    return CellTerms(
        incomplete=incomplete,
        generator_row=generators.row,
        generator_cell=generators.cell,
        shift=shift,
        slack=slack,
        gradient_slack=gradient_slack,
        force_shift=shift - 0.5 * incomplete.signed_column_sums(generators.cell_shift),
        force_slack=force_slack,
        product_row=products.row,
        product_cell=products.cell,
        curvature_row=curvatures.row,
        curvature_cell=curvatures.cell,
        weighted_slope=incomplete.weight * incomplete.lines.slope,
        product_sizes=product_sizes,
        crossing_sum=crossing_sum,
        crossing_form=crossing_form,
        crossing=rounded_up(crossing, incomplete.roundings),
        choices=choices,
    )
