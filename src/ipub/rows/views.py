"""Views of the rows of any engine: with an intercept, with other labels, completed. A view copies nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.rows.block import Block, Reads, reads, reads_of, with_norms
from ipub.rows.rows import MOST_GATHERED, Kernel, PerBlock, Rows
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.tables.missing_category import Levels

Transform = Callable[..., Block]
"""A pure function of a block and some arguments that returns a block of the same rows; defined in a module."""


@dataclass(frozen=True)
class _ThroughView:
    """A kernel applied to transformed blocks; the arguments of the transform come before its own."""

    transform: Transform
    n_args: int
    kernel: Kernel
    reads: Reads
    """What both read; norms are those of the transformed block."""
    has_norms: bool

    def __call__(self, block: Block, *args: Any) -> Any:
        transformed = self.transform(block, *args[: self.n_args])
        transformed = with_norms(transformed) if self.has_norms else transformed
        return self.kernel(transformed, *args[self.n_args :])


class View(Rows):
    """Rows of any engine whose blocks are transformed before kernels are applied.

    Everything else (block boundaries, depth, weights, caches, where kernels run) is that of the engine. The transform
    receives a block and `args`; of `PerBlock`, the part of the block. Attributes of `Rows` that it changes are given by
    name; `certain_labels` says that it makes labels certain.
    """

    def __init__(
        self,
        rows: Rows,
        transform: Transform,
        *args: Any,
        n_features: int | None = None,
        max_wrong_labels: int | None = None,
        categories: tuple[Levels, ...] | None = None,
        certain_labels: bool = False,
    ) -> None:
        self.rows, self.transform, self.args = rows, transform, args
        self.n_rows, self.total_weight = rows.n_rows, rows.total_weight
        self.categories = rows.categories if categories is None else categories
        self.n_features = rows.n_features if n_features is None else n_features
        self.max_wrong_labels = rows.max_wrong_labels if max_wrong_labels is None else max_wrong_labels
        self.uncertain_labels = rows.uncertain_labels or self.max_wrong_labels > 0
        if certain_labels:
            self.max_wrong_labels, self.uncertain_labels = 0, False

    @property
    def depth(self) -> int:
        return self.rows.depth

    @property
    def allows_matrices(self) -> bool:
        return self.rows.allows_matrices

    # Everything goes to the engine, which may add up and join where its blocks are.

    def results(self, kernel: Kernel, *args: Any) -> Iterator[Any]:
        return self.rows.results(self._through(kernel), *self.args, *args)

    def reduce(self, kernel: Kernel, *args: Any) -> Any:
        return self.rows.reduce(self._through(kernel), *self.args, *args)

    def gather(self, kernel: Kernel, *args: Any, most: int = MOST_GATHERED) -> Any:
        return self.rows.gather(self._through(kernel), *self.args, *args, most=most)

    def reduce_and_gather(self, kernel: Kernel, *args: Any, most: int = MOST_GATHERED) -> tuple[Any, Any]:
        return self.rows.reduce_and_gather(self._through(kernel), *self.args, *args, most=most)

    def _through(self, kernel: Kernel) -> _ThroughView:
        own = reads_of(kernel)
        what = max(reads_of(self.transform), min(own, Reads.ROWS))
        return _ThroughView(self.transform, len(self.args), kernel, what, own >= Reads.NORMS)

    def clear_cache(self) -> None:
        self.rows.clear_cache()

    def count_uncertain(self) -> int:
        # A transform that reads labels alone leaves the cells as they are.
        changes_cells = reads_of(self.transform) > Reads.LABELS
        return super().count_uncertain() if changes_cells else self.rows.count_uncertain()

    def sample(self, n_rows: int) -> Rows | None:
        if self.max_wrong_labels or any(isinstance(arg, PerBlock) for arg in self.args):
            return None
        drawn = self.rows.sample(n_rows)
        return None if drawn is None else self.over(drawn)

    def over(self, rows: Rows) -> View:
        """Return the same view of other rows."""
        other = copy.copy(self)
        other.rows, other.n_rows, other.total_weight = rows, rows.n_rows, rows.total_weight
        other.n_features = rows.n_features + self.n_features - self.rows.n_features
        return other


def engine_of(rows: Rows) -> Rows:
    """Return the engine behind all views."""
    while isinstance(rows, View):
        rows = rows.rows
    return rows


def on_engine(rows: Rows, engine: Rows) -> Rows:
    """Return the same views of another engine with as many rows and columns, in blocks of the same rows."""
    if not isinstance(rows, View):
        return engine
    view = rows.over(on_engine(rows.rows, engine))
    view.categories = view.rows.categories
    return view


def with_intercept_column(rows: Rows) -> Rows:
    """Return the rows with one more column, the last: ones, which are certain. Its weight is the intercept."""
    return View(rows, _append_ones, n_features=rows.n_features + 1)


def without_intercept_column(rows: Rows) -> Rows:
    """Return the rows without the column of ones, if `with_intercept_column` has added one below any other views."""
    if not isinstance(rows, View):
        return rows
    inner = without_intercept_column(rows.rows)
    if rows.transform is _append_ones:
        return inner
    return rows if inner is rows.rows else rows.over(inner)


def one_class_against_rest(rows: Rows, number: float, always: float = np.nan) -> Rows:
    """Return the rows with label 1 for one class and -1 for others; rows labelled `always` are 1 for every class."""
    return View(rows, _against_rest, number, always)


def with_wrong_labels(rows: Rows, count: int) -> Rows:
    """Return the rows of two classes, of which at most `count`, in any rows, have the other label."""
    if rows.uncertain_labels:
        raise IpubError("Labels may be wrong in a number of rows, or uncertain in given rows, but not both.")
    return View(rows, _with_wrong_labels, count, max_wrong_labels=count)


def with_label_uncertainty(rows: Rows, uncertainty: LabelUncertainty) -> Rows:
    """Return the rows with targets or weights that are uncertain, each row by its own amount."""
    radius, weight_radius = per_block(rows, uncertainty.radius, uncertainty.weight_radius)
    view = View(rows, _with_label_uncertainty, radius, weight_radius)
    view.uncertain_labels = True
    return view


@reads(Reads.LABELS)
def _with_label_uncertainty(block: Block, radius: Array, weight_radius: Array) -> Block:
    return replace(block, label_uncertainty=LabelUncertainty(radius, weight_radius))


def with_labels(rows: Rows, y: Array, weight: Array) -> Rows:
    """Return the rows with other labels and weights, all certain; the sum of the weights must be the same."""
    return View(rows, _with_labels, *per_block(rows, y, weight), certain_labels=True)


def per_block(rows: Rows, *values: Array) -> tuple[PerBlock, ...]:
    """Cut arrays with one entry for each row into the parts of the blocks."""
    ends = np.cumsum(rows.map(_n_rows).parts)
    return tuple(PerBlock(tuple(np.split(each, ends[:-1]))) for each in values)


@reads(Reads.LABELS)
def _n_rows(block: Block) -> int:
    return block.n_rows


@reads(Reads.LABELS)
def _with_labels(block: Block, y: Array, weight: Array) -> Block:
    # Norms of columns are over the rows that have a weight, so none are reused.
    return replace(block, y=y, weight=weight, label_uncertainty=None, column_norms=None, column_maxima=None, cache=None)


@reads(Reads.LABELS)
def _append_ones(block: Block) -> Block:
    def extended() -> Array:
        return np.column_stack([block.center, np.ones(len(block.center), like=block.center)])

    if block.cache is None or len(block.center) < block.n_rows:
        return replace(block, center=extended(), column_norms=None, column_maxima=None, cache=None)
    cache = block.cache.of_view("intercept")
    center = cache.kept("center", extended, row_sized=True)
    return replace(block, center=center, column_norms=None, column_maxima=None, cache=cache)


@reads(Reads.LABELS)
def _against_rest(block: Block, number: float, always: float) -> Block:
    return replace(block, y=np.where((block.y == number) | (block.y == always), 1.0, -1.0))


@reads(Reads.LABELS)
def _with_wrong_labels(block: Block, count: int) -> Block:
    return replace(block, label_uncertainty=LabelUncertainty.of_wrong_labels(block.n_rows, count))
