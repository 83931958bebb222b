"""Engines whose blocks are slices of a table in this process: in memory, or mapped from a file."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.parallel import in_threads, row_slices
from ipub.numeric.rounding import LARGEST, Array, overflow_means_unbounded
from ipub.rows.block import Block, BlockCache, Reads, reads_of, with_norms
from ipub.rows.rows import Kernel, PerBlock, Rows, common_depth
from ipub.tables.interval_matrix import Indices
from ipub.tables.label_uncertainty import LabelUncertainty

BLOCK_CELLS = 1 << 20
"""Cells in one block, at most (8 MiB): small enough for the processor's cache, large enough for few calls."""

BLOCK_ROWS = 1 << 15
"""Rows in one block, at most: rounding errors grow with them (fp-sums)."""

KEPT_CELLS = 1 << 22
"""A table of at most so many cells keeps its blocks, with their holes filled (32 MiB), and uses one thread."""


class SlicedRows(Rows):
    """Rows whose blocks are slices of one table, with labels and weights in memory; long tables use threads.

    Weights are all 1 if left out; only their ratios matter. Labels are certain if no uncertainty is given.
    """

    def __init__(
        self, n_features: int, y: Array, weight: Array | None = None, label_uncertainty: LabelUncertainty | None = None
    ) -> None:
        self.n_rows, self.n_features = len(y), n_features
        self.y = y
        self.weight = np.ones_like(y, dtype=float) if weight is None else scaled_weights(weight)
        self.label_uncertainty = label_uncertainty
        self.total_weight = _total(self.weight)
        self.uncertain_labels = label_uncertainty is not None
        self.max_wrong_labels = 0 if label_uncertainty is None else label_uncertainty.max_wrong_labels
        self._slices = block_slices(self.n_rows, n_features)
        self._is_long = self.n_rows * n_features > KEPT_CELLS
        self._caches = [BlockCache(keeps_rows=not self._is_long) for _ in self._slices]

    @property
    def depth(self) -> int:
        return common_depth(depth_of(self._slices), self.n_rows)

    @abstractmethod
    def read(self, rows: slice, what: Reads) -> Block:
        """Return the block of these rows with at least what is declared in `what`, without label uncertainty."""

    def results(self, kernel: Kernel, *args: Any) -> Iterator[Any]:
        numbers, what = range(len(self._slices)), reads_of(kernel)

        def apply(number: int) -> Any:
            block = self._block(number, what)
            with overflow_means_unbounded():
                return kernel(block, *own_parts(args, number))

        return in_threads(apply, numbers) if self._is_long else map(apply, numbers)

    def clear_cache(self) -> None:
        self._caches = [BlockCache(cache.keeps_rows) for cache in self._caches]

    def _block(self, number: int, what: Reads) -> Block:
        rows, cache = self._slices[number], self._caches[number]

        def read() -> Block:
            block = self.read(rows, what)
            uncertainty = None if self.label_uncertainty is None else self.label_uncertainty.within(rows)
            return replace(block, label_uncertainty=uncertainty, cache=cache)

        block = read() if what < Reads.ROWS else cache.kept("block", read, row_sized=True)
        return with_norms(block) if what >= Reads.NORMS else block


def own_parts(args: tuple[Any, ...], number: int) -> Iterator[Any]:
    """Yield arguments as the kernel of one block receives them."""
    return (arg.parts[number] if isinstance(arg, PerBlock) else arg for arg in args)


def drawn_rows(weight: Array, n_rows: int) -> Indices:
    """Draw one row of those that count from each of `n_rows` slices of equal length, the same at every call."""
    drawn = drawn_places(len(weight), n_rows)
    return drawn[weight[drawn] > 0.0]


def drawn_places(n: int, n_rows: int) -> Indices:
    """Draw one of n rows from each of `n_rows` slices of equal length, the same at every call."""
    places = (np.arange(n_rows) + np.random.default_rng(0).random(n_rows)) * (n / n_rows)
    return np.minimum(places.astype(np.intp), n - 1)


def most_rows(n_columns: int) -> int:
    """Return how many rows a block has at most."""
    return max(1, BLOCK_CELLS // max(n_columns, BLOCK_CELLS // BLOCK_ROWS))


def block_slices(n_rows: int, n_columns: int) -> list[slice]:
    """Cut the rows into blocks of about the same size, an even number of them: half a block or less stays whole."""
    most = most_rows(n_columns)
    n_blocks = 1 if 2 * n_rows <= most else 2 * -(-n_rows // (2 * most))
    return row_slices(n_rows, 1, -(-n_rows // n_blocks))


def depth_of(slices: Iterable[slice]) -> int:
    """Bound the height of a sum over blocks: rows in the longest plus blocks (fp-sums)."""
    lengths: list[int] = [rows.stop - rows.start for rows in slices]
    return max(lengths) + len(lengths)


def _total(weight: Array) -> float:
    """Return the sum of weights, correctly rounded: a product if they are all the same."""
    if len(weight) and weight.min() == weight.max():
        return len(weight) * float(weight[0])
    return math.fsum(weight)


def scaled_weights(weight: Array) -> Array:
    """Scale weights by a power of two, exactly, so that the largest is between 1/2 and 1 (fp-underflow)."""
    weight = np.asarray(weight, dtype=float)
    negligible = np.flatnonzero((weight > 0.0) & (weight < weight.max() / LARGEST))
    if len(negligible):
        raise IpubError(
            "sample_weight is {value:g} in {row}, too small beside the largest, {greatest:g}: make it 0, or give "
            "weights that differ by less than a factor {largest:g}.",
            value=float(weight[negligible[0]]),
            row=int(negligible[0]),
            greatest=weight.max(),
            largest=LARGEST,
        )
    greatest = float(weight.max())
    return weight if 0.5 <= greatest <= 1.0 else np.ldexp(weight, -int(np.frexp(greatest)[1]))
