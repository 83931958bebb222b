"""The metric in which moves of a model are measured, and the filled-in table in it (section 14)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.metric import Whitened
from ipub.parallel import row_slices
from ipub.rounding import EPS, UNDERFLOW, Array, sum_upper, up

MOST_FORM_NUMBERS = 1 << 23
"""With more vectors times columns squared, their sums of squares are not taken as forms: wider bounds."""

CHUNK_NUMBERS = 1 << 21
"""Numbers of one chunk of rows in a sum of products of three of their entries."""


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
        gram = cls.weighted_gram(table, ratio)
        try:
            K = np.linalg.inv(np.linalg.cholesky(gram))
        except np.linalg.LinAlgError:
            return None
        return cls(table, ratio, K) if np.isfinite(K).all() else None

    @staticmethod
    def weighted_gram(table: FilledTable, ratio: Array) -> Array:
        """Return ``Lambda + sum_i m_i phi_i h_i x_i x_i^T``, as computed."""
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

    @cached_property
    def row_pairs(self) -> Array | None:
        """The entries of ``a_i a_i^T`` of each row, shape (n_rows, d^2); None if they are too many."""
        return _pairs(self.rows.vectors)

    @cached_property
    def movable_pairs(self) -> Array | None:
        """The same of the movable rows."""
        return _pairs(self.movable_rows.vectors)

    @cached_property
    def generator_pairs(self) -> Array | None:
        """The same of the generators."""
        return _pairs(self.options.vectors[self.table.movable.generators])

    @cached_property
    def third_derivative(self) -> tuple[Array, float]:
        """``sum_i m_i c_i / 2 x_i (x) a_i a_i^T``, shape (d, d^2), and what its form for u is off by, over ``|u|``."""
        table, a = self.table, self.rows
        weights = 0.5 * table.m * table.at.third
        n, d = table.X.shape
        tensor = np.zeros((d, d * d))
        for rows in row_slices(n, d * d, CHUNK_NUMBERS):
            vectors = a.vectors[rows]
            pairs = (vectors[:, :, None] * vectors[:, None, :]).reshape(len(vectors), d * d)
            tensor += (table.X[rows] * weights[rows, None]).T @ pairs
        size = np.abs(weights) * table.row_norm
        error = up(sum_upper(size @ (a.norm * a.norm), n + 4) * ((table.roundings + 4 * d) * EPS))
        doubt = sum_upper(size @ (2.0 * a.norm * a.error), n + 6)
        return tensor, float(up(error + doubt)) + UNDERFLOW


def _pairs(vectors: Array) -> Array | None:
    if vectors.size * vectors.shape[1] > MOST_FORM_NUMBERS:
        return None
    return np.asarray((vectors[:, :, None] * vectors[:, None, :]).reshape(len(vectors), -1))
