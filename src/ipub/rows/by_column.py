"""Sums over the uncertain cells of each column, of what the rows of these cells are: forms and vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array
from ipub.rows.ops import GroupedRows, take_rows
from ipub.tables.interval_matrix import Indices

T = TypeVar("T", bound=np.generic)

PIECE_CELLS = 128
"""Cells of one product in sums by column without compiled loops: number of products against cells that fill up the last
piece of a column."""


class ByColumn(Protocol):
    """The uncertain cells, grouped by column: cell k is in row x_k. Factors have one number for each cell."""

    def forms(self, *factors: Array) -> list[Array]:
        """Return ``sum_k f_k^2 x_k x_k^T`` over the cells of each column for each factor f, (n_columns, d, d)."""

    def sums(self, *factors: tuple[Array, Array | None]) -> list[Array]:
        """Return ``sum_k (f_k x_k) g_k`` over the cells of each column for each pair (f, g), (n_columns, d).

        Without g, which is 1 then, for None.
        """


def group_by_column(columns: Indices, n_columns: int, center: Array, cell_rows: Indices) -> ByColumn:
    """Group cells by their column: rows of cells are ``center[cell_rows]``."""
    # NumPy sorts short integers by their digits, which is faster.
    is_short = isinstance(columns, np.ndarray) and n_columns <= np.iinfo(np.uint16).max
    order = np.argsort(columns.astype(np.uint16) if is_short else columns, kind="stable")
    counts = np.bincount(columns, minlength=n_columns)
    grouped = GroupedRows.of(center, cell_rows[order], counts)
    return _Pieces.of(order, counts, center, cell_rows) if grouped is None else _InLoops(order, grouped)


@dataclass(frozen=True)
class _InLoops(ByColumn):
    """Cells sorted by column, added up in compiled loops."""

    order: Indices
    grouped: GroupedRows

    def forms(self, *factors: Array) -> list[Array]:
        return self.grouped.grams([factor[self.order] for factor in factors], squared=True)

    def sums(self, *factors: tuple[Array, Array | None]) -> list[Array]:
        ones = np.ones(len(self.order))
        first = [factor[self.order] for factor, _ in factors]
        return self.grouped.sums(first, [ones if last is None else last[self.order] for _, last in factors])


@dataclass(frozen=True)
class _Pieces(ByColumn):
    """Cells sorted by column, in pieces of one column each; the last of a column is filled up with nothing."""

    order: Indices
    places: Indices
    """Where each sorted cell stands."""
    length: int
    """Cells of a piece."""
    pieces: Indices
    """Number of pieces of each column."""
    rows: Array
    """The row of each cell, in place."""

    @classmethod
    def of(cls, order: Indices, counts: Indices, center: Array, cell_rows: Indices) -> _Pieces:
        n, length = len(order), PIECE_CELLS
        pieces = -(-counts // length)
        shift = length * (np.cumsum(pieces) - pieces) - (np.cumsum(counts) - counts)
        places = np.arange(n, like=order) + np.repeat(shift, counts)
        placed = np.zeros(length * int(pieces.sum()), dtype=cell_rows.dtype, like=cell_rows)
        placed[places] = cell_rows[order]
        return cls(order, places, length, pieces, take_rows(center, placed))

    def forms(self, *factors: Array) -> list[Array]:
        return [self._form(self.rows * self._placed(factor)[:, None]) for factor in factors]

    def sums(self, *factors: tuple[Array, Array | None]) -> list[Array]:
        plain = [first for first, last in factors if last is None]
        found = list(self._sums(self.rows, plain).transpose(1, 0, 2)) if plain else []
        return [
            found.pop(0) if last is None else self._sums(self.rows * self._placed(first)[:, None], [last])[:, 0]
            for first, last in factors
        ]

    def _placed(self, values: NDArray[T]) -> NDArray[T]:
        """Put values of the cells in place, 0 where there is none."""
        placed = np.zeros(self.length * int(self.pieces.sum()), dtype=values.dtype, like=values)
        placed[self.places] = values[self.order]
        return placed

    def _form(self, rows: Array) -> Array:
        """Return ``sum_k z_k z_k^T`` over the rows z of each column's cells, shape (n_columns, d, d)."""
        z = rows.reshape(-1, self.length, rows.shape[1])
        # Of a copy: NumPy multiplies an array by itself in another way, slower for so few columns.
        return self._added(z.transpose(0, 2, 1) @ (z.copy() if isinstance(z, np.ndarray) else z))

    def _sums(self, rows: Array, factors: list[Array]) -> Array:
        """Return ``sum_k f_k z_k`` over the rows z of each column's cells, shape (n_columns, n_factors, d)."""
        stacked = np.stack([self._placed(factor).reshape(-1, self.length) for factor in factors], axis=1)
        return self._added(stacked @ rows.reshape(-1, self.length, rows.shape[1]))

    def _added(self, parts: Array) -> Array:
        """Add up the pieces of each column."""
        total = np.zeros((len(self.pieces), *parts.shape[1:]), like=parts)
        filled = np.flatnonzero(self.pieces)
        if len(filled):
            total[filled] = np.add.reduceat(parts, (np.cumsum(self.pieces) - self.pieces)[filled])
        return total
