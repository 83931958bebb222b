"""How far the model of one completion can be from w', by a way of its own (Lemma 18)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.metric import Whitened, largest_eigenvalue_upper
from ipub.certificates.around_filling.unit_norms import unit_norm_upper
from ipub.rounding import EPS, UNDERFLOW, Array, down, norm_upper, sum_upper, up

ROUNDS = 25
"""Choices of the metric and of the radius that are tried before giving up."""

RATIO_MARGIN = 1e-3
"""The metric is made with secant ratios that are smaller by this share, so that a slightly larger set still fits."""

LONGEST_MOVE = 60.0
"""Where a score could move by more, curvatures vanish and nothing is proved."""

CAP_SHARES = (0.3, 0.6, 1.0, 1.5, 2.5)
"""Caps of Lemma 20 (iii) that are tried: the size of the unit whose rank is this share of the budget."""


@dataclass(frozen=True)
class Metric:
    """The metric ``|v|_W`` with ``|z|_{W^-1} = |K z|`` for a float matrix K, and the table in it.

    Attributes
    ----------
    table : FilledTable
    ratio : array of shape (n_rows,)
        phi_i: W is about the Hessian of the filled-in table with each row's part times this.
    K : array of shape (n_features, n_features)
    """

    table: FilledTable
    ratio: Array
    K: Array

    @classmethod
    def of(cls, table: FilledTable, ratio: Array) -> Metric | None:
        """Make the metric of the Hessian with ratios; None if it has no Cholesky factor."""
        gram = cls._weighted_gram(table, ratio)
        try:
            K = np.linalg.inv(np.linalg.cholesky(gram))
        except np.linalg.LinAlgError:
            return None
        return cls(table, ratio, K) if np.isfinite(K).all() else None

    @staticmethod
    def _weighted_gram(table: FilledTable, ratio: Array) -> Array:
        gram = (table.X * (table.m * ratio * table.at.second)[:, None]).T @ table.X
        return np.asarray(0.5 * (gram + gram.T) + np.diag(table.lam))

    @cached_property
    def rows(self) -> Whitened:
        """All rows."""
        return Whitened.of(self.K, self.table.X)

    @cached_property
    def movable_rows(self) -> Whitened:
        """The rows that may move."""
        return self.rows.take(self.table.movable.rows)

    @cached_property
    def options(self) -> Whitened:
        """All options."""
        movable = self.table.movable
        d = len(self.K)
        columns = np.zeros((len(movable.option_unit), d))
        every = np.arange(len(columns))
        columns[every, movable.option_columns[:, 0]] += movable.option_amounts[:, 0]
        columns[every, movable.option_columns[:, 1]] += movable.option_amounts[:, 1]
        return Whitened.of(self.K, columns)

    @cached_property
    def unit_norm(self) -> Array:
        """eta_k: the greatest norm of an option of each unit."""
        return self.table.movable.greatest(self.options.norm)

    @cached_property
    def row_change(self) -> Array:
        """E_i: bounds of the norm of ``delta_i`` of each movable row."""
        return self.table.moves.row_totals(self.table.movable, self.unit_norm)

    @cached_property
    def reach(self) -> Array:
        """Bounds of the norm of ``x''_i`` of every row, over all moves."""
        reach = self.rows.norm.copy()
        reach[self.table.movable.rows] = up(reach[self.table.movable.rows] + self.row_change)
        return reach

    def hessian_loss(self) -> float:
        """Return eps such that the Hessian at w' with ratios is at least ``(1 - eps) W`` for all moves (Lemma 16 (b)).

        Its first part is what K is not exact, and what curvatures are off by at the filled-in table.
        """
        table, d = self.table, len(self.K)
        gram = self._weighted_gram(table, self.ratio)
        weights = table.m * self.ratio * table.at.second
        product = self.K @ gram @ self.K.T
        # Both products, and the gram matrix itself, relative to absolute values.
        size = norm_upper(norm_upper(np.abs(self.K) @ np.sqrt(np.diag(gram))[:, None]))
        rounding = up((table.roundings + 4 * d + 16) * EPS * up(float(size) ** 2) * 4.0)
        inexact = up(largest_eigenvalue_upper((product - np.eye(d))[None])[0] + rounding)
        with np.errstate(divide="ignore", invalid="ignore"):
            doubt = np.where(weights > 0.0, up(table.at.second_error / table.at.second), 0.0)
        inexact = up(inexact + up(float(doubt.max(initial=0.0)) * up(1.0 + inexact)))
        return float(up(inexact + self.unit_hessian_loss()))

    def unit_hessian_loss(self) -> float:
        """Bound what units can take from it: ``sum_k t_k M_k`` (Lemma 16 (b), Lemma 20 (iii))."""
        table, movable = self.table, self.table.movable
        if movable.n_units == 0:
            return 0.0
        of, spread, moves = movable.unit_row, table.spread, table.moves
        generators = movable.generators
        unit = movable.option_unit[generators]
        norm = up(np.sqrt(up(np.bincount(unit, self.options.norm[generators] ** 2, movable.n_units) * (1 + 32 * EPS))))
        row_norm = self.movable_rows.norm[of]
        price = np.maximum(norm, UNDERFLOW) / np.maximum(row_norm, UNDERFLOW)
        factor = (table.m * self.ratio)[movable.rows][of]
        along_row = factor * (spread.slope[of] * table.unit_score + spread.curvature[of] * price)
        along_unit = factor * spread.curvature[of] / price
        size = up((along_row * row_norm**2 + along_unit * norm**2) * (1.0 + 32.0 * EPS))
        losses = [float(moves.total(movable, size)), self._capped_loss(along_row, along_unit)]
        if moves.has_limit(movable):
            for share in CAP_SHARES:
                cap = np.zeros(movable.n_units)
                paid = 0.0
                for group, (units, _) in enumerate(movable.groups):
                    if len(units) == 0:
                        continue
                    count = moves.count(group)
                    rank = min(int(share * count), len(units) - 1)
                    theta = float(np.sort(size[units])[::-1][rank]) if count < len(units) else 0.0
                    cap[units], paid = theta, up(paid + up(count * theta)) if theta else paid
                kept = np.maximum(up(1.0 - down(cap / np.maximum(size, UNDERFLOW))), 0.0)
                losses.append(up(paid + self._unit_form(kept * along_row, kept * along_unit)))
        return float(np.nanmin(losses)) if np.isfinite(losses).any() else np.inf

    def _unit_form(self, along_row: Array, along_unit: Array) -> float:
        """Bound the largest eigenvalue of a sum of forms of units."""
        movable = self.table.movable
        generators = movable.generators
        rows = sum_upper(np.bincount(movable.unit_row, along_row, len(movable.rows)), movable.n_units + 32)
        units = up(along_unit * (1.0 + 32.0 * EPS))[movable.option_unit[generators]]
        return self._joint_form(rows, units)

    def _joint_form(self, rows: Array, units: Array) -> float:
        a, options = self.movable_rows, self.options.take(self.table.movable.generators)
        form = (a.vectors * rows[:, None]).T @ a.vectors
        form = form + (options.vectors * units[:, None]).T @ options.vectors
        error = up(a.form_error(rows) + options.form_error(units))
        return float(up(largest_eigenvalue_upper(form[None])[0] + 2.0 * error))

    def _capped_loss(self, along_row: Array, along_unit: Array) -> float:
        """Bound the loss of all units together: no row loses more than all that it has."""
        table, movable = self.table, self.table.movable
        generators = movable.generators
        unit = movable.option_unit[generators]
        rows = sum_upper(np.bincount(movable.unit_row, along_row, len(movable.rows)), movable.n_units + 32)
        units = up(along_unit * (1.0 + 32.0 * EPS))[unit]
        most = (table.m * self.ratio)[movable.rows] * up(table.at.second + table.at.second_error)[movable.rows]
        most = up(most * (1.0 + 8.0 * EPS))
        norm = np.maximum(self.movable_rows.norm, UNDERFLOW)
        lost = rows + np.bincount(movable.unit_row[unit], units * self.options.norm[generators] ** 2, len(rows)) / norm**2
        is_capped = lost > most
        rows, units = np.where(is_capped, most, rows), np.where(is_capped[movable.unit_row[unit]], 0.0, units)
        return min(self._joint_form(rows, units), self._unit_form(along_row, along_unit))

    def force(self) -> float:
        """Bound the norm of the gradient at w' over all moves (Theorem 9)."""
        table, movable = self.table, self.table.movable
        center = float(
            up(norm_upper(self.K @ table.gradient) + self._vector_error(np.abs(table.gradient), table.gradient_error))
        )
        if movable.n_units == 0:
            return center
        options = movable.generators
        row, unit, at, spread = movable.option_row[options], movable.option_unit[options], table.at, table.spread
        a, b = self.movable_rows, self.options.take(options)
        rows = movable.rows[row]
        m, score = table.m[rows], table.option_score[options]
        along_row, along_option = m * at.second[rows] * score, m * at.first[rows]
        Z = along_row[:, None] * a.vectors[row] + along_option[:, None] * b.vectors
        score_size = table.option_score_size[options]
        doubt = up(m * (at.second[rows] * score_size * a.error[row] + np.abs(at.first[rows]) * b.error))
        doubt = up(doubt + m * (at.second_error[rows] * score_size * a.norm[row] + at.first_error[rows] * b.norm))
        size = m * (at.second[rows] * score_size * a.norm[row] + np.abs(at.first[rows]) * b.norm)
        doubt = up(up(doubt + 16.0 * EPS * size) * (1.0 + 16.0 * EPS)) + UNDERFLOW
        Q = table.row_score[row]
        bent = m * (0.5 * spread.slope[row] * Q * table.unit_score[unit])
        moved = m * spread.curvature[row] * Q
        bent, moved = up(bent * (1.0 + 16.0 * EPS)), up(moved * (1.0 + 16.0 * EPS))
        total = center
        for vectors, error in (
            (Z, doubt),
            (bent[:, None] * a.vectors[row], up(bent * (a.error[row] + 4.0 * EPS * a.norm[row]))),
            (moved[:, None] * b.vectors, up(moved * (b.error + 4.0 * EPS * b.norm))),
        ):
            total = up(total + float(unit_norm_upper(table.movable, table.moves, vectors[None], error[None])[0]))
        return total

    def _vector_error(self, size: Array, error: Array) -> float:
        """Bound the norm of ``K z`` where z is off by `error`, and the rounding of ``K z`` for z of `size`."""
        d = len(self.K)
        vector = np.abs(self.K) @ (up(error + (d + 4) * EPS * size))
        return float(up(norm_upper(sum_upper(vector, d + 4))))


