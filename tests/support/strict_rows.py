"""Rows in memory whose kernels run on arrays of array-api-strict, which has no function beyond the standard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import array_api_strict

from ipub.numeric.rounding import overflow_means_unbounded
from ipub.rows import MemoryRows
from ipub.rows.block import reads_of
from ipub.rows.device import Library, library_of, to_device, to_host
from ipub.rows.slices import own_parts


def strict_library() -> Library:
    """Return the library that arrays of array-api-strict have."""
    return library_of(array_api_strict.asarray([0.0]))


class StrictRows(MemoryRows):
    """Rows in memory with intervals of any kind, categories and uncertain labels, each block on a device."""

    def results(self, kernel: Any, *args: Any) -> Iterator[Any]:
        library = strict_library()
        for number in range(len(self._slices)):
            block = to_device(replace(self._block(number, reads_of(kernel)), cache=None), library)
            with overflow_means_unbounded():
                result = kernel(block, *own_parts(to_device(args, library), number))
            yield to_host(result)
