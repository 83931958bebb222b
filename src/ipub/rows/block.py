"""A block of consecutive rows: the input of a kernel, and what is kept of it between passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.rounding import Array, norm_upper, sum_error, sum_upper, up
from ipub.rows.ops import column_squares_and_maxima
from ipub.rows.sparse_array import SparseArray
from ipub.tables.interval_matrix import Indices
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.tables.missing_category import NOTHING_MISSING, MissingCategories

T = TypeVar("T")


class BlockCache:
    """Values of one block that are computed once and reused in later passes.

    Only engines write here, and only what can be computed again from the block: an engine may drop a cache
    at any time (`ipub.rows.rows.Rows.clear_cache`), and an engine whose blocks are in other processes has none. Values
    as long as the block are kept only with `keeps_rows`: for small tables.

    Examples
    --------
    >>> cache = BlockCache()
    >>> cache.kept("answer", lambda: 42), cache.kept("answer", lambda: 43)
    (42, 42)
    """

    __slots__ = ("_values", "keeps_rows")

    def __init__(self, keeps_rows: bool = False) -> None:
        self.keeps_rows = keeps_rows
        self._values: dict[str, Any] = {}

    def kept(self, name: str, make: Callable[[], T], *, row_sized: bool = False) -> T:
        """Return the value of this name, made at the first call; it is kept if its size allows that."""
        if name in self._values:
            value: T = self._values[name]
            return value
        value = make()
        if self.keeps_rows or not row_sized:
            self._values[name] = value
        return value

    def of_view(self, name: str) -> BlockCache:
        """Return the cache of the same block seen through a view."""
        return self.kept(f"view {name}", lambda: BlockCache(self.keeps_rows))


F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows with their uncertain cells, labels and weights. Kernels never write to it."""

    center: Array
    """The rows with every uncertain cell at the middle of its interval, shape (b, d); (0, d) where it is not read."""
    cell_rows: Indices
    """Row of each uncertain cell, counted from the block's first row."""
    cell_columns: Indices
    """Column of each uncertain cell."""
    cell_radii: Array
    """Radius of each uncertain cell, positive."""
    y: Array
    """Labels or targets."""
    weight: Array
    """Weights of the rows, the largest of all about 1."""
    missing_categories: MissingCategories = NOTHING_MISSING
    """Missing categories, their rows counted from the block's first."""
    label_uncertainty: LabelUncertainty | None = None
    """How far the labels are uncertain, if any is."""
    column_norms: Array | None = None
    """Bounds of the Euclidean norms of the columns of the center, over the rows that have a weight.

    Given to kernels that declare `Reads.NORMS`.
    """
    column_maxima: Array | None = None
    """The largest absolute values of the same, which depend on the length of a block much less than the norms."""
    cache: BlockCache | None = None
    """For the engine alone."""

    @classmethod
    def of(
        cls,
        center: Array,
        cells: tuple[Indices, Indices],
        radii: Array,
        y: Array,
        weight: Array,
        missing_categories: MissingCategories = NOTHING_MISSING,
    ) -> Block:
        """Make a block; cells whose interval is a point are certain."""
        uncertain = radii > 0.0
        i, j = cells
        if not uncertain.all():
            i, j, radii = i[uncertain], j[uncertain], radii[uncertain]
        return cls(center, i, j, radii, y, weight, missing_categories)

    @classmethod
    def of_labels(cls, n_features: int, y: Array, weight: Array) -> Block:
        """Make a block of which nothing but labels and weights is read."""
        nothing = np.zeros(0, dtype=np.intp)
        return cls(np.zeros((0, n_features)), nothing, nothing, np.zeros(0), y, weight)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def incomplete(self) -> NDArray[np.bool_]:
        """Whether a row has an uncertain cell or a missing category."""
        incomplete = np.zeros_like(self.y, dtype=bool)
        incomplete[self.cell_rows] = True
        incomplete[self.missing_categories.rows] = True
        return incomplete

    def score_error(self, w: Array) -> float | Array:
        """Bound the rounding error of ``center @ w`` for all rows that have a weight (fp-sums).

        ``sum_j |x_ij w_j|``, to which it is relative, is at most ``sum_j largest_j |w_j|``. In a sparse table it is
        computed for each row, and has no more terms than the row has entries (fp-sparse).
        """
        if isinstance(self.center, SparseArray):
            return sum_error(np.abs(self.center) @ np.abs(w), self.center.longest_row + 1)
        return float(sum_error(sum_upper(self.largest_cells @ np.abs(w), len(w) + 1), len(w) + 1))

    @property
    def largest_cells(self) -> Array:
        """Bounds of the absolute values in each column, over the rows that have a weight."""
        return self._norms() if self.column_maxima is None else self.column_maxima

    def column_sizes(self, coefficients: Array) -> Array:
        """Bound ``sum_i |coefficients_i x_ij|`` for each column (Cauchy and Schwarz), 0 for rows without weight.

        In a sparse table it is computed (fp-sparse).
        """
        if isinstance(self.center, SparseArray):
            return sum_upper(np.abs(coefficients) @ np.abs(self.center), self.n_rows + 1)
        return up(norm_upper(coefficients) * self._norms())

    def _norms(self) -> Array:
        if self.column_norms is None:
            raise ValueError("This kernel uses the norms of columns: declare it with @reads(Reads.NORMS).")
        return self.column_norms


class Reads(IntEnum):
    """What a kernel reads of a block. An engine may leave out everything else, so that less is read or computed."""

    LABELS = 0
    """Labels, weights and the uncertainty of labels."""
    CELLS = 1
    """Also which cells are uncertain, their radii, and missing categories."""
    ROWS = 2
    """Also the rows themselves: the default."""
    NORMS = 3
    """Also the norms of the columns."""


def reads(what: Reads) -> Callable[[F], F]:
    """Declare what a kernel reads.

    Examples
    --------
    >>> @reads(Reads.LABELS)
    ... def total(block):
    ...     return (block.weight @ block.y,)
    """

    def declare(kernel: F) -> F:
        kernel.reads = what  # type: ignore[attr-defined]
        return kernel

    return declare


def reads_of(kernel: Callable[..., Any]) -> Reads:
    """Return what a kernel reads."""
    return Reads(getattr(kernel, "reads", Reads.ROWS))


def with_norms(block: Block) -> Block:
    """Return the block with the norms of its columns, reused from an earlier pass if its engine keeps them."""
    if block.column_norms is not None or isinstance(block.center, SparseArray):
        return block

    def sizes() -> tuple[Array, Array]:
        squares, maxima = column_squares_and_maxima(
            block.center if block.weight.all() else block.center[block.weight > 0.0]
        )
        return up(np.sqrt(sum_upper(squares, block.n_rows + 1))), maxima

    norms, maxima = sizes() if block.cache is None else block.cache.kept("column norms", sizes)
    return replace(block, column_norms=norms, column_maxima=maxima)
