"""What moves can take from the Hessian at w' (Lemmas 16 (b) and 20 (iii))."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.around_filling.metric import largest_eigenvalue_upper
from ipub.certificates.around_filling.table_metric import Metric
from ipub.engine.ops import sum_by_index
from ipub.rounding import EPS, UNDERFLOW, Array, down, norm_upper, sum_upper, up

CAP_SHARES = (0.3, 0.6, 1.0, 1.5, 2.5)
"""Caps of Lemma 20 (iii) that are tried: the size of the unit whose rank is this share of the budget."""


def hessian_loss(metric: Metric) -> float:
    """Return eps such that the Hessian at w' with ratios is at least ``(1 - eps) W`` for all moves (Lemma 16).

    Its first part is what K is not exact, and what curvatures are off by at the filled-in table.
    """
    table, K, d = metric.table, metric.K, len(metric.K)
    gram = metric.weighted_gram(table, metric.ratio)
    product = K @ gram @ K.T
    # The rounding of both products and of the sum over rows, relative to |K| |gram| |K|^T (F15).
    size = float(norm_upper(np.abs(K) @ np.sqrt(np.diag(gram))))
    rounding = up(4.0 * (table.roundings + 4 * d + 16) * EPS * up(size * size))
    inexact = up(float(largest_eigenvalue_upper((product - np.eye(d))[None])[0]) + rounding)
    counts = table.m * metric.ratio > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        doubt = np.where(counts, up(table.at.second_error / table.at.second), 0.0)
    inexact = up(inexact + up(float(doubt.max(initial=0.0)) * up(1.0 + inexact)))
    if table.movable.n_units == 0:
        return inexact
    return up(inexact + _loss_of_units(metric))


class _UnitForms(NamedTuple):
    """M_k of Lemma 16 (b): multiples of ``a_i a_i^T``, and of ``b_o b_o^T`` summed over the generators of a unit."""

    along_row: Array
    along_unit: Array
    size: Array
    """Bounds of their norms."""

    @classmethod
    def of(cls, metric: Metric) -> _UnitForms:
        table, movable = metric.table, metric.table.movable
        of, spread, generators = movable.unit_row, table.spread, movable.generators
        squares = sum_by_index(movable.option_unit[generators], metric.options.norm[generators] ** 2, movable.n_units)
        norm = up(np.sqrt(up(squares * (1.0 + (len(metric.K) + 32.0) * EPS))))
        row_norm = metric.movable_rows.norm[of]
        price = np.maximum(norm, UNDERFLOW) / np.maximum(row_norm, UNDERFLOW)
        factor = (table.m * metric.ratio)[movable.rows][of]
        along_row = factor * (spread.slope[of] * table.unit_score + spread.curvature[of] * price)
        along_unit = factor * spread.curvature[of] / price
        inflate = 1.0 + 32.0 * EPS
        along_row, along_unit = up(along_row * inflate), up(along_unit * inflate)
        return cls(along_row, along_unit, up((along_row * row_norm**2 + along_unit * norm**2) * inflate))

    def times(self, shares: Array) -> _UnitForms:
        """Return a multiple of each, with a share in [0, 1]."""
        return _UnitForms(up(shares * self.along_row), up(shares * self.along_unit), self.size)


def _loss_of_units(metric: Metric) -> float:
    """Bound ``sum_k t_k M_k``."""
    movable, moves = metric.table.movable, metric.table.moves
    forms = _UnitForms.of(metric)
    losses = [float(moves.total(movable, forms.size)), _capped_loss(metric, forms), _largest_form(metric, forms)]
    for share in CAP_SHARES if moves.has_limit(movable) else ():
        cap, paid = np.zeros(movable.n_units), 0.0
        for group, (units, _) in enumerate(movable.groups):
            count = moves.count(group)
            if count < len(units):
                rank = min(int(share * count), len(units) - 1)
                cap[units] = np.sort(forms.size[units])[::-1][rank]
                paid = up(paid + up(count * float(cap[units[0]])))
        kept = np.clip(up(1.0 - down(cap / np.maximum(forms.size, UNDERFLOW))), 0.0, 1.0)
        losses.append(up(paid + _largest_form(metric, forms.times(kept))))
    return float(np.fmin.reduce(losses))


def _largest_form(metric: Metric, forms: _UnitForms) -> float:
    """Bound the largest eigenvalue of the sum of all forms."""
    movable = metric.table.movable
    rows = sum_upper(sum_by_index(movable.unit_row, forms.along_row, len(movable.rows)), movable.n_units + 2)
    return _joint_form(metric, rows, forms.along_unit[movable.option_unit[movable.generators]])


def _joint_form(metric: Metric, rows: Array, generators: Array) -> float:
    a, options = metric.movable_rows, metric.options.take(metric.table.movable.generators)
    error = up(a.form_errors(rows[None])[0] + options.form_errors(generators[None])[0])
    form = a.form(rows) + options.form(generators)
    return float(up(largest_eigenvalue_upper(form[None])[0] + 2.0 * error))


def _capped_loss(metric: Metric, forms: _UnitForms) -> float:
    """Bound the loss of all units together where some rows are better counted as losing all that they have."""
    table, movable = metric.table, metric.table.movable
    unit = movable.option_unit[movable.generators]
    rows = sum_upper(sum_by_index(movable.unit_row, forms.along_row, len(movable.rows)), movable.n_units + 2)
    generators = forms.along_unit[unit]
    most = up(table.at.second + table.at.second_error)[movable.rows]
    most = up((table.m * metric.ratio)[movable.rows] * most * (1.0 + 16.0 * EPS))
    lost = rows * metric.movable_rows.norm**2
    lost += sum_by_index(movable.unit_row[unit], generators * metric.options.norm[movable.generators] ** 2, len(rows))
    is_capped = lost > most * metric.movable_rows.norm**2
    rows = np.where(is_capped, most, rows)
    return _joint_form(metric, rows, np.where(is_capped[movable.unit_row[unit]], 0.0, generators))
