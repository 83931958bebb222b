"""Rows of a long table: pieces are read, cut into blocks and dropped here, or kernels run where the pieces are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ipub.numeric.rounding import overflow_means_unbounded
from ipub.rows.block import Block, BlockCache, Reads, reads_of, with_norms
from ipub.rows.long_table import LongTable, PerPiece
from ipub.rows.memory import MemoryRows
from ipub.rows.piece_reader import PieceValues, RowReader
from ipub.rows.rows import MOST_GATHERED, Kernel, PerBlock, Rows, added, common_depth, count_numbers, joined
from ipub.rows.slices import block_slices, depth_of, drawn_places, most_rows, own_parts
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.missing_category import MissingCategories


@dataclass(frozen=True, eq=False)
class DrawnValues:
    """Rows drawn from a long table, as they were given."""

    places: Indices
    """Numbers of the rows."""
    pieces: list[PieceValues]
    """These rows, piece by piece."""


class PieceRows(Rows):
    """Rows of a `LongTable`. No more of it is in memory than the pieces that are being read.

    `total_weight` is the sum of the weights as the reader scales them, correctly rounded. `holes` has the number of
    missing cells of each feature, if they have been counted; `drawn` is a sample that needs no pass any more.
    """

    def __init__(
        self,
        table: LongTable,
        reader: RowReader,
        total_weight: float,
        holes: Mapping[str, int] | None = None,
        drawn: DrawnValues | None = None,
    ) -> None:
        self.table, self.reader, self.total_weight = table, reader, total_weight
        self.n_rows, self.n_features = table.n_rows, reader.n_features
        self.categories = reader.categories
        self._slices = tuple(_slices(n, self.n_features) for n in table.lengths)
        self._drawn, self._holes = drawn, holes
        self.clear_cache()

    @property
    def depth(self) -> int:
        return common_depth(depth_of(rows for slices in self._slices for rows in slices), self.n_rows)

    def results(self, kernel: Kernel, *args: Any) -> Iterator[Any]:
        of_pieces = (self._cut(arg) if isinstance(arg, PerBlock) else arg for arg in args)
        pieces = self.table.map(
            apply_to_piece,
            self.reader,
            PerPiece(self._slices),
            self._caches,
            kernel,
            *of_pieces,
            columns=self.reader.columns(reads_of(kernel)),
        )
        for results in pieces:
            yield from results

    def clear_cache(self) -> None:
        """Drop the norms of columns, which are kept for each block if its piece is read in this process."""
        self._caches: PerPiece | None = None
        if self.table.is_local:
            self._caches = PerPiece(tuple([BlockCache() for _ in slices] for slices in self._slices))

    def count_uncertain(self) -> int:
        if self._holes is None:
            return super().count_uncertain()
        return self.reader.count_uncertain(self._holes, self.n_rows)

    def sample(self, n_rows: int) -> Rows | None:
        places = drawn_places(self.n_rows, n_rows)
        drawn = self._drawn
        if drawn is None or not np.array_equal(drawn.places, places):
            columns = self.reader.columns(Reads.ROWS)
            drawn = DrawnValues(
                places, list(self.table.map(take_rows, self.reader, self.table.own_rows(places), columns=columns))
            )
            self._drawn = drawn
        parts = [self.reader.matrix(piece) for piece in drawn.pieces if piece.rows.n_rows]
        matrix = _stacked([part[0] for part in parts])
        y, weight = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        counted = np.flatnonzero(weight > 0.0)
        return MemoryRows(matrix.take(counted), y[counted], weight[counted]) if len(counted) else None

    def _cut(self, arg: PerBlock) -> PerPiece:
        """Return the parts of the blocks of each piece."""
        ends = np.cumsum([len(slices) for slices in self._slices])
        starts = (0, *ends[:-1].tolist())
        return PerPiece(tuple(PerBlock(arg.parts[a:b]) for a, b in zip(starts, ends.tolist(), strict=True)))


def _slices(n_rows: int, n_columns: int) -> tuple[slice, ...]:
    """Cut a piece into blocks; one that is no longer than a block stays whole."""
    if n_rows <= most_rows(n_columns):
        return (slice(0, n_rows),) if n_rows else ()
    return tuple(block_slices(n_rows, n_columns))


def apply_to_piece(
    frame: Any,
    reader: RowReader,
    slices: tuple[slice, ...],
    caches: list[BlockCache] | None,
    kernel: Kernel,
    *args: Any,
) -> list[Any]:
    """Return what a kernel returns for each block of a piece; of a `PerBlock` argument it receives its own part."""
    return apply_to_blocks(_blocks(frame, reader, slices, caches, reads_of(kernel)), kernel, *args)


def _blocks(
    frame: Any, reader: RowReader, slices: tuple[slice, ...], caches: Sequence[BlockCache] | None, what: Reads
) -> Iterator[Block]:
    """Yield the blocks of a piece, each with its cache, if there are caches."""
    if not slices:
        return
    values = reader.values(frame, what)
    for number, rows in enumerate(slices):
        part = values if len(slices) == 1 else values.take(np.arange(rows.start, rows.stop))
        yield replace(reader.block(part, what), cache=None if caches is None else caches[number])


def apply_to_blocks(blocks: Iterable[Block], kernel: Kernel, *args: Any) -> list[Any]:
    """Return what a kernel returns for each block; of a `PerBlock` argument it receives its own part."""
    has_norms = reads_of(kernel) >= Reads.NORMS
    with overflow_means_unbounded():
        return [
            kernel(with_norms(block) if has_norms else block, *own_parts(args, number))
            for number, block in enumerate(blocks)
        ]


def take_rows(frame: Any, reader: RowReader, rows: Indices) -> PieceValues:
    """Return rows of a piece as they were given."""
    return reader.values(frame).take(rows)


def _stacked(parts: list[IntervalMatrix]) -> IntervalMatrix:
    """Return tables of intervals, with the same columns and categories, one below the other."""
    lengths = [part.shape[0] for part in parts]
    counts = np.concatenate([np.diff(part.row_starts) for part in parts])
    firsts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    missing = [part.missing_categories for part in parts]
    return IntervalMatrix(
        np.concatenate([np.asarray(part.table) for part in parts]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.centers for part in parts]),
        np.concatenate([part.radii for part in parts]),
        MissingCategories(
            np.concatenate([each.rows + first for each, first in zip(missing, firsts, strict=True)]).astype(np.intp),
            np.concatenate([each.categories for each in missing]),
            missing[0].levels,
        ),
    )


BYTES_PER_CELL = 10
"""Memory of a block for each cell of its rows, with some missing."""


class FoldedRows(PieceRows):
    """Rows of a `LongTable` that joins results where its pieces are.

    The results of a kernel are added up piece by piece, then along the tree of `LongTable.fold`; only the total reaches
    this process. Blocks are kept where they are between passes if the table can keep them (`LongTable.kept`), and are
    decoded again in each pass if not.
    """

    keeps_elsewhere = True

    _blocks: LongTable | None
    """Of which each piece is a list of blocks."""

    @property
    def depth(self) -> int:
        lengths = [rows.stop - rows.start for slices in self._slices for rows in slices]
        longest: int = max(lengths)
        own = longest + max(map(len, self._slices)) + self.table.fold_depth
        return common_depth(own, self.n_rows)

    def results(self, kernel: Kernel, *args: Any) -> Iterator[Any]:
        results: list[Any] = self._fold(list, operator.add, kernel, *args)
        return iter(results)

    def reduce(self, kernel: Kernel, *args: Any) -> Any:
        return self._fold(total_of_blocks, joined_totals, kernel, *args)

    def gather(self, kernel: Kernel, *args: Any, most: int = MOST_GATHERED) -> Any:
        gathered = self._fold(partial(gathered_blocks, most), partial(joined_parts, most), kernel, *args)
        return None if gathered.parts is None else joined(gathered.parts, most)

    def reduce_and_gather(self, kernel: Kernel, *args: Any, most: int = MOST_GATHERED) -> tuple[Any, Any]:
        found = self._fold(partial(both_of_blocks, most), partial(joined_pairs, most), kernel, *args)
        total, gathered = found
        return total, None if gathered.parts is None else joined(gathered.parts, most)

    def clear_cache(self) -> None:
        """Let go of the blocks that are kept; the next pass decodes them again."""
        blocks: LongTable | None = getattr(self, "_blocks", None)
        if blocks is not None:
            blocks.release()
        self._caches, self._blocks, self._tried = None, None, False

    def _fold(self, finish: Callable[[list[Any]], Any], join: Callable[..., Any], kernel: Kernel, *args: Any) -> Any:
        """Run a kernel in one pass; `finish` makes one value of the results of a piece."""
        own = tuple(self._cut(arg) if isinstance(arg, PerBlock) else arg for arg in args)
        blocks = self._kept_blocks()
        if blocks is not None:
            return blocks.fold(finish_piece, join, apply_to_blocks, finish, kernel, *own)
        columns = self.reader.columns(reads_of(kernel))
        slices = PerPiece(self._slices)
        return self.table.fold(
            finish_piece, join, apply_to_piece, finish, self.reader, slices, None, kernel, *own, columns=columns
        )

    def _kept_blocks(self) -> LongTable | None:
        if not self._tried:
            n_bytes = BYTES_PER_CELL * self.n_rows * (self.n_features + 2)
            self._blocks = self.table.kept(blocks_of_piece, self.reader, PerPiece(self._slices), n_bytes=n_bytes)
            self._tried = True
        return self._blocks


# --- what runs where the pieces are ----------------------------------------------------------------


def blocks_of_piece(frame: Any, reader: RowReader, slices: tuple[slice, ...]) -> list[Block]:
    """Return the blocks of a piece, with an empty cache for the norms of their columns."""
    return list(_blocks(frame, reader, slices, [BlockCache() for _ in slices], Reads.ROWS))


def finish_piece(piece: Any, apply: Callable[..., Any], finish: Callable[[list[Any]], Any], *args: Any) -> Any:
    """Run a kernel on a piece, and make one value of its results."""
    return finish(apply(piece, *args))


class Gathered(NamedTuple):
    """Results that are to be joined; None if they hold too many numbers."""

    parts: list[Any] | None
    n_numbers: int


def total_of_blocks(results: list[Any]) -> Any:
    """Add up the results of a piece; None if it has no blocks."""
    with overflow_means_unbounded():
        return added(results) if results else None


def joined_totals(first: Any, second: Any) -> Any:
    """Add up the totals of pieces, of which any may have no blocks."""
    if first is None or second is None:
        return first if second is None else second
    return total_of_blocks([first, second])


def gathered_blocks(most: int, results: list[Any]) -> Gathered:
    """Return the results of a piece if they hold at most so many numbers."""
    n = sum(map(count_numbers, results))
    return Gathered(results if n <= most else None, n)


def joined_parts(most: int, first: Gathered, second: Gathered) -> Gathered:
    """Join the results of pieces if they hold at most so many numbers."""
    n = first.n_numbers + second.n_numbers
    parts = None if n > most or first.parts is None or second.parts is None else first.parts + second.parts
    return Gathered(parts, n)


def both_of_blocks(most: int, results: list[tuple[Any, Any]]) -> tuple[Any, Gathered]:
    """Add up the first of each pair of results of a piece, and gather the second."""
    return total_of_blocks([first for first, _ in results]), gathered_blocks(most, [second for _, second in results])


def joined_pairs(most: int, first: tuple[Any, Gathered], second: tuple[Any, Gathered]) -> tuple[Any, Gathered]:
    """Do the same with the results of pieces."""
    return joined_totals(first[0], second[0]), joined_parts(most, first[1], second[1])
