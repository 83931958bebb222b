"""Completions of rows with uncertain cells: one of them, or several that share a pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ipub.data.blocks import Block, Rows
from ipub.data.intervals import Indices, completed_cells
from ipub.rounding import Array

Positions = NDArray[np.int8]
"""Where each uncertain cell is, in the order of the rows: -1 lower end, 0 center, 1 upper end."""


@dataclass(frozen=True)
class Completion:
    """A completion of the training table: every uncertain cell at an end, or at the middle, of its interval.

    Attributes
    ----------
    rows : Rows
        The training rows with their intervals.
    starts : array of shape (n_rows + 1,)
        The uncertain cells of row i are numbers ``starts[i]`` to ``starts[i + 1] - 1``.
    positions : array of shape (n_uncertain,)
        -1, 0 or 1 for each uncertain cell, row by row: the lower end, the middle or the upper end.
    """

    rows: Rows
    starts: Indices
    positions: Positions

    def table(self) -> Array:
        """Return the completed training table."""
        (table,) = CompletedRows(self).collect(lambda block: (block.center,))
        return np.asarray(table)


class CompletedRows(Rows):
    """The rows of one completion: no cell is uncertain any more."""

    def __init__(self, completion: Completion) -> None:
        super().__init__(completion.rows.n_features, completion.rows.y, completion.rows.weight)
        self.completion = completion

    def block(self, rows: slice) -> Block:
        whole, starts = self.completion.rows.block(rows), self.completion.starts
        here = self.completion.positions[starts[rows.start] : starts[rows.stop]]
        center, i, j = whole.center.copy(), whole.cell_rows, whole.cell_columns
        center[i, j] = completed_cells(center[i, j], whole.cell_radii, here)
        nothing = np.zeros(0, dtype=np.intp)
        return Block(center, nothing, nothing, np.zeros(0), whole.y, self.weight[rows])


@dataclass(frozen=True, slots=True)
class SharedBlock(Block):
    """A block with several completions of its rows."""

    shifts: Array
    """By how much each completion moves each uncertain cell, shape (cells, completions)."""

    def scores(self, vectors: Array) -> Array:
        """Return the product of each row with the vector (a column) of each completion."""
        moved = self.shifts * vectors[self.cell_columns]
        return np.asarray(self.center @ vectors + adding(self.cell_rows, len(self.y)) @ moved)

    def transposed_dot(self, coefficients: Array) -> Array:
        """Return the sum of the rows of each completion, each times its coefficient."""
        moved = self.shifts * coefficients[self.cell_rows]
        total = self.center.T @ coefficients
        return np.asarray(total + adding(self.cell_columns, len(total)) @ moved)


def adding(numbers: Indices, n: int) -> csr_array:
    """Return the matrix that adds up values of cells by their row, or by their column."""
    return csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))), shape=(n, len(numbers)))


class SharedRows(Rows):
    """The rows of several completions, for kernels that look at all of them in one pass.

    Parameters
    ----------
    rows : Rows
    starts : array of shape (n_rows + 1,)
    positions : array of shape (n_completions, n_uncertain)
    """

    def __init__(self, rows: Rows, starts: Indices, positions: Positions) -> None:
        super().__init__(rows.n_features, rows.y, rows.weight)
        self.rows, self.starts, self.positions = rows, starts, positions

    def block(self, rows: slice) -> SharedBlock:
        whole = self.rows.block(rows)
        here = self.positions[:, self.starts[rows.start] : self.starts[rows.stop]]
        shifts = whole.cell_radii[:, None] * here.T
        cells = whole.cell_rows, whole.cell_columns, whole.cell_radii
        return SharedBlock(whole.center, *cells, whole.y, self.weight[rows], shifts)
