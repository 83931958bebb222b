"""Rows in arrays of another library: CuPy, PyTorch, or any of the array API; on a GPU, or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.linalg import CHUNK_NUMBERS
from ipub.numeric.parallel import longer_slices, row_slices
from ipub.numeric.rounding import LARGEST, Array, check_arithmetic, midpoint_and_radius, overflow_means_unbounded
from ipub.rows.block import Block, BlockCache, Reads, reads_of
from ipub.rows.device import DeviceArray, Library, to_device, to_host
from ipub.rows.device.libraries import is_out_of_memory
from ipub.rows.device.sums import sum_height
from ipub.rows.memory import MemoryRows
from ipub.rows.rows import Kernel, Rows, common_depth
from ipub.rows.slices import SlicedRows, drawn_rows, own_parts
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.missing_category import MissingCategories
from ipub.tables.validation import check_ranges, check_values

BLOCK_CELLS = 1 << 23
"""Cells of one block in the memory of this process, at most (64 MiB)."""

BLOCK_SHARE = 1 / 32
"""Share of the memory of a device that a block takes at most: what kernels need meanwhile is some times as much. So the
blocks, and the bits of bounds, depend on the device, and not on what else is there."""

LONGER_SHARE = 1 / 16
"""Share of it that is taken by rows which kernels look at in one go, where these are meant to stay in a cache."""

KEPT_SHARE = 0.5
"""Share of a device's free memory that blocks with their holes filled may take, and once more with a column of ones;
else they are made in each pass."""

LARGEST_OF = {"float64": LARGEST, "float32": float(np.finfo(np.float32).max)}
"""The largest number that a table may hold, by its type."""


class ArrayRows(SlicedRows):
    """Rows of a table on a device, float64 or float32, whose NaN cells lie in the ranges of their columns.

    Blocks stay on the device and kernels run there. The arguments of kernels and what they return, of a size that does
    not grow with the rows, go there and come back. Which cells are missing is found in the first pass and kept. A table
    of float64 is kept with its holes filled, too, if the device has the memory; one of float32 is read as it is, and
    its blocks become float64 in each pass. `ranges`, of shape (n_features, 2), has the ends of each column's missing
    values. The table is never written to.
    """

    def __init__(self, table: Any, y: Any, ranges: Array, weight: Array | None = None) -> None:
        with device_memory():
            super().__init__(table.shape[1], y, weight)
            check_ranges(ranges, table.shape[1])
            self.table, self.y, self.library = table, y, table.library
            if weight is not None:
                self.weight = to_device(self.weight, self.library)
            self.ranges = ranges
            check_arithmetic(y)
            centers, radii = midpoint_and_radius(ranges[:, 0], ranges[:, 1])
            self._centers, self._radii = to_device((centers, radii), self.library)
        memory = self.library.memory
        cells = BLOCK_CELLS if memory is None else int(BLOCK_SHARE * memory.all_of_it / 8)
        most = max(1, cells // self.n_features)
        self._slices = list(row_slices(self.n_rows, 1, -(-self.n_rows // -(-self.n_rows // most))))
        self._is_long = False
        is_float64 = table.dtype == np.float64
        keeps_rows = is_float64 and (memory is None or 16 * table.size <= KEPT_SHARE * memory.free)
        self._caches = [BlockCache(keeps_rows) for _ in self._slices]
        self._samples: dict[int, Rows | None] = {}

    @property
    def depth(self) -> int:
        longest: int = max(rows.stop - rows.start for rows in self._slices)
        return common_depth(sum_height(longest) + len(self._slices) + 1, self.n_rows)

    def results(self, kernel: Kernel, *args: Any) -> Iterator[Any]:
        with device_memory():
            on_device = to_device(tuple(each for each in args), self.library)
        for number in range(len(self._slices)):
            with device_memory(), longer_slices(longer(self.library)), overflow_means_unbounded():
                block = self._block(number, reads_of(kernel))
                result = to_host(kernel(block, *own_parts(on_device, number)))
            yield result

    def read(self, rows: slice, what: Reads) -> Block:
        y, weight = self.y[rows], self.weight[rows]
        nothing = np.zeros(0, dtype=np.int64, like=y)
        missing = MissingCategories(nothing, nothing, ())
        no_center = np.zeros((0, self.n_features), like=y)
        if what < Reads.CELLS:
            return Block(no_center, nothing, nothing, np.zeros(0, like=y), y, weight, missing)
        in_row, columns, radii = self._cells(rows)
        if what < Reads.ROWS:
            return Block(no_center, in_row, columns, radii, y, weight, missing)
        places, of_places = self._holes(rows)
        center: Any = self.table[rows].astype(float, copy=False)
        if len(places):
            filled: Any = np.empty(center.shape, like=y)
            filled[...] = center
            filled.reshape(-1)[places] = self._centers[of_places]
            center = filled
        return Block(center, in_row, columns, radii, y, weight, missing)

    def _cache(self, rows: slice) -> BlockCache:
        return self._caches[self._slices.index(rows)]

    def _holes(self, rows: slice) -> tuple[Indices, Indices]:
        """Return where the missing cells of a block are, counted row by row, and their columns; found once."""

        def find() -> tuple[Indices, Indices]:
            part = self.table[rows]
            places = np.flatnonzero(~(np.abs(part) <= LARGEST_OF[part.dtype.name]))
            if not np.isnan(part.reshape(-1)[places]).all():
                refuse_large_cells(part, rows.start)
            return places, places % self.n_features

        return self._cache(rows).kept("holes", find)

    def _cells(self, rows: slice) -> tuple[Indices, Indices, Array]:
        """Return row, column and radius of the missing cells that are not known."""

        def find() -> tuple[Indices, Indices, Array]:
            places, columns = self._holes(rows)
            radii = self._radii[columns]
            if not (self._radii > 0.0).all():
                uncertain = radii > 0.0
                places, columns, radii = places[uncertain], columns[uncertain], radii[uncertain]
            return places // self.n_features, columns, radii

        return self._cache(rows).kept("cells", find)

    def count_uncertain(self) -> int:
        with device_memory():
            return sum(len(self._cells(rows)[2]) for rows in self._slices)

    def clear_cache(self) -> None:
        super().clear_cache()
        self._samples.clear()

    def sample(self, n_rows: int) -> Rows | None:
        if n_rows not in self._samples:
            self._samples[n_rows] = self._drawn(n_rows)
        return self._samples[n_rows]

    def _drawn(self, n_rows: int) -> Rows | None:
        with device_memory():
            drawn = to_device(drawn_rows(self.weight, n_rows), self.library)
            table, y, weight = (np.asarray(each[drawn], dtype=float) for each in (self.table, self.y, self.weight))
        return MemoryRows(IntervalMatrix.from_table(table, self.ranges), y, weight) if len(y) else None


def refuse_large_cells(part: DeviceArray, first_row: int) -> None:
    """Raise an error that names the first cell that is infinite or too large."""
    bad = np.flatnonzero((~(np.abs(part) <= LARGEST_OF[part.dtype.name]) & ~np.isnan(part)).any(axis=1))
    if len(bad):
        row = int(bad[0])
        check_values(np.asarray(part[row : row + 1]), None, first_row=first_row + row)


def longer(library: Library) -> int:
    """Return how many times as many rows are looked at in one go as the processor's cache has room for."""
    if library.memory is None:
        return 4
    numbers = int(LONGER_SHARE * library.memory.all_of_it / 8)
    return max(1, numbers // CHUNK_NUMBERS)


@contextmanager
def device_memory() -> Iterator[None]:
    """Turn what a library says when a device has no memory left into an error that says what to do."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise IpubError(
            "The device has not enough memory for this table and what is computed from it: free what else is there, "
            "give float32, of which no copy is kept, or give a NumPy array, which is computed in this machine's memory."
        ) from error
