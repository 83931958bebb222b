"""Summaries of the columns of a long table: of one piece each, and joined over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import LARGEST
from ipub.tables.decoded_rows import DecodedColumn, DecodedRows, TextColumn
from ipub.tables.levels import LevelCounts
from ipub.tables.moments import Moments
from ipub.tables.validation import check_values

EMPTY, NUMBER, CATEGORY = "empty", "number", "category"
"""What a column holds: nothing observed, numbers, categories."""


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What is known of a column.

    Attributes
    ----------
    name : str
    kind : {"empty", "number", "category"}
    piece : int
        The first piece in which a cell is observed: an error names it.
    n_rows : int
    n_holes : int
        Missing cells, in all rows.
    moments : Moments
        Of numbers.
    levels : LevelCounts or None
        Of categories.
    """

    name: str
    kind: str
    piece: int
    n_rows: int
    n_holes: int
    moments: Moments
    levels: LevelCounts | None = None

    @classmethod
    def of(
        cls, name: str, piece: int, n_rows: int, column: DecodedColumn, is_counted: NDArray[np.bool_] | None
    ) -> ColumnSummary:
        """Summarize a piece of a column; `is_counted` says which rows count, all if left out."""
        if column is None:
            return cls(name, EMPTY, piece, n_rows, n_rows, Moments())
        if isinstance(column, TextColumn):
            n_holes = int(np.count_nonzero(column.codes < 0))
            levels = LevelCounts.of_text(name, column, is_counted)
            return cls(name, CATEGORY, piece, n_rows, n_holes, Moments(), levels)
        if np.fmax.reduce(np.abs(column), initial=0.0) > LARGEST:
            check_values(column[:, None], [name])
        n_holes = int(np.count_nonzero(np.isnan(column)))
        return cls(
            name, NUMBER, piece, n_rows, n_holes, Moments.of(column if is_counted is None else column[is_counted])
        )

    def joined(self, other: ColumnSummary) -> ColumnSummary:
        """Return the summary of both pieces, of which `other` follows.

        Raises
        ------
        IpubError
            If one has numbers and the other categories.
        """
        if EMPTY not in (self.kind, other.kind) and self.kind != other.kind:
            words = {NUMBER: "numbers", CATEGORY: "text"}
            raise IpubError(
                "Column {column} holds {before} in piece {first} and {now} in piece {second} of the table: make it all "
                "numbers or all text; what stands for a missing value must be null.",
                column=self.name,
                before=words[self.kind],
                first=self.piece,
                now=words[other.kind],
                second=other.piece,
            )
        first = other if self.kind == EMPTY else self
        levels = self.levels
        if other.levels is not None:
            levels = other.levels if levels is None else levels.joined(other.levels)
        return ColumnSummary(
            self.name,
            first.kind,
            first.piece,
            self.n_rows + other.n_rows,
            self.n_holes + other.n_holes,
            self.moments.joined(other.moments),
            levels,
        )


def summarize(
    rows: DecodedRows, names: Sequence[str], piece: int, is_counted: NDArray[np.bool_] | None
) -> tuple[ColumnSummary, ...]:
    """Summarize the features of a piece."""
    return tuple(ColumnSummary.of(name, piece, rows.n_rows, rows.columns[name], is_counted) for name in names)


def joined_columns(first: Sequence[ColumnSummary], second: Sequence[ColumnSummary]) -> tuple[ColumnSummary, ...]:
    """Join the summaries of two pieces, column by column."""
    return tuple(a.joined(b) for a, b in zip(first, second, strict=True))
