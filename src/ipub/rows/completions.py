"""Completions of rows with uncertain cells: a single one, or several evaluated in the same pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.rows.block import Block, Reads, reads
from ipub.rows.ops import adding_matrix
from ipub.rows.rows import PerBlock, Rows
from ipub.rows.views import View
from ipub.tables.interval_matrix import Indices, completed_cells
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.tables.missing_category import Levels

Positions = NDArray[np.float32]
"""Where each uncertain cell is, row by row: -1 lower end, 0 center, 1 upper end, or between them; then the level of
each missing category."""


@dataclass(frozen=True)
class PositionLayout:
    """Where the uncertain cells and the missing categories of each block are among the positions of a completion."""

    cell_starts: Indices
    """Shape (n_blocks + 1,): the uncertain cells of block b are numbers ``cell_starts[b]`` to ``cell_starts[b + 1] -
    1``."""
    category_starts: Indices
    """Shape (n_blocks + 1,): likewise its missing categories, whose positions follow those of all cells."""
    center: Positions
    """Shape (n_uncertain + n_missing,): the positions of the center: 0 for every cell, -1 (the mean of all levels) for
    every missing category."""

    @classmethod
    def of(cls, rows: Rows) -> PositionLayout:
        """Count the uncertain cells and missing categories of each block."""
        counts = np.array(rows.map(_cell_counts).parts, dtype=np.intp).reshape(-1, 2)
        starts = np.concatenate([np.zeros((1, 2), dtype=np.intp), np.cumsum(counts, axis=0)])
        n_cells, n_missing = starts[-1]
        return cls(starts[:, 0], n_cells + starts[:, 1], np.repeat([0, -1], [n_cells, n_missing]).astype(np.float32))

    @property
    def n_cells(self) -> int:
        """Number of uncertain cells."""
        return int(self.cell_starts[-1])

    def per_block(self, positions: NDArray[Any]) -> PerBlock:
        """Cut positions, along the last axis, into those of each block: a pair for its cells and its categories."""
        cells = zip(self.cell_starts, self.cell_starts[1:], strict=False)
        categories = zip(self.category_starts, self.category_starts[1:], strict=False)
        return PerBlock(
            tuple(
                (positions[..., a:b], positions[..., c:d].astype(np.intp))
                for (a, b), (c, d) in zip(cells, categories, strict=True)
            )
        )


@reads(Reads.CELLS)
def _cell_counts(block: Block) -> tuple[int, int]:
    return len(block.cell_radii), len(block.missing_categories)


@dataclass(frozen=True)
class Completion:
    """A completion of the training table: every uncertain cell at some place in its interval."""

    rows: Rows
    """The training rows with their intervals."""
    layout: PositionLayout
    """Which positions belong to which block."""
    positions: Positions
    """Shape (n_uncertain + n_missing,): for each uncertain cell, row by row, where it is in its interval: from -1, the
    lower end, to 1, the upper end. Then the index of the level for each missing category."""

    def completed(self) -> Rows:
        """Return the rows of this completion: no cell is uncertain any more."""
        return View(self.rows, _completed, self.layout.per_block(self.positions), categories=(), certain_labels=True)

    def targets(self) -> Array:
        """Return the labels (-1 and 1) or targets that go with the table, uncertain ones as they were chosen."""
        return self.rows.labels().y

    def weights(self) -> Array:
        """Return the weights that go with the table; of the two rows of an unknown class one has none."""
        return self.rows.labels().weight

    def table(self) -> Array:
        """Return the completed training table."""
        return whole_table(self.completed()).center


def _completed(block: Block, positions: tuple[Positions, Indices]) -> Block:
    here, chosen = positions
    center, i, j = block.center.copy(), block.cell_rows, block.cell_columns
    center[i, j] = completed_cells(center[i, j], block.cell_radii, here)
    block.missing_categories.put(center, chosen)
    nothing = np.zeros(0, dtype=np.intp)
    return Block(center, nothing, nothing, np.zeros(0), block.y, block.weight)


@dataclass(frozen=True, slots=True)
class SharedBlock(Block):
    """A block with several completions of its rows."""

    shifts: Array = field(kw_only=True)
    """By how much each completion moves each uncertain cell, shape (n_uncertain, n_completions)."""
    chosen: Indices = field(kw_only=True)
    """The level of each missing category in each completion, shape (n_missing, n_completions)."""

    def scores(self, vectors: Array) -> Array:
        """Return the product of each row with the vector (a column) of each completion."""
        moved = self.shifts * vectors[self.cell_columns]
        scores = self.center @ vectors + adding_matrix(self.cell_rows, len(self.y)) @ moved
        for which, levels in self.missing_categories.by_category():
            scores[self.missing_categories.rows[which]] += self.changes(which, levels, vectors)
        return np.asarray(scores)

    def transposed_dot(self, coefficients: Array) -> Array:
        """Return the sum of the rows of each completion, each times its coefficient."""
        moved = self.shifts * coefficients[self.cell_rows]
        total = self.center.T @ coefficients
        total = total + adding_matrix(self.cell_columns, len(total)) @ moved
        for which, levels in self.missing_categories.by_category():
            values, chosen = coefficients[self.missing_categories.rows[which]], self.chosen[which]
            total[levels.columns] -= levels.center_value * (values * (chosen >= 0)).sum(axis=0)
            for k, column in enumerate(levels.columns):
                total[column] += (values * (chosen == k)).sum(axis=0)
        return np.asarray(total)

    def completed(self, number: int) -> Array:
        """Return the rows of one completion."""
        table = self.center.copy()
        table[self.cell_rows, self.cell_columns] += self.shifts[:, number]
        self.missing_categories.put(table, self.chosen[:, number])
        return table

    def changes(self, which: Indices, levels: Levels, vectors: Array) -> Array:
        """Return how far missing values of one category move the product with the vector of each completion."""
        chosen = self.chosen[which]
        return np.where(chosen < 0, 0.0, np.take_along_axis(levels.changes(vectors.T).T, np.maximum(chosen, 0), axis=0))


def side_by_side(rows: Rows, layout: PositionLayout, positions: Positions) -> Rows:
    """Return the rows with several completions, for kernels that evaluate all of them in one pass.

    `positions` has a row for each completion, shape (n_completions, n_uncertain + n_missing).
    """
    return View(rows, _side_by_side, layout.per_block(positions))


def _side_by_side(block: Block, positions: tuple[Positions, Indices]) -> SharedBlock:
    here, chosen = positions
    cells = block.cell_rows, block.cell_columns, block.cell_radii
    return SharedBlock(
        block.center,
        *cells,
        block.y,
        block.weight,
        block.missing_categories,
        shifts=block.cell_radii[:, None] * here.T,
        chosen=chosen.T,
    )


class WholeTable(NamedTuple):
    """All rows of a table in one place, their uncertain cells row by row."""

    center: Array
    cell_counts: Indices
    """Number of uncertain cells of each row."""
    cell_columns: Indices
    cell_radii: Array
    missing_counts: Indices
    """Number of missing categories of each row."""
    categories: Indices
    """Index of the category of each missing one."""
    y: Array
    weight: Array
    label_radius: Array
    """How far each target is uncertain (`LabelUncertainty.radius`)."""
    weight_radius: Array
    """How far each weight is uncertain, relatively (`LabelUncertainty.weight_radius`)."""


def whole_table(rows: Rows) -> WholeTable:
    """Gather a table that is small enough; raises ValueError if it is not."""
    gathered: WholeTable | None = rows.gather(whole_block)
    if gathered is None:
        raise IpubError(f"A table of {rows.n_rows:,} rows is too long to be gathered in one place.")
    return gathered


def whole_block(block: Block, keep: NDArray[np.bool_] | None = None) -> WholeTable:
    """Return some rows of a block, or all of them, as a table."""
    kept = np.ones_like(block.y, dtype=bool) if keep is None else keep
    cells, missing = kept[block.cell_rows], kept[block.missing_categories.rows]
    cell_counts = np.bincount(block.cell_rows[cells], minlength=block.n_rows)[kept]
    missing_counts = np.bincount(block.missing_categories.rows[missing], minlength=block.n_rows)[kept]
    labels = block.label_uncertainty or LabelUncertainty.of_wrong_labels(block.n_rows, 0)
    return WholeTable(
        block.center[kept],
        cell_counts,
        block.cell_columns[cells],
        block.cell_radii[cells],
        missing_counts,
        block.missing_categories.categories[missing],
        block.y[kept],
        block.weight[kept],
        labels.radius[kept],
        labels.weight_radius[kept],
    )
