"""Incomplete rows, each in several variants: in each of them the cell or category that matters most is settled, about.

A row's term is the largest of its variants'. A variant is bounded more closely, since what its cells do to its score and
what they do to the sum are the same cells in the same small intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ipub.certificates.row_sums.table import RowTable
from ipub.data.interval_matrix import Indices
from ipub.rounding import Array

FIRST_PIECES, SECOND_PIECES = 3, 2
"""Pieces of the intervals of a row's two main cells: width against time."""

MOST_VARIANTS = 64
"""Variants of one row, at most."""


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
        The level it has in each variant, if `is_settled`.
    is_settled : bool
        Else every variant may have any level.
    """

    category: int
    rows: Indices
    places: Indices
    level: Indices
    is_settled: bool


@dataclass(frozen=True, eq=False)
class Variants:
    """The variants of the incomplete rows.

    Attributes
    ----------
    row : array of shape (n_variants,)
        The incomplete row of each variant; variants of a row follow each other... in the order of their cells' number.
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
        sums = np.zeros((*values.shape[:-1], len(self.row)))
        first = 0
        for count in self.ranks:
            sums[..., :count] += values[..., first : first + count]
            first += count
        return sums

    def largest_of_row(self, values: Array) -> Array:
        """Return the largest value of each incomplete row's variants, along the last axis."""
        return np.asarray(np.maximum.reduceat(values[..., self.order], self.first_of_row, axis=-1))


def make_variants(table: RowTable) -> Variants:
    """Cut the intervals of each row's main cells, and settle its main category, by the sizes of w."""
    n = len(table.incomplete)
    cells_of: list[list[int]] = [[] for _ in range(n)]
    for cell, row in enumerate(table.cell_rows):
        cells_of[row].append(cell)
    missing_of: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for number, missing in enumerate(table.missing):
        for place, row in enumerate(missing.rows):
            missing_of[row].append((number, place))
    size = table.cell_radii * np.abs(table.w[table.cell_columns])
    variants: list[tuple[int, dict[int, tuple[float, float]], dict[tuple[int, int], int]]] = []
    for row in range(n):
        for pieces, levels in _settled(table, cells_of[row], missing_of[row], size):
            variants.append((row, pieces, levels))
    variants.sort(key=lambda variant: -len(cells_of[variant[0]]))
    return _assembled(table, variants, cells_of, missing_of)


def _settled(table, cells, missing, size):  # noqa: ANN001, ANN202
    """Yield for each variant of a row the pieces of its cells and the levels of its categories that are settled."""
    main = sorted(cells, key=lambda cell: -size[cell])[:2]
    choices = []
    by_levels = sorted(missing, key=lambda each: -float(np.ptp(table.w[table.missing[each[0]].columns])))
    count = 1
    for each in by_levels:
        n_levels = len(table.missing[each[0]].columns)
        if count * n_levels <= MOST_VARIANTS:
            choices.append([(each, level) for level in range(n_levels)])
            count *= n_levels
    for cell, n_pieces in zip(main, (FIRST_PIECES, SECOND_PIECES), strict=False):
        if count * n_pieces <= MOST_VARIANTS:
            edges = table.cell_radii[cell] * np.linspace(-1.0, 1.0, n_pieces + 1)
            choices.append([(cell, piece) for piece in zip(edges[:-1], edges[1:], strict=True)])
            count *= n_pieces
    for chosen in product(*choices):
        pieces = {key: value for key, value in chosen if not isinstance(key, tuple)}
        yield pieces, {key: value for key, value in chosen if isinstance(key, tuple)}


def _assembled(table, variants, cells_of, missing_of) -> Variants:  # noqa: ANN001
    most = max((len(cells) for cells in cells_of), default=0)
    cells, of_variant, lower, upper, ranks = [], [], [], [], []
    for rank in range(most):
        count = 0
        for number, (row, pieces, _) in enumerate(variants):
            if rank >= len(cells_of[row]):
                break
            cell = cells_of[row][rank]
            radius = table.cell_radii[cell]
            low, high = pieces.get(cell, (-radius, radius))
            cells.append(cell)
            of_variant.append(number)
            lower.append(low)
            upper.append(high)
            count += 1
        ranks.append(count)
    levels = []
    for category in range(len(table.missing)):
        found = [
            (number, place, settled.get((category, place), -1))
            for number, (row, _, settled) in enumerate(variants)
            for kind, place in missing_of[row]
            if kind == category
        ]
        each = np.array(found, dtype=np.intp).reshape(-1, 3)
        for is_settled in (True, False):
            which = each[(each[:, 2] >= 0) == is_settled]
            if len(which):
                levels.append(VariantLevels(category, which[:, 0], which[:, 1], which[:, 2], is_settled))
    return Variants(
        row=np.array([row for row, _, _ in variants], dtype=np.intp),
        cells=np.array(cells, dtype=np.intp),
        cell_variants=np.array(of_variant, dtype=np.intp),
        lower=np.array(lower, dtype=float),
        upper=np.array(upper, dtype=float),
        ranks=tuple(ranks),
        levels=tuple(levels),
    )
