"""Checks of tables and bounds; an error names the cell, or the column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ipub.errors import IpubError, MakeMissing
from ipub.numeric.parallel import SCAN_CELLS, in_threads, row_slices
from ipub.numeric.rounding import LARGEST, Array
from ipub.tables.missing_category import Indices


def column_label(column: int, names: Sequence[Any] | None) -> Any:
    """Return the name of a column, or its number if columns have no names."""
    return int(column) if names is None else names[column]


def as_table(values: ArrayLike, what: str) -> Array:
    """Return a table of numbers as floats, and raise an error for anything else."""
    if np.ma.is_masked(values):
        raise IpubError(f"{what} must not be masked: give a finite bound for every cell.")
    table = np.asarray(values)
    if table.ndim != 2:
        raise IpubError(f"{what} must be a table (2 dimensions), got {table.ndim} dimension(s).")
    if table.dtype.kind not in "fiub":
        raise IpubError(f"{what} must be numeric, got dtype {table.dtype}.")
    return table if table.dtype == np.float64 else table.astype(float)


def check_values(
    table: NDArray[np.generic],
    names: Sequence[Any] | None,
    *,
    what: str = "X",
    allow_nan: bool = True,
    first_row: int = 0,
) -> None:
    """Raise an error for infinite and huge values (and for NaN unless allowed) that names the first such cell.

    In the message the table is called `what`, and its first row has the number `first_row`.
    """

    def bad_cells(rows: slice) -> Indices:
        part = table[rows]
        if not allow_nan:
            return np.argwhere(~(np.abs(part) <= np.float64(LARGEST)))
        # A comparison with NaN is false; two of them need no absolute values, and no table of their own.
        beyond = part > np.float64(LARGEST)
        beyond |= part < -np.float64(LARGEST)
        return np.argwhere(beyond) if beyond.any() else np.zeros((0, 2), dtype=np.intp)

    slices = row_slices(table.shape[0], table.shape[1], SCAN_CELLS // 4)
    for rows, found in zip(slices, in_threads(bad_cells, slices), strict=True):
        if len(found):
            i, j = found[0]
            row = first_row + rows.start + int(i)
            raise _bad_value(what, row, column_label(j, names), float(table[rows][i, j]), allow_nan)


def _bad_value(what: str, row: int, column: Any, value: float, allow_nan: bool) -> IpubError:
    cell = {"what": what, "row": row, "column": column, "value": value}
    if not np.isfinite(value) and not allow_nan:
        name = "NaN" if np.isnan(value) else "infinity"
        return IpubError(
            "{what} contains {name} in {row}, column {column}: give a finite bound for every cell.", **cell, name=name
        )
    if np.isinf(value):
        return IpubError(
            "{what} contains infinity in {row}, column {column}: {remedy} (a hole), or give a finite value.",
            **cell,
            remedy=MakeMissing(),
        )
    return IpubError(
        "{what} contains {value:g} in {row}, column {column}, beyond {largest:g}: rescale the column.",
        **cell,
        largest=LARGEST,
    )


def find_holes(table: NDArray[np.generic], names: Sequence[Any] | None = None) -> tuple[list[Indices], list[Indices]]:
    """Return the NaN cells: how many in each row, and their columns row by row, as lists over row slices.

    Infinite and huge values raise an error, as in `check_values`, in the same pass.
    """

    def holes(rows: slice) -> tuple[Indices, Indices]:
        part = table[rows]
        in_row, column = np.divmod(np.flatnonzero(~(np.abs(part) <= np.float64(LARGEST))), part.shape[1])
        if not np.isnan(part[in_row, column]).all():
            check_values(part, names, first_row=rows.start)
        return np.bincount(in_row, minlength=len(part)), column

    nothing = np.zeros(0, dtype=np.intp)
    found = [(nothing, nothing), *in_threads(holes, row_slices(table.shape[0], table.shape[1], SCAN_CELLS // 4))]
    return [counts for counts, _ in found], [columns for _, columns in found]


def check_ranges(ranges: Array, n_columns: int) -> None:
    """Raise an error that names the column if a range is no interval of finite numbers."""
    if ranges.shape != (n_columns, 2):
        raise IpubError(f"ranges has shape {ranges.shape}, not ({n_columns}, 2): a lower and an upper end each.")
    wrong = np.flatnonzero(~((ranges[:, 0] <= ranges[:, 1]) & (np.abs(ranges).max(axis=1) <= LARGEST)))
    if len(wrong):
        low, high = ranges[wrong[0]]
        raise IpubError(
            "The range ({low:g}, {high:g}) of column {column} is not an interval of finite numbers.",
            low=low,
            high=high,
            column=int(wrong[0]),
        )


def refuse_crossed(low: Array, high: Array, names: Sequence[Any] | None) -> None:
    """Raise an error that names the cell if a lower bound is above the upper one."""
    for rows in row_slices(*low.shape):
        crossed = np.argwhere(low[rows] > high[rows])
        if len(crossed):
            i, j = crossed[0] + (rows.start, 0)
            raise IpubError(
                "Lower bound {low} is above upper bound {high} in {row}, column {column}. Swap them, or correct the "
                "cell.",
                low=low[i, j],
                high=high[i, j],
                row=int(i),
                column=column_label(j, names),
            )


def check_agreement(table: NDArray[np.generic], bound: Array, what: str, names: Sequence[Any] | None) -> None:
    """Raise an error that names the cell if a bound differs from an observed value."""
    for rows in row_slices(*table.shape):
        part = np.asarray(table[rows], dtype=float)
        different = ~np.isnan(part) & (part != bound[rows])
        if different.any():
            i, j = np.argwhere(different)[0]
            raise IpubError(
                "{what} is {value} in {row}, column {column}, where X is observed as {observed}: bounds must equal X "
                "there. If a step before this one rescales X, it must rescale the bounds as well (in a Pipeline: "
                "transform_input=['X_lower', 'X_upper']). To make an observed cell uncertain, fit on "
                "IntervalMatrix.from_bounds(lower, upper).",
                what=what,
                value=bound[rows.start + i, j],
                row=rows.start + int(i),
                column=column_label(j, names),
                observed=part[i, j],
            )
