"""What moves can take from the Hessian at w' (Lemma 16 (b), (c)), with a budget or by chance (Lemmas 20 (iii), 23)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.around_filling.metric import Whitened, largest_eigenvalue_upper
from ipub.certificates.around_filling.random_moves import RandomMoves, log_inverse_upper
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
    loss = _loss_of_units(metric)
    if table.chance is not None:
        loss = float(np.fmin(loss, _loss_by_chance(metric, table.chance)))
    return up(inexact + loss)


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
    """Bound ``sum_k t_k M_k``, for certain."""
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


class _LinearForms(NamedTuple):
    """``M_k = weight_k (a f^T + f a^T)`` of Lemma 16 (c), one for each generator."""

    weight: Array
    a: Whitened
    f: Whitened

    @classmethod
    def of(cls, metric: Metric) -> _LinearForms:
        table, movable = metric.table, metric.table.movable
        chosen = movable.generators
        row = movable.option_row[chosen]
        rows = movable.rows[row]
        a, b, at = metric.movable_rows.take(row), metric.options.take(chosen), table.at
        half_score, score_size = 0.5 * table.option_score[chosen], table.option_score_size[chosen]
        second, third = at.second[rows], at.third[rows]
        f = second[:, None] * b.vectors + (third * half_score)[:, None] * a.vectors
        size = second * b.norm + np.abs(third) * score_size * a.norm
        error = second * b.error + at.second_error[rows] * b.norm + 16.0 * EPS * size
        error += score_size * (np.abs(third) * a.error + at.third_error[rows] * a.norm)
        error = up(error * (1.0 + 16.0 * EPS)) + UNDERFLOW
        weight = (table.m * metric.ratio)[rows] * (1.0 + 8.0 * EPS)
        return cls(weight, a, Whitened(f, error, up(norm_upper(f) + error)))

    @property
    def product_error(self) -> Array:
        """Bounds of the error of ``|a| |f|``."""
        a, f, d = self.a, self.f, self.a.vectors.shape[1]
        return up((a.error * f.norm + a.norm * f.error + (d + 8) * EPS * a.norm * f.norm) * (1.0 + 8.0 * EPS))

    def norms(self) -> Array:
        """Bound the norms of the M_k: ``weight (|a.f| + |a| |f|)``."""
        a, f = self.a, self.f
        inner = np.abs((a.vectors * f.vectors).sum(axis=1)) + self.product_error
        return np.asarray(np.maximum(up(self.weight * (inner + a.norm * f.norm) * (1.0 + 8.0 * EPS)), UNDERFLOW))

    def largest_square(self, factors: Array) -> float:
        """Bound the largest eigenvalue of ``sum_k factors_k M_k^2``."""
        a, f, factors = self.a, self.f, factors * self.weight**2
        inner = (a.vectors * f.vectors).sum(axis=1)
        form = (a.vectors * (factors * inner)[:, None]).T @ f.vectors
        form = form + form.T + a.form(factors * f.norm**2) + f.form(factors * a.norm**2)
        product = a.norm * f.norm
        error = factors @ (8.0 * product * self.product_error + (len(factors) + 16) * EPS * 8.0 * product**2)
        return float(up(largest_eigenvalue_upper(form[None])[0] + sum_upper(error, len(factors) + 8)))

    def largest_sum(self, factors: Array) -> float:
        """Bound ``|sum_k D_k M_k|`` where ``|D_k| <= factors_k``."""
        ratio = np.maximum(self.f.norm, UNDERFLOW) / np.maximum(self.a.norm, UNDERFLOW)
        along_a, along_f = (up(self.weight * factors * share * (1.0 + 8.0 * EPS)) for share in (ratio, 1.0 / ratio))
        form = self.a.form(along_a) + self.f.form(along_f)
        error = up(self.a.form_errors(along_a[None])[0] + self.f.form_errors(along_f[None])[0])
        return float(up(largest_eigenvalue_upper(form[None])[0] + 2.0 * error))


def _loss_by_chance(metric: Metric, chance: RandomMoves) -> float:
    """Bound it with probability ``1 - delta_H``: matrix Bernstein, its bias and the squares (Lemmas 16 (c), 23)."""
    table, movable = metric.table, metric.table.movable
    forms, unit = _LinearForms.of(metric), movable.option_unit[movable.generators]
    size, block = forms.norms(), chance.blocks_of(movable)[unit]
    totals = sum_by_index(block, size, int(block.max()) + 1)[block] * (1.0 + (len(size) + 2) * EPS)
    variance = forms.largest_square(up(totals / size))
    means = chance.mean_shares(movable)[unit]
    length = up(up(1.0 + float(means.max(initial=0.0))) * float(totals.max(initial=0.0)))
    log_inverse = log_inverse_upper(chance.delta_hessian / len(metric.K))
    third = up(up(length * log_inverse) / 3.0)
    loss = up(third + up(np.sqrt(up(up(third * third) + up(2.0 * up(variance * log_inverse))))))
    if means.any():
        loss = up(loss + forms.largest_sum(means))
    spread, a = table.spread, metric.movable_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        bent = 0.5 * spread.bend + np.where(spread.slope > 0.0, spread.slope**2 / spread.least_curvature, 0.0)
    bent = up((table.m * metric.ratio)[movable.rows] * bent * table.row_score**2 * (1.0 + 32.0 * EPS))
    rest = up(largest_eigenvalue_upper(a.form(bent)[None])[0] + a.form_errors(bent[None])[0])
    return float(up(loss + rest))
