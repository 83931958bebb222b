"""The rows that a report is about, as they were given."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.reports.words import text
from ipub.tables.frames import is_frame, is_missing


class GivenRows(NamedTuple):
    """Rows of an array or a frame, with their names."""

    X: Any
    labels: list[str]
    """Of the rows: those of a pandas index, or given, else their numbers."""
    columns: list[str]

    @classmethod
    def of(cls, X: Any, labels: Any = None) -> GivenRows:
        """Read rows that are in memory.

        Raises IpubError if they are not, or if there are none.
        """
        if is_frame(X):
            frame = nw.from_native(X, eager_only=True)
            names, n = [text(name) for name in frame.columns], len(frame)
        else:
            if not isinstance(X, np.ndarray):
                X = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
            if not isinstance(X, np.ndarray) or X.ndim != 2:
                raise IpubError(
                    "A report is of rows in memory, as an array or a DataFrame: read a file first, choose some rows of "
                    "a collection, make a sparse matrix dense."
                )
            names, n = [f"column {number}" for number in range(X.shape[1])], X.shape[0]
        if n == 0:
            raise IpubError("There are no rows to report on: X has a header alone. Give at least one.")
        if labels is None:
            labels = list(X.index) if hasattr(X, "iloc") else range(n)
        if len(labels) != n:
            raise IpubError(f"There are {len(labels)} labels for {n} rows: give one for each.")
        return cls(X, [text(label) for label in labels], names)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.intp]) -> Any:
        """Return some of the rows, in the same library."""
        if is_frame(self.X):
            return nw.from_native(self.X, eager_only=True)[rows.tolist()].to_native()
        return self.X[rows]

    def values(self, row: int) -> list[Any]:
        """Return the values of a row; None where one is missing."""
        is_table = is_frame(self.X)
        found = list(nw.from_native(self.X, eager_only=True).row(row)) if is_table else self.X[row].tolist()
        return [None if is_missing(value) else value for value in found]
