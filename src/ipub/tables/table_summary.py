"""Summaries of the columns of a long table: of one piece each, and joined over all of them; exact sums."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import LARGEST, Array
from ipub.tables.decoded_rows import DecodedColumn, TextColumn
from ipub.tables.levels import LevelCounts
from ipub.tables.validation import check_values


@dataclass(frozen=True, eq=False)
class Moments:
    """Range, mean and squares of the observed numbers of a column in the rows that count."""

    n: int = 0
    least: float = np.inf
    greatest: float = -np.inf
    is_whole: bool = True
    """Whether all are whole numbers."""
    is_two: bool = True
    """Whether there is none beside the least and the greatest."""
    mean: float = 0.0
    squares: float = 0.0
    """Sum of the squares of the differences from the mean."""

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Summarize numbers; NaN are left out."""
        observed = values[~np.isnan(values)]
        n = len(observed)
        if n == 0:
            return cls()
        least, greatest = float(observed.min()), float(observed.max())
        mean = float(observed.mean())
        difference = observed - mean
        return cls(
            n,
            least,
            greatest,
            bool((observed == np.floor(observed)).all()),
            bool(((observed == least) | (observed == greatest)).all()),
            mean,
            float(difference @ difference),
        )

    def joined(self, other: Moments) -> Moments:
        """Return the summary of both; mean and squares as Chan, Golub and LeVeque add them."""
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        n = self.n + other.n
        difference = other.mean - self.mean
        ends = {self.least, self.greatest, other.least, other.greatest}
        return Moments(
            n,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            self.is_whole and other.is_whole,
            self.is_two and other.is_two and len(ends) <= 2,
            self.mean + difference * (other.n / n),
            self.squares + other.squares + difference * difference * (self.n * (other.n / n)),
        )


@dataclass(frozen=True)
class ExactSum:
    """A sum of floats without any rounding: numbers that do not overlap, the largest first, and add up to it.

    Examples
    --------
    >>> ExactSum.of([1e16, 1.0]).joined(ExactSum.of([-1e16])).rounded()
    1.0
    """

    terms: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float]) -> ExactSum:
        """Add up floats."""
        rest, terms = list(values), []
        while (total := math.fsum(rest)) != 0.0:
            terms.append(total)
            rest.append(-total)
        return cls(tuple(terms))

    def joined(self, other: ExactSum) -> ExactSum:
        """Return the sum of both."""
        return ExactSum.of((*self.terms, *other.terms))

    def rounded(self) -> float:
        """Return the nearest float."""
        return math.fsum(self.terms)


EMPTY, NUMBER, CATEGORY = "empty", "number", "category"
"""What a column holds: nothing observed, numbers, categories."""


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What is known of a column."""

    name: str
    kind: str
    """One of "empty", "number", "category"."""
    piece: int
    """The first piece in which a cell is observed: an error names it."""
    n_rows: int
    n_holes: int
    """Missing cells, in all rows."""
    moments: Moments
    """Of numbers."""
    levels: LevelCounts | None = None
    """Of categories."""

    @classmethod
    def of(
        cls, name: str, piece: int, n_rows: int, column: DecodedColumn, is_counted: NDArray[np.bool_] | None
    ) -> ColumnSummary:
        """Summarize a piece of a column; `is_counted` says which rows count, all if left out."""
        if column is None:
            return cls(name, EMPTY, piece, n_rows, n_rows, Moments())
        if isinstance(column, TextColumn):
            n_holes = int(np.count_nonzero(column.codes < 0))
            levels = LevelCounts.of(name, column, is_counted)
            return cls(name, CATEGORY, piece, n_rows, n_holes, Moments(), levels)
        if np.fmax.reduce(np.abs(column), initial=0.0) > LARGEST:
            check_values(column[:, None], [name])
        n_holes = int(np.count_nonzero(np.isnan(column)))
        return cls(
            name, NUMBER, piece, n_rows, n_holes, Moments.of(column if is_counted is None else column[is_counted])
        )

    def joined(self, other: ColumnSummary) -> ColumnSummary:
        """Return the summary of both pieces, of which `other` follows.

        Raises IpubError if one has numbers and the other categories.
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
