"""Completions of rows with uncertain cells: one of them, or several that share a pass."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ipub.data.interval_matrix import Indices, completed_cells
from ipub.data.missing_category import Levels
from ipub.engine.rows import Block, Rows, Sums
from ipub.rounding import Array

Positions = NDArray[np.int16]
"""Where each uncertain cell is, row by row: -1 lower end, 0 center, 1 upper end; then the level of each choice."""


@dataclass(frozen=True)
class Places:
    """Where the uncertain cells and the missing categories of a row are among the positions of a completion.

    Attributes
    ----------
    starts : array of shape (n_rows + 1,)
        The uncertain cells of row i are numbers ``starts[i]`` to ``starts[i + 1] - 1``.
    choice_starts : array of shape (n_rows + 1,)
        Likewise its missing categories, counted on after all cells.
    center : array of shape (n_uncertain + n_choices,)
        The positions of the center: 0 for every cell, -1 (the mean of all levels) for every choice.
    """

    starts: Indices
    choice_starts: Indices
    center: Positions

    @classmethod
    def of(cls, rows: Rows) -> Places:
        """Find them in the rows."""
        counts, choice_counts = rows.collect(_counts)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        choice_starts = starts[-1] + np.concatenate([[0], np.cumsum(choice_counts)]).astype(np.intp)
        return cls(starts, choice_starts, np.repeat([0, -1], [starts[-1], choice_counts.sum()]).astype(np.int16))

    @property
    def n_cells(self) -> int:
        """Number of uncertain cells."""
        return int(self.starts[-1])

    def within(self, rows: slice, positions: Positions) -> tuple[Positions, Positions]:
        """Return the positions of the cells and of the choices of some rows, along the last axis."""
        return (
            positions[..., self.starts[rows.start] : self.starts[rows.stop]],
            positions[..., self.choice_starts[rows.start] : self.choice_starts[rows.stop]],
        )


def _counts(block: Block) -> Sums:
    return (
        np.bincount(block.cell_rows, minlength=len(block.y)),
        np.bincount(block.choices.rows, minlength=len(block.y)),
    )


@dataclass(frozen=True)
class Completion:
    """A completion of the training table: every uncertain cell at an end, or at the middle, of its interval.

    Attributes
    ----------
    rows : Rows
        The training rows with their intervals.
    places : Places
        Which positions belong to which row.
    positions : array of shape (n_uncertain + n_choices,)
        -1, 0 or 1 for each uncertain cell, row by row: the lower end, the middle or the upper end. Then the number of
        the level for each missing category.
    """

    rows: Rows
    places: Places
    positions: Positions

    def targets(self) -> Array:
        """Return the labels (-1 and 1) or targets that go with the table, uncertain ones as they were chosen."""
        return self.rows.y

    def weights(self) -> Array:
        """Return the weights that go with the table; of the two rows of an unknown class one has none."""
        return self.rows.weight

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
        whole = self.completion.rows.block(rows)
        here, chosen = self.completion.places.within(rows, self.completion.positions)
        center, i, j = whole.center.copy(), whole.cell_rows, whole.cell_columns
        center[i, j] = completed_cells(center[i, j], whole.cell_radii, here)
        whole.choices.put(center, chosen)
        nothing = np.zeros(0, dtype=np.intp)
        return Block(center, nothing, nothing, np.zeros(0), whole.y, self.weight[rows])


@dataclass(frozen=True, slots=True)
class SharedBlock(Block):
    """A block with several completions of its rows."""

    shifts: Array = field(kw_only=True)
    """By how much each completion moves each uncertain cell, shape (cells, completions)."""
    chosen: Positions = field(kw_only=True)
    """The level of each missing category in each completion, shape (choices, completions)."""

    def scores(self, vectors: Array) -> Array:
        """Return the product of each row with the vector (a column) of each completion."""
        moved = self.shifts * vectors[self.cell_columns]
        scores = self.center @ vectors + adding(self.cell_rows, len(self.y)) @ moved
        for some, levels in self.choices.by_category():
            scores[self.choices.rows[some]] += self.changes(some, levels, vectors)
        return np.asarray(scores)

    def transposed_dot(self, coefficients: Array) -> Array:
        """Return the sum of the rows of each completion, each times its coefficient."""
        moved = self.shifts * coefficients[self.cell_rows]
        total = self.center.T @ coefficients
        total = total + adding(self.cell_columns, len(total)) @ moved
        for some, levels in self.choices.by_category():
            values, chosen = coefficients[self.choices.rows[some]], self.chosen[some]
            total[levels.columns] -= levels.share * (values * (chosen >= 0)).sum(axis=0)
            for k, column in enumerate(levels.columns):
                total[column] += (values * (chosen == k)).sum(axis=0)
        return np.asarray(total)

    def changes(self, some: Indices, levels: Levels, vectors: Array) -> Array:
        """Return by how much some choices of one category move the product with the vector of each completion."""
        chosen = self.chosen[some]
        return np.where(chosen < 0, 0.0, np.take_along_axis(levels.changes(vectors.T).T, np.maximum(chosen, 0), axis=0))


def adding(numbers: Indices, n: int) -> csr_array:
    """Return the matrix that adds up values of cells by their row, or by their column."""
    return csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))), shape=(n, len(numbers)))


class SharedRows(Rows):
    """The rows of several completions, for kernels that look at all of them in one pass.

    Parameters
    ----------
    rows : Rows
    places : Places
    positions : array of shape (n_completions, n_uncertain + n_choices)
    """

    def __init__(self, rows: Rows, places: Places, positions: Positions) -> None:
        super().__init__(rows.n_features, rows.y, rows.weight)
        self.rows, self.places, self.positions = rows, places, positions

    def block(self, rows: slice) -> SharedBlock:
        whole = self.rows.block(rows)
        here, chosen = self.places.within(rows, self.positions)
        cells = whole.cell_rows, whole.cell_columns, whole.cell_radii
        shifts = whole.cell_radii[:, None] * here.T
        part = whole.y, self.weight[rows], whole.choices
        return SharedBlock(whole.center, *cells, *part, shifts=shifts, chosen=chosen.T)
