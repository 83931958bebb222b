"""Incomplete rows, each in several variants: in each of them the cell or category that matters most is settled, about.

A row's term is the largest of its variants' terms. That of a variant is bounded more closely: what its cells do to its
score, and what they do to the sum, are cells in the same small intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.table import RowTable, sums_by_rank
from ipub.data.interval_matrix import Indices
from ipub.rounding import Array

MOST_PIECES = (3, 2)
"""Pieces of the intervals of a row's two main cells, at most: width against time."""

PIECE = 0.3
"""What a piece moves the row's score, about: a cell that moves it less is not cut.

For regression, in units of the rows' mean derivative: of the mean residual, or, if that is clipped, of its limit."""

MOST_VARIANTS = 64
"""Variants of one row, at most."""

CENTER = -1
"""Stands for the center of a missing category, the mean of its levels, in place of a level."""

UNSETTLED = -2


@dataclass(frozen=True, eq=False)
class VariantLevels:
    """Where one category is missing, variant by variant.

    Attributes
    ----------
    category : int
        Its number in `RowTable.missing`.
    rows : array of shape (n,)
        The variant.
    places : array of shape (n,)
        Its place in `MissingLevels.rows`.
    level : array of shape (n,)
        The level it has in each variant, or `CENTER`, if `is_settled`.
    is_settled : bool
        Else every variant may have any level.
    """

    category: int
    rows: Indices
    places: Indices
    level: Indices
    is_settled: bool

    @property
    def is_center(self) -> NDArray[np.bool_]:
        """Whether each is at the center."""
        return np.asarray(self.level == CENTER)


@dataclass(frozen=True, eq=False)
class Variants:
    """The variants of the incomplete rows.

    Attributes
    ----------
    row : array of shape (n_variants,)
        The incomplete row of each variant; those of rows with more cells come first.
    cells : array of shape (n_variant_cells,)
        Which cell of the table each is.
    cell_variants : array of shape (n_variant_cells,)
    lower, upper : arrays of shape (n_variant_cells,)
        Between which changes, from the center, each cell is in its variant.
    ranks : tuple of int
        How many variants have a first, a second, ... cell.
    levels : tuple of VariantLevels
    """

    row: Indices
    cells: Indices
    cell_variants: Indices
    lower: Array
    upper: Array
    ranks: tuple[int, ...]
    levels: tuple[VariantLevels, ...]

    @cached_property
    def order(self) -> Indices:
        """Variants in the order of their rows."""
        return np.argsort(self.row, kind="stable")

    @cached_property
    def first_of_row(self) -> Indices:
        """Where the variants of each row begin in `order`."""
        return np.flatnonzero(np.diff(self.row[self.order], prepend=-1))

    def sums(self, values: Array) -> Array:
        """Add up values of cells, along the last axis, for each variant."""
        return sums_by_rank(values, self.ranks, len(self.row))

    @cached_property
    def places(self) -> Indices:
        """Where among the variants' cells the first, second, ... cell of each variant is; shape (n_variants, n)."""
        places = np.zeros((len(self.row), max(len(self.ranks), 1)), dtype=np.intp)
        first = 0
        for rank, count in enumerate(self.ranks):
            places[:count, rank] = np.arange(first, first + count)
            first += count
        return places

    @cached_property
    def rank_of_cell(self) -> Indices:
        """Whether each cell of the table is the first, second, ... of its row."""
        rank = np.zeros(self.cells.max(initial=-1) + 1, dtype=np.intp)
        rank[self.cells] = np.repeat(np.arange(len(self.ranks)), self.ranks)
        return rank

    @cached_property
    def of_row(self) -> Indices:
        """The variants of each row, the first of them repeated where there are fewer; shape (n_rows, n)."""
        ends = np.append(self.first_of_row[1:], len(self.order))
        counts = ends - self.first_of_row
        place = np.arange(counts.max(initial=1))
        return self.order[self.first_of_row[:, None] + np.where(place < counts[:, None], place, 0)]

    @cached_property
    def level_of(self) -> dict[int, Indices]:
        """The level of each category that a variant has, `CENTER` or `UNSETTLED`; shape (n_variants,)."""
        found = {each.category: np.full(len(self.row), UNSETTLED, dtype=np.intp) for each in self.levels}
        for each in self.levels:
            if each.is_settled:
                found[each.category][each.rows] = each.level
        return found

    def best_of_row(self, values: Array) -> Indices:
        """Return the variant of each incomplete row with the largest value; values have shape (k, n_variants)."""
        of_rows = values[:, self.of_row]
        largest = of_rows.max(axis=2, keepdims=True)
        which = (of_rows >= largest - 1e-7 * np.abs(largest)).argmax(axis=2)  # the first of those that are as large
        return np.asarray(self.of_row[np.arange(len(self.of_row)), which], dtype=np.intp)

    def largest_of_row(self, values: Array) -> Array:
        """Return the largest value of each incomplete row's variants, along the last axis."""
        return np.asarray(np.maximum.reduceat(values[..., self.order], self.first_of_row, axis=-1))


