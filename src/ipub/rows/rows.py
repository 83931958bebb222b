"""The interface of all engines: algorithms sum, gather or map kernels over blocks of training rows."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.rows.block import Block, Reads, reads, reads_of, with_norms
from ipub.tables.missing_category import Levels

Kernel = Callable[..., Any]
"""A pure function of a block and of arguments whose size does not grow with the rows; defined in a module, so that it
can be pickled."""

USUAL_BLOCK, USUAL_ROWS = 1 << 16, 1 << 10
"""Rows of a block, at most, and on average, at least, up to which all engines have the same `common_depth`."""

MOST_GATHERED = 1 << 27
"""Numbers that one pass may gather by default (1 GiB)."""


@dataclass(frozen=True)
class PerBlock:
    """One value for each block: as an argument, a kernel receives the value of its own block."""

    parts: tuple[Any, ...]


def common_depth(own: int, n_rows: int) -> int:
    """Return a bound on the height of a sum over `n_rows` rows that is the same on every engine with usual blocks.

    Bounds are rounded outward by it, and would else hang on where an engine cuts its blocks. Of at most 65,536 rows it
    is a bound for all blocks: one of k rows and at most n - k others. `own` is that of the engine.
    """
    return max(own, min(n_rows + 1, USUAL_BLOCK + -(-n_rows // USUAL_ROWS)))


class Labels(NamedTuple):
    """Labels or targets of all rows, and their weights."""

    y: Array
    weight: Array


MOST_MATRIX_COLUMNS = 4096
"""Columns up to which matrices of shape (n_features, n_features) are made: 128 MiB each, of which some certificates
keep one for each column with uncertain cells."""


class Rows(ABC):
    """The training rows of an engine.

    An engine defines how blocks are made and where kernels run (`results`), and how deep its sum is (`depth`). Blocks
    carry their own labels, weights and label uncertainty: no engine needs all labels in one place, nor access by row
    number. The order of summation is fixed: the same input on the same engine gives the same bits.
    """

    n_rows: int
    n_features: int
    total_weight: float
    """Sum of the weights, correctly rounded; the largest weight is between 1/2 and 1."""
    categories: tuple[Levels, ...] = ()
    """Columns that are levels of a category, of which some are missing."""
    uncertain_labels: bool = False
    """Whether any label is uncertain."""
    max_wrong_labels: int = 0
    """At most so many labels of the whole table, in any rows, are wrong."""
    keeps_elsewhere: bool = False
    """Whether caches take memory of other machines, which is given back when training is over."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Bound of the height of the tree of `reduce` (fp-sums): `common_depth` of rows in a block plus blocks."""

    @abstractmethod
    def results(self, kernel: Kernel, *args: Any) -> Iterator[Any]:
        """Yield what ``kernel(block, *args)`` returns for each block, in the order of the blocks.

        Of an argument that is `PerBlock` a kernel receives the part of its block.
        """

    @property
    def allows_matrices(self) -> bool:
        """Whether algorithms may make matrices of shape (n_features, n_features), from the cells of the rows."""
        return self.n_features <= MOST_MATRIX_COLUMNS

    def clear_cache(self) -> None:
        """Drop cached values of earlier passes, so that the table is read again."""
        return

    def sample(self, n_rows: int) -> Rows | None:  # noqa: ARG002 (not every engine can)
        """Return about so many rows, drawn at random from the whole table, in memory; None if that is not possible.

        Results from them are suggestions only: proofs need the whole table.
        """
        return None

    def reduce(self, kernel: Kernel, *args: Any) -> Any:
        """Add up what ``kernel(block, *args)`` returns, field by field: a (named) tuple of what can be added."""
        with overflow_means_unbounded():
            return added(self.results(kernel, *args))

    def reduce_several(self, *calls: tuple[Any, ...]) -> tuple[Any, ...]:
        """Compute several sums in one pass: each call is a kernel with its arguments, and has its own result."""
        kernels = tuple(call[0] for call in calls)
        several = _Several(kernels, tuple(len(call) - 1 for call in calls))
        sums: tuple[Any, ...] = self.reduce(several, *(arg for call in calls for arg in call[1:]))
        return sums

    def gather(self, kernel: Kernel, *args: Any, most: int = MOST_GATHERED) -> Any:
        """Join, in the order of the blocks, the arrays that ``kernel(block, *args)`` returns of part of its rows.

        Returns None if they hold more than `most` numbers: the caller must have a fallback.
        """
        return joined(self.results(kernel, *args), most)

    def reduce_and_gather(self, kernel: Kernel, *args: Any, most: int = MOST_GATHERED) -> tuple[Any, Any]:
        """Do both in one pass, for a kernel that returns a pair: what is added up, and what is joined."""
        gathered = _Gathered(most)

        def sums() -> Iterator[Any]:
            for part, kept in self.results(kernel, *args):
                gathered.add(kept)
                yield part

        with overflow_means_unbounded():
            total = added(sums())
        return total, gathered.joined()

    def map(self, kernel: Kernel, *args: Any) -> PerBlock:
        """Return the result of the kernel for each block, as an argument of later passes."""
        return PerBlock(tuple(self.results(kernel, *args)))

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks themselves, with everything that kernels can read: for engines in this process."""
        return self.results(_itself)

    def count_uncertain(self) -> int:
        """Return the number of uncertain cells, with one for each level of a missing category."""
        return int(self.reduce(_count_uncertain)[0])

    def labels(self) -> Labels:
        """Return all labels and weights; raises ValueError if they are too many to be gathered."""
        labels = self.gather(_labels)
        if labels is None:
            raise IpubError(f"The labels of {self.n_rows:,} rows are too many to be gathered in one place.")
        return Labels(*labels)


@dataclass(frozen=True)
class _Several:
    """Several kernels as one; their arguments are concatenated."""

    kernels: tuple[Kernel, ...]
    n_args: tuple[int, ...]

    @property
    def reads(self) -> Reads:
        return max(map(reads_of, self.kernels))

    def __call__(self, block: Block, *args: Any) -> tuple[Any, ...]:
        results, start = [], 0
        for kernel, count in zip(self.kernels, self.n_args, strict=True):
            results.append(kernel(block, *args[start : start + count]))
            start += count
        return tuple(results)


def added(parts: Iterable[Any]) -> Any:
    """Add up (named) tuples field by field, in order; nested ones too."""
    total: Any = ()
    for number, part in enumerate(parts):
        # The sum of the first two blocks is a new array: later ones are added to it in place.
        total = _sum(total, part, in_place=number > 1) if number else part
    return total


def _sum(total: Any, part: Any, in_place: bool) -> Any:
    if isinstance(total, tuple):
        fields = [_sum(a, b, in_place) for a, b in zip(total, part, strict=True)]
        return type(total)(*fields) if hasattr(total, "_fields") else tuple(fields)
    fits = isinstance(total, np.ndarray) and total.dtype == np.result_type(part) and np.shape(part) in ((), total.shape)
    return np.add(total, part, out=total) if in_place and fits else operator.add(total, part)


def joined(parts: Iterable[Any], most: int = MOST_GATHERED) -> Any:
    """Join (named) tuples of arrays, field by field, in order; None if they hold more than `most` numbers."""
    gathered = _Gathered(most)
    for part in parts:
        gathered.add(part)
    return gathered.joined()


class _Gathered:
    """Parts that are kept as long as they hold at most so many numbers."""

    def __init__(self, most: int) -> None:
        self._parts: list[Any] = []
        self._numbers, self._most = 0, most

    def add(self, part: Any) -> None:
        self._numbers += count_numbers(part)
        if self._numbers <= self._most:
            self._parts.append(part)
        else:
            self._parts.clear()

    def joined(self) -> Any:
        """Return the parts, joined field by field; None if they were too many."""
        return _concatenated(self._parts) if self._numbers <= self._most else None


def count_numbers(part: Any) -> int:
    """Return how many numbers a (named) tuple of arrays holds."""
    return sum(map(count_numbers, part)) if isinstance(part, tuple) else int(np.size(part))


def _concatenated(parts: list[Any]) -> Any:
    first = parts[0]
    if isinstance(first, tuple):
        fields = [_concatenated(list(field)) for field in zip(*parts, strict=True)]
        return type(first)(*fields) if hasattr(first, "_fields") else tuple(fields)
    return np.concatenate(parts)


@reads(Reads.NORMS)
def _itself(block: Block) -> Block:
    return with_norms(block)


@reads(Reads.CELLS)
def _count_uncertain(block: Block) -> tuple[int]:
    return (len(block.cell_radii) + block.missing_categories.count_levels(),)


@reads(Reads.LABELS)
def _labels(block: Block) -> Labels:
    return Labels(block.y, block.weight)
