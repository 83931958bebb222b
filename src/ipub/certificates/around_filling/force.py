"""How large the gradient at w' can be over all moves (Theorem 9)."""

from __future__ import annotations

import numpy as np

from ipub.certificates.around_filling.table_metric import Metric
from ipub.rounding import EPS, UNDERFLOW, Array, norm_upper, sum_upper, up


def force_upper(metric: Metric) -> float:
    """Bound the norm of the gradient at w' over all moves: ``|K g|``."""
    table, movable, d = metric.table, metric.table.movable, len(metric.K)
    gradient = table.gradient
    lost = sum_upper(np.abs(metric.K) @ up(table.gradient_error + (d + 4) * EPS * np.abs(gradient)), d + 4)
    center = float(up(norm_upper(metric.K @ gradient) + norm_upper(lost)))
    if movable.n_units == 0:
        return center
    Z, error = _first_order(metric)
    first = table.moves.norm_upper(movable, Z[None], error[None])
    return float(up(up(center + float(first[0])) + _squares(metric)))


def _first_order(metric: Metric) -> tuple[Array, Array]:
    """Return ``m_i (psi_i delta_o + h_i (delta_o.w') x_i)`` of each generator, and what it is off by."""
    table, movable, at = metric.table, metric.table.movable, metric.table.at
    chosen = movable.generators
    row = movable.option_row[chosen]
    rows = movable.rows[row]
    a, b, m = metric.movable_rows.take(row), metric.options.take(chosen), table.m[rows]
    score, size = table.option_score[chosen], table.option_score_size[chosen]
    first, second = at.first[rows], at.second[rows]
    Z = (m * second * score)[:, None] * a.vectors + (m * first)[:, None] * b.vectors
    error = second * size * (a.error + 16.0 * EPS * a.norm) + np.abs(first) * (b.error + 16.0 * EPS * b.norm)
    error += at.second_error[rows] * size * a.norm + at.first_error[rows] * b.norm
    return Z, up(m * error * (1.0 + 32.0 * EPS)) + UNDERFLOW


def _squares(metric: Metric) -> float:
    """Bound the norm of what is left: up to ``m_i (c2_i Q_i q_k / 2) x_i`` and ``m_i b_i Q_i delta_o`` of each unit."""
    table, movable, spread = metric.table, metric.table.movable, metric.table.spread
    chosen = movable.generators
    row, inflate = movable.option_row[chosen], 1.0 + 16.0 * EPS
    a, b = metric.movable_rows.take(row), metric.options.take(chosen)
    factor = table.m[movable.rows[row]] * table.row_score[row]
    along_row = up(0.5 * factor * spread.slope[row] * table.unit_score[movable.option_unit[chosen]] * inflate)
    along_option = up(factor * spread.curvature[row] * inflate)
    total = 0.0
    for factors, vectors in ((along_row, a), (along_option, b)):
        Z = factors[:, None] * vectors.vectors
        error = up(factors * (vectors.error + 8.0 * EPS * vectors.norm)) + UNDERFLOW
        total = up(total + float(table.moves.norm_upper(movable, Z[None], error[None])[0]))
    return total
