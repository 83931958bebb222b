"""The uncertain cells of a column together (Lemma 8): sums over cells, and so over blocks, of the size of d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.slope.bounds import CellTable, ColumnGroups, SignedColumns
from ipub.certificates.slope.cell_terms import CellTerms, Leverages
from ipub.data.interval_matrix import Indices
from ipub.engine.rows import Sums
from ipub.linalg import rounded_up
from ipub.rounding import Array, down, sum_upper, up

T = TypeVar("T", bound=np.generic)

PIECE = 128
"""Cells of one product in sums by column, where columns have very different numbers of cells."""

FILLED_UP = 1.5
"""Columns are filled up to the longest if that makes no more than so many times as many cells."""

LARGEST_WEIGHT = 1e100
"""Of the weights of all cells of a column together: they multiply last, and would enlarge what underflowed (F9)."""

MOST_LEANING = 1 << 21
"""Numbers of the forms of all columns together up to which there is Lemma 8 (b) for each (16 MiB)."""

LEAST_BETA = 1e-140
"""Of the numbers that Lemma 8 (b) divides by."""


@dataclass(frozen=True)
class _ByColumn:
    """Cells sorted by column, in pieces of one column each; the last of a column is filled up with nothing."""

    order: Indices
    places: Indices
    """Where each sorted cell stands."""
    length: int
    """Cells of a piece."""
    pieces: Indices
    """Number of pieces of each column."""

    @classmethod
    def of(cls, columns: Indices, n_columns: int) -> _ByColumn:
        counts = np.bincount(columns, minlength=n_columns)
        most = max(1, int(counts.max(initial=0)))
        length = most if np.count_nonzero(counts) * most <= FILLED_UP * len(columns) else PIECE
        pieces = -(-counts // length)
        shift = length * (np.cumsum(pieces) - pieces) - (np.cumsum(counts) - counts)
        places = np.arange(len(columns)) + np.repeat(shift, counts)
        return cls(np.argsort(columns, kind="stable"), places, length, pieces)

    def sorted(self, values: NDArray[T]) -> NDArray[T]:
        """Put values of the cells in place, 0 where there is none."""
        placed = np.zeros(self.length * int(self.pieces.sum()), dtype=values.dtype)
        placed[self.places] = values[self.order]
        return placed

    def forms(self, rows: Array) -> Array:
        """Return ``sum_k z_k z_k^T`` over the rows z of each column's cells, shape (n_columns, d, d)."""
        z = rows.reshape(-1, self.length, rows.shape[1])
        return self._added(z.transpose(0, 2, 1) @ z)

    def sums(self, rows: Array, *factors: Array) -> Array:
        """Return ``sum_k factors_k z_k`` over the rows z of each column's cells, shape (n_columns, n_factors, d)."""
        stacked = np.stack([self.sorted(each).reshape(-1, self.length) for each in factors], axis=1)
        return self._added(stacked @ rows.reshape(-1, self.length, rows.shape[1]))

    def _added(self, parts: Array) -> Array:
        """Add up the pieces of each column."""
        if (self.pieces == 1).all():
            return parts
        total = np.zeros((len(self.pieces), *parts.shape[1:]))
        some = np.flatnonzero(self.pieces)
        if self.pieces.max(initial=0) <= 1:
            total[some] = parts
        else:
            total[some] = np.add.reduceat(parts, (np.cumsum(self.pieces) - self.pieces)[some])
        return total


def column_sums(
    terms: CellTerms,
    inverse: Array,
    known: Leverages,
    size: Array,
    shares: Array,
    columns: Indices,
    leans: bool = True,
) -> Sums:
    """Return what the cells add to each of some columns, in the order of the arguments of `ColumnForms.of`.

    Parameters
    ----------
    terms : CellTerms
    inverse, known
        About the inverse of the curvature, and what rows look like with it.
    size : array of shape (n_cells,)
        The weight of each cell.
    shares : array of shape (n_features,)
        Of each column, how much of its form goes to what depends on the move.
    columns : array of shape (n_columns,)
        In ascending order.
    leans : bool
        Whether to add up what Lemma 8 (b) needs as well.
    """
    some, n = terms.some, len(columns)
    # Cells of other columns are left out.
    cells: Any = slice(None)
    if n < some.center.shape[1]:
        cells = np.flatnonzero(np.isin(some.cell_columns, columns))
    i, j, size, radii = (part[cells] for part in (some.cell_rows, some.cell_columns, size, some.cell_radii))
    parts = terms.rise, terms.level, terms.pull_row, terms.pull_cell, terms.bend_row, terms.bend_cell
    rise, level, pull_row, pull_cell, bend_row, bend_cell = (part[cells] for part in parts)
    group = j if n == some.center.shape[1] else np.searchsorted(columns, j)
    by_column = _ByColumn.of(group, n)
    rows = some.center[by_column.sorted(i)]
    # Roots first and squares last, so that nothing underflows that a sum of weights then enlarges (F9).
    root = np.sqrt(size)
    pull, bend = np.sqrt(2.0 * (1.0 + 1.0 / shares[j])) / root, np.sqrt(0.5) / root
    along = np.hypot(pull * pull_row, bend * bend_row)
    across = (pull * pull_cell) ** 2 + (bend * bend_cell) ** 2
    risen, own = rows * by_column.sorted(rise / root)[:, None], level / root
    sums = (
        np.bincount(group, size, minlength=n),
        by_column.forms(risen),
        by_column.sums(risen, own)[:, 0],
        np.bincount(group, own * own, minlength=n),
        by_column.forms(rows * by_column.sorted(along)[:, None]),
        np.bincount(group, across, minlength=n),
    )
    if not leans:
        return sums
    # Lemma 8 (b): how fast the sign of a cell is lost, and how far it is from that.
    steep = up(up(pull_row + bend_row) + np.abs(rise))
    near = down(np.abs(level) - up(pull_cell + bend_cell))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(known[1][i] / np.diag(inverse)[j])
    beta = np.maximum(near, np.nan_to_num(0.5 * steep * ratio, nan=0.0, posinf=0.0))
    beta = np.maximum(beta, LEAST_BETA)
    signs = np.copysign(1.0, level)
    return (
        *sums,
        by_column.sums(rows, signs * rise, signs * terms.curved[i] * radii),
        np.bincount(group, np.abs(level), minlength=n),
        by_column.forms(rows * by_column.sorted(steep / np.sqrt(beta))[:, None]),
        np.bincount(group, up(beta - near), minlength=n),
    )