@dataclass(frozen=True)
class ProvedMove:
    """``|v|_W <= radius`` for the model of every completion."""

    metric: Metric
    radius: float


def prove_move(table: FilledTable) -> ProvedMove | None:
    """Bound how far any model can be from w' (Lemma 18); None if no set closes."""
    metric = Metric.of(table, np.ones(len(table.X)))
    if metric is None:
        return None
    force, loss = metric.force(), metric.hessian_loss()
    if not (loss < 1.0 and np.isfinite(force)):
        return None
    radius = 1.1 * force / (1.0 - loss) + UNDERFLOW
    lower, upper = table.score_ranges
    for _ in range(ROUNDS):
        ratio = table.loss.secant_ratio_lower(table.y, lower, upper, up(metric.reach * radius))
        ratio = np.where(ratio < 1.0, (1.0 - RATIO_MARGIN) * ratio, 1.0)
        metric = Metric.of(table, ratio)
        if metric is None:
            return None
        force, loss = metric.force(), metric.hessian_loss()
        if not (loss < 1.0 and np.isfinite(force)):
            return None
        proved = up(force / down(1.0 - loss))
        holds = table.loss.secant_ratio_lower(table.y, lower, upper, up(metric.reach * radius)) >= ratio
        if proved < radius and bool(holds.all()) and bool((ratio > 0.0).all()):
            return ProvedMove(metric, proved)
        radius = max(1.02 * proved, radius) if proved >= radius else radius
        if not (radius * float(metric.reach.max(initial=0.0)) <= LONGEST_MOVE) and not bool((ratio == 1.0).all()):
            return None
    return None
