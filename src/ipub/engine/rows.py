"""The one primitive: a sum over blocks of rows. Nothing else knows where the rows are."""

from __future__ import annotations

import copy
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ipub.data.interval_matrix import Indices, IntervalMatrix
from ipub.data.label_uncertainty import LabelUncertainty
from ipub.data.missing_category import NOTHING_MISSING, Levels, MissingCategories
from ipub.parallel import in_threads, row_slices
from ipub.rounding import LARGEST, Array, norm_upper, overflow_means_unbounded, sum_error, sum_upper, up

BLOCK_CELLS = 1 << 20
"""Cells in one block, at most: 8 MiB of center values. A kernel's temporaries stay in the cache, its calls are few."""

BLOCK_ROWS = 1 << 15
"""Rows in one block, at most: rounding errors grow with them (F2)."""

KEPT_CELLS = 1 << 22
"""A table of no more cells keeps its blocks, with their holes filled (32 MiB), and is not worth a second thread."""

Sums = tuple[Any, ...]
T = TypeVar("T")


class Memory:
    """What one pass leaves for the next: the norms of a block's columns; and with a column of ones, another.

    Parameters
    ----------
    keeps_rows : bool
        Whether the table is so small that its rows, with a column of ones, are left as well.
    """

    __slots__ = ("_extended", "keeps_rows", "norms", "rows")

    def __init__(self, keeps_rows: bool = False) -> None:
        self.keeps_rows = keeps_rows
        self.norms: Array | None = None
        self.rows: Array | None = None
        self._extended: Memory | None = None

    def extended(self) -> Memory:
        """Return that of the block with one more column."""
        if self._extended is None:
            self._extended = Memory(self.keeps_rows)
        return self._extended


@dataclass(frozen=True, slots=True)
class Block:
    """Some consecutive rows, with everything a kernel may need of them."""

    center: Array
    """The rows with every uncertain cell at the middle of its interval, shape (b, d)."""
    cell_rows: Indices
    """Row of each uncertain cell, counted from the block's first row."""
    cell_columns: Indices
    """Column of each uncertain cell."""
    cell_radii: Array
    """Radius of each uncertain cell."""
    y: Array
    """Labels or targets."""
    weight: Array
    """Weights of the rows, the largest of all about 1."""
    choices: MissingCategories = NOTHING_MISSING
    """Missing categories, their rows counted from the block's first."""
    doubt: LabelUncertainty | None = None
    """How far the labels are uncertain, if any is."""
    memory: Memory | None = None
    """Of one pass for the next."""

    @property
    def column_norms(self) -> Array:
        """Bounds of the Euclidean norms of the columns of the center, over the rows that have a weight."""
        memory = Memory() if self.memory is None else self.memory
        if memory.norms is None:
            memory.norms = norm_upper((self.center if self.weight.all() else self.center[self.weight > 0.0]).T)
        return memory.norms

    def score_error(self, w: Array) -> float:
        """Bound the rounding error of ``center @ w`` for all rows that have a weight (F2).

        ``sum_j |x_ij w_j|``, to which it is relative, is at most ``sum_j norm_j |w_j|``.
        """
        return float(sum_error(sum_upper(self.column_norms @ np.abs(w), len(w) + 1), len(w) + 1))

    def column_sizes(self, coefficients: Array) -> Array:
        """Bound ``sum_i |coefficients_i x_ij|`` for each column (Cauchy and Schwarz), 0 for rows without weight."""
        return up(norm_upper(coefficients) * self.column_norms)

    @classmethod
    def of(cls, center: Array, cells: tuple[Indices, Indices], radii: Array, y: Array, weight: Array) -> Block:
        """Make a block; cells whose interval is a point are certain."""
        some = radii > 0.0
        i, j = cells
        if not some.all():
            i, j, radii = i[some], j[some], radii[some]
        return cls(center, i, j, radii, y, weight)

    @property
    def incomplete(self) -> NDArray[np.bool_]:
        """Whether a row has an uncertain cell or a missing category."""
        incomplete = np.zeros(len(self.y), dtype=bool)
        incomplete[self.cell_rows] = True
        incomplete[self.choices.rows] = True
        return incomplete

    def row_spread(self, w: Array) -> Array:
        """Return how far each row's score under w can move: radius @ abs(w), and what a choice of levels adds."""
        return self._row_sums(self.cell_radii * np.abs(w)[self.cell_columns], self.choices.spread(w))

    def row_reach(self, farthest: Array) -> Array:
        """Return how far each row's score under any v can move, where ``|v_j| <= farthest_j``."""
        return self._row_sums(self.cell_radii * farthest[self.cell_columns], self.choices.reach(farthest))

    def _row_sums(self, cells: Array, choices: Array) -> Array:
        sums = np.bincount(self.cell_rows, cells, minlength=len(self.y)).astype(float, copy=False)
        return sums + np.bincount(self.choices.rows, choices, minlength=len(sums)) if len(choices) else sums

    def column_spread(self, coefficients: Array) -> Array:
        """Return how far ``sum_i coefficients_i x_ij`` can move, a value for each column."""
        size, d = np.abs(coefficients), self.center.shape[1]
        products = self.cell_radii * size[self.cell_rows]
        sums = np.bincount(self.cell_columns, products, minlength=d).astype(float, copy=False)
        return sums + self.choices.column_sums(size[self.choices.rows], d) if len(self.choices) else sums