@dataclass(frozen=True)
class ColumnForms:
    """What the sums of all blocks say of each of some columns (Lemma 8)."""

    columns: Indices
    sizes: Array
    """Sum of the weights of the cells."""
    first: Array
    """``sum_k G_k G_k^T / weight_k``."""
    first_size: Array
    """What its rounding is relative to: a diagonal."""
    others: Array
    """The same of what depends on the move, and of bends, times what the column's share says; along rows."""
    across: Array
    """And along the cell itself."""
    leaning: SignedColumns | None

    @classmethod
    def of(cls, columns: Indices, roundings: int, sums: Sequence[Array]) -> ColumnForms:
        """Put the sums together; `roundings` are those of a sum over all cells."""
        sizes, rows, cross, own, others, across, *more = sums
        first, each = rows.copy(), np.arange(len(columns))
        # G = rise x + level e_j: the squares of the first part, the products of both, the squares of the second.
        first[each, columns] += cross
        first[each, :, columns] += cross
        first[each, columns, columns] += own
        size = np.einsum("cjj->cj", rows).copy()
        size[each, columns] += own
        leans = None
        if more:
            leaning, levels, curvature_forms, spare = more
            generators = leaning[:, 0].copy()
            generators[each, columns] += levels
            bowed = np.array([rounded_up(bow, roundings + 8) for bow in curvature_forms]).reshape(curvature_forms.shape)
            leans = SignedColumns(columns, generators, leaning[:, 1].copy(), bowed, sum_upper(spare, roundings))
        return cls(columns, sizes, first, size, others, across, leans)

    def groups(self, shares: Array, roundings: int) -> ColumnGroups:
        """Bound each column by one form, whatever D and v."""
        each = np.arange(len(self.columns))
        share = (1.0 + shares[self.columns])[:, None]
        forms = share[:, :, None] * self.first + self.others
        forms[each, self.columns, self.columns] += self.across
        # Where parts of a generator cancel, rounding is relative to them.
        relative = np.einsum("cjj->cj", forms) + share * self.first_size
        parts = zip(self.sizes, forms, relative, strict=True)
        whole = [
            rounded_up(size * form, roundings + 30, size * diagonal)
            if size <= LARGEST_WEIGHT
            else np.full_like(form, np.nan)
            for size, form, diagonal in parts
        ]
        d = self.first.shape[1]
        nothing = np.zeros((0, d))
        return ColumnGroups(
            np.zeros(0, dtype=np.intp), nothing, nothing, np.array(whole).reshape(-1, d, d), self.leaning
        )


def sorted_cells(terms: CellTerms) -> tuple[ColumnGroups, CellTable]:
    """Sort the cells by column and sign of the derivative; forms are left out, so no bound can be made of them."""
    some, d = terms.some, terms.some.center.shape[1]
    keys = 2 * some.cell_columns + ~np.signbit(terms.level)
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    starts = np.append(starts, len(order)).astype(np.intp)
    columns = (found // 2).astype(np.intp)
    rows = some.center[some.cell_rows[order]]
    parts = terms.rise, terms.level, terms.pull_row, terms.pull_cell, terms.bend_row, terms.bend_cell
    cells = CellTable(starts, rows, *(part[order] for part in parts))
    curved = terms.curved[some.cell_rows[order]] * some.cell_radii[order]
    slices = [slice(first, last) for first, last in pairwise(starts)]
    generators = np.array([cells.rise[g] @ rows[g] for g in slices]).reshape(-1, d)
    generators[np.arange(len(columns)), columns] += np.add.reduceat(cells.level, starts[:-1]) if len(order) else 0.0
    pulls = np.array([curved[g] @ rows[g] for g in slices]).reshape(-1, d)
    return ColumnGroups(columns, generators, pulls, np.full((1, d, d), np.nan)), cells


def with_column_forms(groups: ColumnGroups, terms: CellTerms, inverse: Array, jumps: Array) -> ColumnGroups:
    """Bound the cells of each column together (Lemma 8), and what else there is by forms."""
    some = terms.some
    known = some.leverages(inverse)
    size = terms.own_size(inverse, known)
    shares, present = terms.shares(inverse, known, size), np.unique(groups.columns)
    # Of a wide table some columns at a time, so that little is made at once; and one form each is enough.
    d = len(inverse)
    leans = len(present) * d * d <= MOST_LEANING
    at_once = len(present) if leans else max(1, MOST_LEANING // (4 * d * d))
    parts = []
    for start in range(0, len(present), max(1, at_once)):
        columns = present[start : start + at_once]
        sums = column_sums(terms, inverse, known, size, shares, columns, leans)
        parts.append(ColumnForms.of(columns, some.roundings, sums).groups(shares, some.roundings))
    more = [*([jumps] if jumps.any() else []), *(each.form(inverse) for each in terms.choices)]
    forms = np.concatenate([np.zeros((0, d, d)), *(part.forms for part in parts), *(form[None] for form in more)])
    return replace(groups, forms=forms, leaning=parts[0].leaning if leans and parts else None)
