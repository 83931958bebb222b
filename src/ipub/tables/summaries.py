"""Summaries of the columns of a table in memory, mapped from a file or on a device.

A long table is read twice, a block of rows at a time: once for the ends of its columns, and once for their quantiles,
which are exact (`ipub.tables.order_statistics`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.parallel import in_threads, row_slices
from ipub.numeric.rounding import Array
from ipub.tables.columns import SENTINELS, Column, interpolated, is_no_sentinel, ranks_of, rounded_outward
from ipub.tables.interval_matrix import Indices
from ipub.tables.order_statistics import Bracket, ColumnEnd, LongColumn, PieceCounts, count_in_piece, exact_columns
from ipub.tables.table_summary import Moments

LONG = 1 << 15
"""Rows from which blocks and a sample save time and memory."""
SAMPLED = 32
"""About one row in so many is in the sample, fewer of very long tables."""
MOST_SAMPLED = 1 << 14
"""Rows in a sample, about, at most."""
MANY_CELLS = 1 << 17
"""Cells from which threads save time."""
BLOCK_CELLS = 1 << 19
"""Cells of a block: enough that calls cost little, few enough that they take little memory."""
BLOCK_COLUMNS = 32
"""Columns of a block, at most: with few columns a block has many rows, so that each call does much work."""


def summarize_columns(
    table: NDArray[np.generic],
    columns: Sequence[int],
    probabilities: Sequence[float],
    counted: NDArray[np.bool_] | None = None,
) -> Iterator[Column]:
    """Summarize columns, in threads; yield the summaries in order.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
        The values, NaN where missing; on a device they are sorted there, column by column.
    columns : sequence of int
        Numbers of the columns.
    probabilities : pair of float
        Of the lower and of the upper quantile.
    counted : array of bool, optional
        Rows that count; all if left out.
    """
    if not isinstance(table, np.ndarray):
        yield from (_on_device(table, probabilities, counted, j) for j in columns)
    elif len(table) < LONG:
        whole = partial(_whole_column, table, probabilities, counted)
        yield from in_threads(whole, columns) if table.size > MANY_CELLS else map(whole, columns)
    else:
        for start in range(0, len(columns), BLOCK_COLUMNS):
            group = np.asarray(columns[start : start + BLOCK_COLUMNS])
            yield from _Group(table, group, counted).columns(probabilities)


def _whole_column(
    table: NDArray[np.generic], probabilities: Sequence[float], counted: NDArray[np.bool_] | None, j: int
) -> Column:
    return Column.of(np.array(table[:, j], dtype=float), probabilities, counted)


def _on_device(table: Any, probabilities: Sequence[float], counted: NDArray[np.bool_] | None, j: int) -> Column:
    """Summarize a column of a table on a device, as `Column.of` does; only where there may be a sentinel, by that."""
    values = table[:, j].astype(float, copy=False)
    has_holes = bool(np.isnan(values).any())
    ordered = np.sort(values if counted is None else values[counted])
    n = len(ordered) - int(np.count_nonzero(np.isnan(ordered)))
    if n == 0:
        return Column(has_holes, 0)
    least, greatest = float(ordered[0]), float(ordered[n - 1])
    suspects = [end for end in (least, greatest) if end in SENTINELS]
    if suspects:
        sample = np.asarray(ordered[: n : max(1, n // MOST_SAMPLED)])
        if not all(is_no_sentinel(sample, end) for end in suspects):
            return Column.of(np.asarray(values), probabilities, counted)
    n_ends = int(np.count_nonzero(ordered == least)) + int(np.count_nonzero(ordered == greatest))
    if n_ends == n or least == greatest:
        return Column(has_holes, n, least, greatest, (least, greatest))
    is_whole = least == np.floor(least) and int(np.count_nonzero(ordered == np.floor(ordered))) == n
    low, high = (
        interpolated(float(ordered[previous]), float(ordered[following]), fraction)
        for previous, following, fraction in (ranks_of(n, probability) for probability in probabilities)
    )
    return Column(has_holes, n, least, greatest, rounded_outward(low, high, is_whole))


class _Group:
    """Columns of a long table, read a block of rows after the other."""

    def __init__(self, table: NDArray[np.generic], group: Indices, counted: NDArray[np.bool_] | None) -> None:
        self.table, self.group, self.counted = table, group, counted
        is_run = bool((np.diff(group) == 1).all())
        self.where: slice | Indices = slice(int(group[0]), int(group[-1]) + 1) if is_run else group
        self.blocks = list(row_slices(len(table), len(group), BLOCK_CELLS))

    def columns(self, probabilities: Sequence[float]) -> Iterator[Column]:
        """Yield the summary of each column."""
        rows = np.arange(len(self.table)) if self.counted is None else np.flatnonzero(self.counted)
        samples = np.sort(self._values(rows[:: max(SAMPLED, len(rows) // MOST_SAMPLED)]), axis=1)
        found = zip(*in_threads(self._moments, self.blocks), strict=True)
        columns = []
        for k, (parts, sample) in enumerate(zip(found, samples, strict=True)):
            has_holes, moments = any(each for each, _ in parts), reduce(Moments.joined, [each for _, each in parts])
            columns.append(LongColumn(str(k), has_holes, moments, sample[~np.isnan(sample)]))
        return exact_columns(columns, {column.name for column in columns}, probabilities, self._counts)

    def _values(self, rows: slice | Indices) -> Array:
        """Return rows of the group, a line for each column."""
        return np.array(self.table[rows][:, self.where].T, dtype=float, order="C")

    def _that_count(self, values: Array, rows: slice) -> Array:
        return values if self.counted is None or self.counted[rows].all() else values[:, self.counted[rows]]

    def _moments(self, rows: slice) -> list[tuple[bool, Moments]]:
        values = self._values(rows)
        has_holes = [bool(np.isnan(line).any()) for line in values]
        return list(zip(has_holes, map(Moments.of, self._that_count(values, rows)), strict=True))

    def _counts(
        self, names: Sequence[str], brackets: Sequence[Bracket], ends: Sequence[ColumnEnd]
    ) -> Iterator[PieceCounts]:
        def count(rows: slice) -> PieceCounts:
            values = self._that_count(self._values(rows), rows)
            return count_in_piece({name: values[int(name)] for name in names}, brackets, ends)

        return in_threads(count, self.blocks)