Kernel = Callable[..., Sums]


class Rows(ABC):
    """The training rows, wherever they are: all that algorithms may do with them is `reduce`.

    An engine says how one slice of rows becomes a `Block`; the slices are the same for every engine, and
    so are the sums.

    Parameters
    ----------
    n_features : int
    y : array of shape (n_rows,)
        Labels or targets.
    weight : array of shape (n_rows,), optional
        Weights of the rows; all 1 if left out. Only their ratios matter.
    """

    def __init__(self, n_features: int, y: Array, weight: Array | None = None) -> None:
        self.n_rows, self.n_features = len(y), n_features
        self.y = y
        self.weight = np.ones(len(y)) if weight is None else _scaled(weight)
        self.total_weight = _total(self.weight)
        """Sum of the weights, correctly rounded."""
        self.categories: tuple[Levels, ...] = ()
        """Columns that are levels of a category, of which some are missing."""
        self.doubt: LabelUncertainty | None = None
        """How far the labels are uncertain, if any is."""
        self._slices = list(_block_slices(self.n_rows, n_features))
        self._memory: dict[int, Memory] = {}

    @property
    def depth(self) -> int:
        """Bound on the height of the summation tree of `reduce`: rows in a block plus blocks (F2)."""
        longest: int = max(rows.stop - rows.start for rows in self._slices)
        return longest + len(self._slices)

    @abstractmethod
    def block(self, rows: slice) -> Block:
        """Return the block of these rows."""

    def count_uncertain(self) -> int:
        """Return the number of uncertain cells, with one for each level of a missing category."""
        return int(self.reduce(_count_uncertain)[0])

    def sample(self, n_rows: int) -> Rows | None:  # noqa: ARG002 (not every engine can)
        """Return about so many rows, drawn at random from all over the table, in memory; None if that is not possible.

        What is computed from them is a guess, which only the whole table proves.
        """
        return None

    def with_targets(self, y: Array) -> Self:
        """Return the same rows with other labels or targets; nothing else is copied."""
        other = copy.copy(self)
        other.y = y
        return other

    def with_doubt(self, doubt: LabelUncertainty) -> Self:
        """Return the same rows with uncertain labels."""
        other = copy.copy(self)
        other.doubt = doubt
        return other

    def forget(self) -> None:
        """Forget what was kept of the table, so that it is read anew."""
        self._memory.clear()

    def reduce(self, kernel: Kernel, *args: Any) -> Sums:
        """Add up, in the order of the blocks, the arrays that ``kernel(block, *args)`` returns.

        Parameters
        ----------
        kernel : callable
            A pure function of a block and of arguments whose size does not grow with the rows.
        *args
            Handed to the kernel.
        """
        return self.reduce_and_collect(_sums_only, kernel, *args)[0]

    def collect(self, kernel: Kernel, *args: Any) -> Sums:
        """Join, in the order of the blocks, the arrays that ``kernel(block, *args)`` returns of some rows."""
        return self.reduce_and_collect(_gathered_only, kernel, *args)[1]

    def reduce_labels(self, kernel: Callable[..., tuple[Sums, Sums]], *args: Any) -> tuple[Sums, Sums]:
        """Do as `reduce_and_collect` for a kernel that looks at labels and weights alone: the table is not read."""
        no_center, no_cells = np.zeros((0, self.n_features)), np.zeros(0, dtype=np.intp)

        def apply(rows: slice) -> tuple[Sums, Sums]:
            doubt = None if self.doubt is None else self.doubt.within(rows)
            block = Block(no_center, no_cells, no_cells, np.zeros(0), self.y[rows], self.weight[rows], doubt=doubt)
            with overflow_means_unbounded():
                return kernel(block, *args)

        return _joined(map(apply, self._slices))

    def reduce_and_collect(self, kernel: Callable[..., tuple[Sums, Sums]], *args: Any) -> tuple[Sums, Sums]:
        """Add up the first of what ``kernel(block, *args)`` returns, and join the second, arrays of some rows."""
        is_long = self.n_rows * self.n_features > KEPT_CELLS

        def apply(rows: slice) -> tuple[Sums, Sums]:
            block = self.block(rows)
            doubt = None if self.doubt is None else self.doubt.within(rows)
            block = replace(block, memory=self._memory.setdefault(rows.start, Memory(not is_long)), doubt=doubt)
            with overflow_means_unbounded():
                return kernel(block, *args)

        return _joined(in_threads(apply, self._slices) if is_long else map(apply, self._slices))


