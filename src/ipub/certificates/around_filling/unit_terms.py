"""What each unit adds to the equation of a model, for any direction u (Lemmas 15, 16 (a) and 17)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.metric import largest_eigenvalue_upper
from ipub.certificates.around_filling.table_metric import Metric
from ipub.engine.ops import adding_matrix
from ipub.rounding import EPS, UNDERFLOW, Array, norm_upper, sum_upper, up

INFLATE = 1.0 + 64.0 * EPS
"""More than all roundings of a term that is a product of a few numbers that are not negative."""


class Directions(NamedTuple):
    """Several u with their products with the movable rows and with all options, and the rounding of these (F2)."""

    U: Array
    rows: Array
    """``x_i.u`` of the movable rows."""
    row_error: Array
    options: Array
    """``delta_o.u``."""
    units: Array
    """s_k: bounds of ``|delta_o.u|`` over the options of each unit."""
    row_change: Array
    """S_i: bounds of ``|delta_i.u|`` of each movable row."""
    largest: Array
    norm: Array
    """The largest entry of each u, and its norm."""

    @classmethod
    def of(cls, table: FilledTable, U: Array, products: Array) -> Directions:
        """Multiply u with the options; `products` are those with all rows of the table."""
        movable = table.movable
        largest, norm = np.abs(U).max(axis=1, initial=0.0)[:, None], norm_upper(U)[:, None]
        options = movable.changes(U)
        units = movable.greatest(up(np.abs(options) + up(4.0 * EPS * movable.option_size * largest)))
        row_error = up((2 * U.shape[1] + 32) * EPS * norm * table.row_norm[movable.rows]) + UNDERFLOW
        row_change = table.moves.row_totals(movable, units)
        return cls(U, products[:, movable.rows], row_error, options, units, row_change, largest, norm)

    @property
    def along(self) -> Array:
        """Bounds of ``|x_i.u|``."""
        return np.abs(self.rows) + self.row_error


class UnitMoves(NamedTuple):
    """Bounds of the products of options, units, movable rows and their moves with v."""

    option: Array
    """``|delta_o.v|``."""
    unit: Array
    """e_k: the greatest of a unit."""
    row_change: Array
    """E_i: ``|delta_i.v|``."""
    row: Array
    """s_i: ``|x_i.v|``."""


class FirstOrder(NamedTuple):
    """What each unit adds at most to ``u.(g - g_c)`` and to ``-u.(g - g_c)``, shape (n_u, n_units) (Lemma 15)."""

    plus: Array
    minus: Array


def first_order(table: FilledTable, at_u: Directions) -> FirstOrder:
    """Bound the change of the gradient along each u (Lemma 15)."""
    movable, at, spread = table.movable, table.at, table.spread
    of, row, rows = movable.unit_row, movable.option_row, movable.rows
    m, q = table.m[rows], table.unit_score
    linear = (m * at.first[rows])[row] * at_u.options
    linear += ((m * at.second[rows])[row] * table.option_score) * at_u.rows[:, row]
    own = ((m * spread.curvature)[row] * table.option_score) * at_u.options
    error = _first_order_error(table, at_u)
    others = q * table.of_other_units(at_u.units, at_u.row_change) + at_u.units * table.other_units_score
    shared = (0.5 * m * spread.curvature)[of] * others + (m * at.first_error[rows])[of] * at_u.units
    shared += ((m * at.second_error[rows])[of] * q) * at_u.along[:, of]
    sums = []
    for sign in (1.0, -1.0):
        square = np.maximum(sign * own, 0.0)
        slope = np.maximum(sign * spread.slope_lower * at_u.rows, sign * spread.slope_upper * at_u.rows)
        slope = np.maximum(slope, 0.0) + spread.slope * at_u.row_error
        rest = shared + ((0.5 * m * table.row_score) * slope)[:, of] * q
        most = np.maximum(movable.greatest(sign * linear + square + error), 0.0)
        sums.append(up((most + rest) * INFLATE))
    return FirstOrder(sums[0], sums[1])


def _first_order_error(table: FilledTable, at_u: Directions) -> Array:
    """Bound the rounding of the signed terms of each option (F2)."""
    movable, at = table.movable, table.at
    rows, row = movable.rows[movable.option_row], movable.option_row
    size, score, m = movable.option_size, table.option_score_size, table.m[rows]
    share = (2 * at_u.U.shape[1] + 32) * EPS
    along_u = share * m * (np.abs(at.first[rows]) + table.spread.curvature[row] * score) * size
    along_row = share * m * at.second[rows] * score * table.row_norm[rows]
    return np.asarray(up(along_u * at_u.largest + along_row * at_u.norm) + UNDERFLOW)


class Products(NamedTuple):
    """What each unit adds at most to terms with v, for each u: shape (n_u, n_units)."""

    first: Array
    """To ``|u.(B - A) v|`` to first order (Lemma 16 (a))."""
    second: Array
    """To the rest of it."""
    signed: Array
    """To what is left of ``|u.N v|`` beside the form of the filled-in table (Lemma 17)."""


def products_with_move(table: FilledTable, at_u: Directions, moves: UnitMoves) -> Products:
    """Bound the terms with v, unit by unit (Lemmas 16 (a) and 17)."""
    movable, at, spread = table.movable, table.at, table.spread
    of, row, rows = movable.unit_row, movable.option_row, movable.rows
    m, q, Q, s, S = table.m[rows], table.unit_score, table.row_score, at_u.units, at_u.row_change[:, of]
    along, crossing = at_u.along, np.abs(_crossing(table, at_u)) + _crossing_error(table, at_u)
    first = (m * moves.row)[row] * crossing
    first += ((m * (at.second + at.second_error)[rows])[row] * moves.option) * along[:, row]
    e, E = moves.unit, moves.row_change
    second = (0.5 * m * spread.slope * moves.row)[of] * (q * S + s * Q[of])
    with_row = (m * spread.bend * moves.row * Q)[of] * q + (m * spread.slope)[of] * (q * E[of] + e * Q[of])
    second += (0.5 * with_row) * along[:, of]
    second += (0.5 * m * spread.curvature)[of] * (e * S + s * E[of])
    signed = (0.5 * m * moves.row**2)[of] * ((spread.bend[of] * q) * along[:, of] + spread.slope[of] * s)
    signed += ((0.5 * m * spread.slope * (2.0 * moves.row + E))[of] * e) * (along + at_u.row_change)[:, of]
    return Products(up(movable.greatest(first) * INFLATE), up(second * INFLATE), up(signed * INFLATE))


def _crossing(table: FilledTable, at_u: Directions) -> Array:
    """Return ``h_i delta_o.u + c_i (delta_o.w') x_i.u`` of each option."""
    movable, at = table.movable, table.at
    rows = movable.rows[movable.option_row]
    along = at_u.rows[:, movable.option_row]
    return np.asarray(at.second[rows] * at_u.options + (at.third[rows] * table.option_score) * along)


def _crossing_error(table: FilledTable, at_u: Directions) -> Array:
    """Bound its rounding, and what the floats h and c are off by."""
    movable, at = table.movable, table.at
    row, rows = movable.option_row, movable.rows[movable.option_row]
    size, score = movable.option_size, table.option_score_size
    share = (2 * at_u.U.shape[1] + 32) * EPS
    along_u = (share * at.second[rows] + at.second_error[rows]) * size
    along_row = share * np.abs(at.third[rows]) * score * table.row_norm[rows]
    error = along_u * at_u.largest + along_row * at_u.norm + (at.third_error[rows] * score) * at_u.along[:, row]
    return np.asarray(up(error * INFLATE) + UNDERFLOW)


def product_norm(metric: Metric, at_u: Directions) -> Array:
    """Bound ``|sum_k t_k z_k|``, ``z_k.v`` being the first order of ``u.(B - A) v`` (Lemmas 16 (a), 20 (ii))."""
    table, movable = metric.table, metric.table.movable
    chosen = movable.generators
    row = movable.option_row[chosen]
    rows = movable.rows[row]
    a, b, m, second = metric.movable_rows.take(row), metric.options.take(chosen), table.m[rows], table.at.second[rows]
    along_row, along_option = m * _crossing(table, at_u)[:, chosen], m * second * at_u.rows[:, row]
    Z = along_row[..., None] * a.vectors + along_option[..., None] * b.vectors
    error = m * _crossing_error(table, at_u)[:, chosen] * a.norm
    error += np.abs(along_row) * (a.error + 8.0 * EPS * a.norm)
    error += (m * second * b.norm) * at_u.row_error[:, row]
    along = m * at_u.along[:, row]
    error += along * (second * (b.error + 8.0 * EPS * b.norm) + table.at.second_error[rows] * b.norm)
    error = up(error * INFLATE) + UNDERFLOW
    return table.moves.norm_upper(movable, Z, error, rounds=2)


def second_norm(metric: Metric, at_u: Directions) -> Array:
    """Bound the norm of the vector whose product with v is the rest of ``u.(B - A) v`` (Lemmas 16 (a), 20 (ii)).

    It is a sum of at most ``t_k rho_k`` times ``x_i`` and at most ``t_k sigma_i`` times ``delta_o``.
    """
    table, movable, d = metric.table, metric.table.movable, len(metric.K)
    row_pairs, generator_pairs = metric.movable_pairs, metric.generator_pairs
    if row_pairs is None or generator_pairs is None:
        return np.full(len(at_u.U), np.inf)
    of, spread, m, Q = movable.unit_row, table.spread, table.m[movable.rows], table.row_score
    S, q, along = at_u.row_change[:, of], table.unit_score, at_u.along
    rho = (0.5 * m * spread.bend * Q)[of] * q * along[:, of] + (0.5 * m * spread.slope)[of] * (
        q * S + at_u.units * Q[of]
    )
    rho = up(rho * INFLATE)
    rows = sum_upper(rho @ adding_matrix(of, len(m)).T, movable.n_units + 1)
    largest = largest_eigenvalue_upper((rows @ row_pairs).reshape(-1, d, d))
    largest = up(largest + metric.movable_rows.form_errors(rows))
    norm = up(np.sqrt(up(table.moves.total(movable, rho) * largest)))
    sigma = up(m * ((spread.slope * Q) * along + spread.curvature * at_u.row_change) * INFLATE)[:, of]
    unit_norm = np.maximum(metric.unit_norm, UNDERFLOW)
    shares = up(sigma / unit_norm * INFLATE)[:, movable.option_unit[movable.generators]]
    largest = largest_eigenvalue_upper((shares @ generator_pairs).reshape(-1, d, d))
    largest = up(largest + metric.options.take(movable.generators).form_errors(shares))
    total = table.moves.total(movable, up(sigma * unit_norm * INFLATE))
    return up(norm + up(np.sqrt(up(total * largest))))
