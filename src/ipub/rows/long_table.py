"""Tables that are read piece by piece: more rows than memory, or than one machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.tables.interval_matrix import Indices


@dataclass(frozen=True)
class PerPiece:
    """One value for each piece: as an argument of `LongTable.map`, a function receives the value of its own piece."""

    parts: tuple[Any, ...]


class LongTable(ABC):
    """A table in pieces of consecutive rows, each of which fits into memory many times.

    A subclass says where the pieces are and where functions of them run (`map`). Nothing else of a table is ever asked
    for, so what is learnt from it, training and every certificate are the same for all of them.
    """

    names: tuple[str, ...]
    """Names of all columns: features, target, weights."""
    lengths: tuple[int, ...]
    """Number of rows of each piece, in order; pieces without rows are allowed."""
    is_local: bool = False
    """Whether functions run in this process, so that values may be kept between passes without copies."""
    joins_elsewhere: bool = False
    """Whether `fold` joins results where the pieces are."""
    has_names: bool = True
    """Whether the names are the user's, and not made up for columns without names."""

    @abstractmethod
    def map(self, function: Callable[..., Any], *args: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield ``function(frame, *args)`` for each piece, in order; one call is one pass over the table.

        The function is pure, and defined in a module, so that it can be pickled. It receives the piece as a DataFrame
        of any library that narwhals supports, with at least these columns, all if left out; of an argument that is
        `PerPiece`, the part of its piece.
        """

    def fold(
        self,
        function: Callable[..., Any],
        join: Callable[[Any, Any], Any],
        *args: Any,
        columns: Sequence[str] | None = None,
    ) -> Any:
        """Join what ``function(frame, *args)`` returns for the pieces, as in `map`, in one pass.

        ``join(first, second)`` joins the results of consecutive pieces; it can be pickled. Results are joined in a
        fixed tree of height `fold_depth`, where the pieces are.
        """
        return reduce(join, self.map(function, *args, columns=columns))

    @property
    def fold_depth(self) -> int:
        """Greatest number of joins that a result goes through in `fold` (fp-sums)."""
        return len(self.lengths)

    def kept(self, function: Callable[..., Any], *args: Any, n_bytes: int) -> LongTable | None:  # noqa: ARG002
        """Return a table whose pieces are what `function` returns, kept where they are; None if they do not fit.

        All results need about `n_bytes` of memory.
        """
        return None

    def release(self) -> None:
        """Let go of what `kept` has kept: such a table is of no use afterwards."""
        return

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.lengths)

    @property
    def starts(self) -> Indices:
        """Number of the first row of each piece."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.intp)[:-1]

    def frames(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the pieces, with these columns in this order, one after the other, in this process."""
        raise NotImplementedError

    def placed(self, error: IpubError, number: int) -> IpubError:  # noqa: ARG002 (not every table has files)
        """Return the error of a piece with the row as who has the table counts it."""
        return error

    def whole(self, columns: Sequence[str]) -> Any:
        """Return columns of the whole table as one frame, for tables that fit into memory."""
        raise NotImplementedError

    def own_rows(self, rows: Indices) -> PerPiece:
        """Cut row numbers of the table, in ascending order, into those of each piece, counted from its first row."""
        ends = np.searchsorted(rows, self.starts[1:])
        return PerPiece(tuple(part - start for part, start in zip(np.split(rows, ends), self.starts, strict=True)))


def own_part(args: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    """Return arguments as the function of one piece receives them."""
    return tuple(arg.parts[number] if isinstance(arg, PerPiece) else arg for arg in args)