def _block_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut the rows into blocks of about the same size, an even number of them: half a block or less is not cut."""
    most = max(1, BLOCK_CELLS // max(n_columns, BLOCK_CELLS // BLOCK_ROWS))
    n_blocks = 1 if 2 * n_rows <= most else 2 * -(-n_rows // (2 * most))
    return row_slices(n_rows, 1, -(-n_rows // n_blocks))


FORM_ROWS = 1024
"""Rows of one product in `form_of`: what it multiplies stays in the nearest cache."""


def form_of(rows: Array, values: Array) -> Array:
    """Return ``sum_i values_i x_i x_i^T``; rows whose value is 0 are left out where they are many."""
    some = np.flatnonzero(values)
    if 2 * len(some) <= len(values):
        rows, values = rows[some], values[some]
    n, d = rows.shape
    whole = n - n % FORM_ROWS
    form = np.asarray((rows[whole:] * values[whole:, None]).T @ rows[whole:])
    for part in row_slices(whole, 1, 8 * FORM_ROWS):
        pieces = rows[part].reshape(-1, FORM_ROWS, d)
        form += ((pieces * values[part].reshape(-1, FORM_ROWS, 1)).transpose(0, 2, 1) @ pieces).sum(axis=0)
    return form


def _joined(results: Iterable[tuple[Sums, Sums]]) -> tuple[Sums, Sums]:
    """Add up the first parts of results, and join the second, in order."""
    total: Sums = ()
    kept: list[Sums] = []
    with overflow_means_unbounded():
        for sums, parts in results:
            # What two blocks add up to is nobody else's: others are added to it in place.
            add = _added_in_place if len(kept) > 1 else operator.add
            total = tuple(map(add, total, sums)) if kept else sums
            kept.append(parts)
    return total, tuple(np.concatenate(arrays) for arrays in zip(*kept, strict=True))


def _added_in_place(total: Any, part: Any) -> Any:
    if isinstance(total, np.ndarray) and total.dtype == np.result_type(part) and np.shape(part) in ((), total.shape):
        return np.add(total, part, out=total)
    return total + part


def _count_uncertain(block: Block) -> Sums:
    return (len(block.cell_radii) + block.choices.count_levels(),)


def _gathered_only(block: Block, kernel: Kernel, *args: Any) -> tuple[Sums, Sums]:
    return (), kernel(block, *args)


def _sums_only(block: Block, kernel: Kernel, *args: Any) -> tuple[Sums, Sums]:
    return kernel(block, *args), ()


def _total(weight: Array) -> float:
    """Return the sum of weights, correctly rounded: a product if they are all the same."""
    if len(weight) and weight.min() == weight.max():
        return len(weight) * float(weight[0])
    return math.fsum(weight)


def _scaled(weight: Array) -> Array:
    """Scale weights by a power of two, exactly, so that the largest is between 1/2 and 1 (F3)."""
    weight = np.asarray(weight, dtype=float)
    negligible = np.flatnonzero((weight > 0.0) & (weight < weight.max() / LARGEST))
    if len(negligible):
        raise ValueError(
            f"sample_weight is {weight[negligible[0]]:g} in row {negligible[0]}, too small beside the largest, "
            f"{weight.max():g}: make it 0, or weights that differ by less than a factor {LARGEST:g}."
        )
    greatest = float(weight.max())
    return weight if 0.5 <= greatest <= 1.0 else np.ldexp(weight, -int(np.frexp(greatest)[1]))


def some_rows(weight: Array, n_rows: int) -> Indices:
    """Draw one row of those that count from each of `n_rows` stretches of equal length, the same at every call."""
    n = len(weight)
    places = (np.arange(n_rows) + np.random.default_rng(0).random(n_rows)) * (n / n_rows)
    some = np.minimum(places.astype(np.intp), n - 1)
    return some[weight[some] > 0.0]


class MemoryRows(Rows):
    """Rows of an `IntervalMatrix` in memory.

    Parameters
    ----------
    matrix : IntervalMatrix
    y : array of shape (n_rows,)
    weight : array of shape (n_rows,), optional
    """

    def __init__(self, matrix: IntervalMatrix, y: Array, weight: Array | None = None) -> None:
        super().__init__(matrix.shape[1], y, weight)
        self.matrix = matrix
        self.categories = matrix.choices.levels
        self._kept: dict[tuple[int, int], Block] = {}

    def forget(self) -> None:
        super().forget()
        self._kept.clear()

    def block(self, rows: slice) -> Block:
        kept = self._kept.get((rows.start, rows.stop))
        if kept is not None:
            return kept
        in_row, columns, _, radii = self.matrix.cells(rows)
        center = self.matrix.center_rows(rows)
        block = Block.of(center, (in_row, columns), radii, self.y[rows], self.weight[rows])
        if len(self.matrix.choices):
            block = replace(block, choices=self.matrix.choices.within(rows))
        if self.n_rows * self.n_features <= KEPT_CELLS:
            self._kept[rows.start, rows.stop] = block
        return block

    def count_uncertain(self) -> int:
        return int(np.count_nonzero(self.matrix.radii)) + self.matrix.choices.count_levels()

    def sample(self, n_rows: int) -> Rows | None:
        if self.doubt is not None:
            return None
        some = some_rows(self.weight, n_rows)
        return MemoryRows(self.matrix.take(some), self.y[some], self.weight[some]) if len(some) else None

    def with_targets(self, y: Array) -> Self:
        other = super().with_targets(y)
        other._kept = {ends: replace(block, y=y[slice(*ends)]) for ends, block in self._kept.items()}
        return other


class InterceptRows(Rows):
    """Rows of any engine with one more column, the last: ones, which are certain.

    Its weight is the intercept.

    Parameters
    ----------
    rows : Rows
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.n_rows, self.n_features = rows.n_rows, rows.n_features + 1
        self.y, self.weight, self.total_weight = rows.y, rows.weight, rows.total_weight
        self.categories, self.doubt = rows.categories, rows.doubt

    @property
    def depth(self) -> int:
        return self.rows.depth

    def forget(self) -> None:
        self.rows.forget()

    def count_uncertain(self) -> int:
        return self.rows.count_uncertain()

    def sample(self, n_rows: int) -> Rows | None:
        some = self.rows.sample(n_rows)
        return None if some is None else InterceptRows(some)

    def block(self, rows: slice) -> Block:
        return _with_intercept_column(self.rows.block(rows))

    def reduce_and_collect(self, kernel: Callable[..., tuple[Sums, Sums]], *args: Any) -> tuple[Sums, Sums]:
        return self.rows.reduce_and_collect(_apply_with_intercept, kernel, *args)

    def reduce_labels(self, kernel: Callable[..., tuple[Sums, Sums]], *args: Any) -> tuple[Sums, Sums]:
        return self.rows.reduce_labels(kernel, *args)


def _with_intercept_column(block: Block) -> Block:
    memory = None if block.memory is None else block.memory.extended()
    center = None if memory is None else memory.rows
    if center is None:
        n, d = block.center.shape
        center = np.empty((n, d + 1))
        center[:, :d], center[:, d] = block.center, 1.0
        if memory is not None and memory.keeps_rows:
            memory.rows = center
    return replace(block, center=center, memory=memory)


def _apply_with_intercept(block: Block, kernel: Callable[..., T], *args: Any) -> T:
    return kernel(_with_intercept_column(block), *args)
