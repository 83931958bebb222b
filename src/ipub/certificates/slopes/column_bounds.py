"""The uncertain cells of a column together (lem-column-form): sums over cells, and so over blocks, of the size of d."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ipub.certificates.slopes.cell_coefficients import CellCoefficients
from ipub.certificates.slopes.cell_groups import CellTable, ColumnGroups, SignedColumns
from ipub.certificates.slopes.incomplete_rows import LEAST_DIVISOR, Leverages
from ipub.numeric.linalg import rounded_up
from ipub.numeric.rounding import Array, down, sum_upper, up
from ipub.rows.by_column import ByColumn, group_by_column
from ipub.tables.interval_matrix import Indices

LARGEST_WEIGHT = 1e100
"""Of the weights of all cells of a column together: they multiply last, and enlarge what underflowed (fp-slopes)."""

MOST_SIGNED = 1 << 21
"""Numbers of the forms of all columns together up to which there is lem-column-signs for each: width against memory, 16
MiB."""


class FormSums(NamedTuple):
    """What cells add to the form of each of some columns (lem-column-form), one entry a column."""

    row_counts: Array
    """How many rows each of its sums over rows has, one that vanishes in a row not counted; shape (n_columns, 3)."""
    weights: Array
    """O: the sum of the weights o_k."""
    generator_rows: Array
    generator_cross: Array
    generator_cells: Array
    """``sum_k G_k G_k^T / o_k``, ``G = row x + cell e_j``: squares of the first part, products, squares of the last."""
    other_rows: Array
    """``sum_k (2 (1 + 1/theta) product_row_k^2 + curvature_row_k^2/2) x_i x_i^T / o_k``."""
    other_cells: Array
    """``sum_k (2 (1 + 1/theta) product_cell_k^2 + curvature_cell_k^2/2) / o_k``."""


class SignedSums(NamedTuple):
    """What cells add to lem-column-signs for each of some columns, one entry a column."""

    vectors: Array
    """``sum_k sign_k row_k x_i`` and b, shape (n_columns, 2, d)."""
    generator_cells: Array
    """``sum_k |cell_k|``: with the first vector it is L."""
    curvature_forms: Array
    """Q."""
    sign_slack: Array
    """K."""


class _ColumnCells(NamedTuple):
    """The cells of some columns, with what both sums need of them."""

    which: Any
    group: Indices
    by_column: ByColumn
    n_columns: int

    @classmethod
    def of(cls, terms: CellCoefficients, columns: Indices) -> _ColumnCells:
        incomplete, n = terms.incomplete, len(columns)
        has_all = n == incomplete.center.shape[1]
        # Cells of other columns are left out.
        which: Any = slice(None) if has_all else np.flatnonzero(np.isin(incomplete.cell_columns, columns))
        j = incomplete.cell_columns[which]
        group = j if has_all else np.searchsorted(columns, j)
        cell_rows = incomplete.cell_rows[which]
        return cls(which, group, group_by_column(group, n, incomplete.center, cell_rows), n)

    def total(self, values: Array) -> Array:
        """Return the sum of values of the cells of each column."""
        return np.bincount(self.group, values, minlength=self.n_columns).astype(float, copy=False)


def column_sums(
    terms: CellCoefficients,
    inverse: Array,
    leverages: Leverages,
    weights: Array,
    moving_shares: Array,
    columns: Indices,
) -> tuple[FormSums, SignedSums]:
    """Return what the cells add to each of some columns (lem-column-form).

    Parameters
    ----------
    terms : CellCoefficients
    inverse, leverages
        About the inverse of the curvature, and what rows are in its metric.
    weights : array of shape (n_cells,)
        o_k of each cell.
    moving_shares : array of shape (n_features,)
        eps of each column.
    columns : array of shape (n_columns,)
        In ascending order.
    """
    cells = _ColumnCells.of(terms, columns)
    return form_sums(terms, cells, weights, moving_shares), signed_sums(terms, cells, inverse, leverages)


def form_sums(terms: CellCoefficients, cells: _ColumnCells, weights: Array, moving_shares: Array) -> FormSums:
    """Add up the form of each column (lem-column-form)."""
    which = cells.which
    weights, j = weights[which], terms.incomplete.cell_columns[which]
    # Roots first and squares last, so that nothing underflows that a sum of weights then enlarges (fp-slopes).
    root = np.sqrt(weights)
    product, curvature = np.sqrt(2.0 * (1.0 + 1.0 / moving_shares[j])) / root, np.sqrt(0.5) / root
    along = np.hypot(product * terms.product_row[which], curvature * terms.curvature_row[which])
    across = (product * terms.product_cell[which]) ** 2 + (curvature * terms.curvature_cell[which]) ** 2
    scaled_rows, scaled_cells = terms.generator_row[which] / root, terms.generator_cell[which] / root
    generator_rows, other_rows = cells.by_column.forms(scaled_rows, along)
    (generator_cross,) = cells.by_column.sums((scaled_rows, scaled_cells))
    row_parts = terms.generator_row, terms.product_row, terms.curvature_row
    return FormSums(
        row_counts=np.column_stack([cells.total(part[which] != 0.0) for part in row_parts]),
        weights=cells.total(weights),
        generator_rows=generator_rows,
        generator_cross=generator_cross,
        generator_cells=cells.total(scaled_cells * scaled_cells),
        other_rows=other_rows,
        other_cells=cells.total(across),
    )


def signed_sums(terms: CellCoefficients, cells: _ColumnCells, inverse: Array, leverages: Leverages) -> SignedSums:
    """Add up lem-column-signs for each column: how fast the sign of a cell is lost, how far it is from that."""
    which, incomplete = cells.which, terms.incomplete
    i, j = incomplete.cell_rows[which], incomplete.cell_columns[which]
    row, cell = terms.generator_row[which], terms.generator_cell[which]
    steepness = up(up(terms.product_row[which] + terms.curvature_row[which]) + np.abs(row))
    near = down(np.abs(cell) - up(terms.product_cell[which] + terms.curvature_cell[which]))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(leverages.squares[i] / np.diag(inverse)[j])
    beta = np.maximum(near, np.nan_to_num(0.5 * steepness * ratio, nan=0.0, posinf=0.0))
    beta = np.maximum(beta, LEAST_DIVISOR)
    signs = np.copysign(1.0, cell)
    slopes = signs * terms.weighted_slope[i] * incomplete.cell_radii[which]
    (curvature_forms,) = cells.by_column.forms(steepness / np.sqrt(beta))
    return SignedSums(
        vectors=np.stack(cells.by_column.sums((signs * row, None), (slopes, None)), axis=1),
        generator_cells=cells.total(np.abs(cell)),
        curvature_forms=curvature_forms,
        sign_slack=cells.total(up(beta - near)),
    )


def signed_columns(columns: Indices, sums: SignedSums, roundings: int) -> SignedColumns:
    """Put the sums of lem-column-signs together; `roundings` are those of a sum over all cells."""
    generators = sums.vectors[:, 0].copy()
    generators[np.arange(len(columns)), columns] += sums.generator_cells
    forms = np.array([rounded_up(form, roundings + 8) for form in sums.curvature_forms])
    forms = forms.reshape(sums.curvature_forms.shape)
    return SignedColumns(columns, generators, sums.vectors[:, 1].copy(), forms, sum_upper(sums.sign_slack, roundings))


@dataclass(frozen=True)
class ColumnForms:
    """What the sums of all blocks say of each of some columns (lem-column-form)."""

    columns: Indices
    n_rows: Indices
    """Of the sum over the fewest rows, but for those over none: a sum over few rows would show them."""
    weights: Array
    """O."""
    generator_forms: Array
    """``sum_k G_k G_k^T / o_k``."""
    generator_form_sizes: Array
    """What its rounding is relative to: a diagonal."""
    other_rows: Array
    other_cells: Array
    """As in `FormSums`."""

    def groups(self, moving_shares: Array, roundings: int, signed: SignedColumns | None) -> ColumnGroups:
        """Bound each column by one form, wherever the cells and v are."""
        numbers = np.arange(len(self.columns))
        factor = (1.0 + moving_shares[self.columns])[:, None]
        forms = factor[:, :, None] * self.generator_forms + self.other_rows
        forms[numbers, self.columns, self.columns] += self.other_cells
        # Where parts of a generator cancel, rounding is relative to them.
        relative = np.einsum("cjj->cj", forms) + factor * self.generator_form_sizes
        whole = [
            rounded_up(weight * form, roundings + 30, weight * diagonal)
            if weight <= LARGEST_WEIGHT
            else np.full_like(form, np.nan)
            for weight, form, diagonal in zip(self.weights, forms, relative, strict=True)
        ]
        d = self.generator_forms.shape[1]
        nothing = np.zeros((0, d))
        return ColumnGroups(
            columns=np.zeros(0, dtype=np.intp),
            generators=nothing,
            product_vectors=nothing,
            forms=np.array(whole).reshape(-1, d, d),
            form_rows=self.n_rows,
            signed=signed,
        )


def column_forms(columns: Indices, sums: FormSums) -> ColumnForms:
    """Put the sums of lem-column-form together."""
    forms, numbers = sums.generator_rows.copy(), np.arange(len(columns))
    forms[numbers, columns] += sums.generator_cross
    forms[numbers, :, columns] += sums.generator_cross
    forms[numbers, columns, columns] += sums.generator_cells
    size = np.einsum("cjj->cj", sums.generator_rows).copy()
    size[numbers, columns] += sums.generator_cells
    fewest = np.where(sums.row_counts > 0.0, sums.row_counts, np.inf).min(axis=1)
    n_rows = np.where(np.isfinite(fewest), fewest, 0.0).astype(np.intp)
    return ColumnForms(columns, n_rows, sums.weights, forms, size, sums.other_rows, sums.other_cells)


def sorted_cells(terms: CellCoefficients) -> tuple[ColumnGroups, CellTable]:
    """Sort the cells by column and sign of the derivative; forms are left out, so no bound can be made of them."""
    incomplete, d = terms.incomplete, terms.incomplete.center.shape[1]
    keys = 2 * incomplete.cell_columns + ~np.signbit(terms.generator_cell)
    order = np.argsort(keys, kind="stable")
    present, starts = np.unique(keys[order], return_index=True)
    starts = np.append(starts, len(order)).astype(np.intp)
    columns = (present // 2).astype(np.intp)
    rows = incomplete.center[incomplete.cell_rows[order]]
    cells = CellTable(
        starts=starts,
        rows=rows,
        generator_row=terms.generator_row[order],
        generator_cell=terms.generator_cell[order],
        product_row=terms.product_row[order],
        product_cell=terms.product_cell[order],
        curvature_row=terms.curvature_row[order],
        curvature_cell=terms.curvature_cell[order],
    )
    weighted_slope = terms.weighted_slope[incomplete.cell_rows[order]] * incomplete.cell_radii[order]
    slices = [slice(first, last) for first, last in pairwise(starts)]
    generators = np.array([cells.generator_row[g] @ rows[g] for g in slices]).reshape(-1, d)
    own = np.add.reduceat(cells.generator_cell, starts[:-1]) if len(order) else 0.0
    generators[np.arange(len(columns)), columns] += own
    product_vectors = np.array([weighted_slope[g] @ rows[g] for g in slices]).reshape(-1, d)
    no_form = np.full((1, d, d), np.nan)
    return ColumnGroups(columns, generators, product_vectors, no_form, np.zeros(1, dtype=np.intp)), cells


def with_column_forms(groups: ColumnGroups, terms: CellCoefficients, inverse: Array) -> ColumnGroups:
    """Bound the cells of each column together (lem-column-form)."""
    incomplete, d = terms.incomplete, len(inverse)
    leverages = incomplete.leverages(inverse)
    weights = terms.weights(inverse, leverages)
    moving_shares, present = terms.moving_shares(inverse, leverages, weights), np.unique(groups.columns)
    # Of a wide table some columns at a time, so that little is made at once; and one form each is enough.
    is_signed = len(present) * d * d <= MOST_SIGNED
    at_once = max(1, len(present) if is_signed else MOST_SIGNED // (4 * d * d))
    parts = []
    for start in range(0, len(present), at_once):
        columns = present[start : start + at_once]
        cells, signed = _ColumnCells.of(terms, columns), None
        forms = column_forms(columns, form_sums(terms, cells, weights, moving_shares))
        if is_signed:
            signed = signed_columns(columns, signed_sums(terms, cells, inverse, leverages), incomplete.roundings)
        parts.append(forms.groups(moving_shares, incomplete.roundings, signed))
    no_form, no_rows = np.zeros((0, d, d)), np.zeros(0, dtype=np.intp)
    return replace(
        groups,
        forms=np.concatenate([no_form, *(part.forms for part in parts)]),
        form_rows=np.concatenate([no_rows, *(part.form_rows for part in parts)]),
        signed=parts[0].signed if is_signed and parts else None,
    )


def with_forms(groups: ColumnGroups, *pairs: tuple[Array, int]) -> ColumnGroups:
    """Add forms, each with the number of rows that it is a sum over."""
    forms = [form[None] for form, _ in pairs]
    rows = np.array([count for _, count in pairs], dtype=np.intp)
    return replace(
        groups, forms=np.concatenate([groups.forms, *forms]), form_rows=np.concatenate([groups.form_rows, rows])
    )