class _Variant(NamedTuple):
    row: int
    pieces: Mapping[int, tuple[float, float]]
    """The part of its interval that a settled cell is in."""
    levels: Mapping[tuple[int, int], int]
    """The level of a settled category, which is named by its number and its place."""


class _Row(NamedTuple):
    cells: list[int]
    missing: list[tuple[int, int]]


def make_variants(table: RowTable, *, with_centers: bool) -> Variants:
    """Cut the intervals of each row's main cells, and settle its categories, as far as that is not too many.

    Parameters
    ----------
    table : RowTable
    with_centers : bool
        Whether the center of a row whose category is missing, which is no completion of it, is one more variant: the
        objectives between the center and a completion have it as well (Theorem 12).
    """
    rows = [_Row([], []) for _ in table.incomplete]
    for cell, row in enumerate(table.cell_rows):
        rows[row].cells.append(cell)
    for number, missing in enumerate(table.missing):
        for place, row in enumerate(missing.rows):
            rows[row].missing.append((number, place))
    size = table.cell_radii * np.abs(table.w[table.cell_columns]) / _unit_of_scores(table)
    variants = [
        _Variant(number, dict(pieces), dict(levels))
        for number, row in enumerate(rows)
        for pieces, levels in _settled(table, row, size)
    ]
    if with_centers:
        variants += [
            _Variant(number, dict.fromkeys(row.cells, (0.0, 0.0)), dict.fromkeys(row.missing, CENTER))
            for number, row in enumerate(rows)
            if row.missing
        ]
    return _assembled(table, rows, variants)


def _unit_of_scores(table: RowTable) -> float:
    """Return what scores are compared with: for regression it grows with the unit of the targets."""
    graph = table.incomplete_graph
    if graph.loss.task == "classification" or not len(table.incomplete):
        return 1.0
    return float(np.abs(graph.value(table.incomplete @ table.w)).mean()) or 1.0


Pieces = tuple[tuple[int, tuple[float, float]], ...]
ChosenLevels = tuple[tuple[tuple[int, int], int], ...]


def _settled(table: RowTable, row: _Row, size: Array) -> Iterator[tuple[Pieces, ChosenLevels]]:
    """Yield for each variant of a row the pieces of its cells and the levels of its categories that are settled."""
    count, of_levels, of_cells = 1, [], []
    spread = {each: float(np.ptp(table.w[table.missing[each[0]].columns])) for each in row.missing}
    for each in sorted(row.missing, key=lambda each: -spread[each]):
        n_levels = len(table.missing[each[0]].columns)
        if count * n_levels <= MOST_VARIANTS:
            of_levels.append([(each, level) for level in range(n_levels)])
            count *= n_levels
    main = sorted(row.cells, key=lambda cell: -size[cell])
    for cell, most in zip(main, MOST_PIECES, strict=False):
        n_pieces = int(min(most, np.ceil(2.0 * size[cell] / PIECE)))
        if n_pieces > 1 and count * n_pieces <= MOST_VARIANTS:
            edges = (table.cell_radii[cell] * np.linspace(-1.0, 1.0, n_pieces + 1)).tolist()
            of_cells.append([(cell, piece) for piece in pairwise(edges)])
            count *= n_pieces
    for levels in product(*of_levels):
        for pieces in product(*of_cells):
            yield pieces, levels


def _assembled(table: RowTable, rows: list[_Row], variants: list[_Variant]) -> Variants:
    """Put the cells of all variants into arrays: the first of every variant, then every second one, and so on."""
    variants = sorted(variants, key=lambda variant: -len(rows[variant.row].cells))
    cells, ranks = [], []
    for rank in range(max((len(row.cells) for row in rows), default=0)):
        with_cell = [number for number, each in enumerate(variants) if rank < len(rows[each.row].cells)]
        ranks.append(len(with_cell))
        for number in with_cell:
            cell = rows[variants[number].row].cells[rank]
            radius = table.cell_radii[cell]
            cells.append((cell, number, *variants[number].pieces.get(cell, (-radius, radius))))
    each_cell = np.array(cells, dtype=float).reshape(-1, 4)
    levels = []
    for category in range(len(table.missing)):
        found = [
            (number, place, variant.levels.get((category, place), UNSETTLED))
            for number, variant in enumerate(variants)
            for kind, place in rows[variant.row].missing
            if kind == category
        ]
        each = np.array(found, dtype=np.intp).reshape(-1, 3)
        for is_settled in (True, False):
            which = each[(each[:, 2] != UNSETTLED) == is_settled]
            if len(which):
                levels.append(VariantLevels(category, which[:, 0], which[:, 1], which[:, 2], is_settled))
    return Variants(
        row=np.array([variant.row for variant in variants], dtype=np.intp),
        cells=each_cell[:, 0].astype(np.intp),
        cell_variants=each_cell[:, 1].astype(np.intp),
        lower=each_cell[:, 2],
        upper=each_cell[:, 3],
        ranks=tuple(ranks),
        levels=tuple(levels),
    )
