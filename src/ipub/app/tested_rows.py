"""The rows that a command looks at: those of a test table, or training rows that are held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ipub.app.files import tables
from ipub.app.training_tables import REMEDY

HELD_OUT = 0.2
"""Share of the training rows that are held out where no test table is given,"""
MOST_HELD_OUT = 200
"""and so many at most."""


class TestedRows(NamedTuple):
    """Rows that are predicted and bounded."""

    X: pa.Table
    y: NDArray[Any] | None
    """Their labels or targets, if they are known."""
    where: str
    """Where they come from, in words."""
    numbers: NDArray[np.intp] | None
    """Their numbers in the training table, if they were held out."""
    table: pa.Table | None
    """The whole test table, if there is one."""
    trained_on: NDArray[np.intp]
    """Numbers of the rows to train on in the training table."""

    def values(self, train: pa.Table, name: str, path: Path) -> list[Any]:
        """Return the values that a column has in these rows, whether or not the model uses it."""
        table = train if self.table is None else self.table
        tables.check_names([name], table.column_names, str(path))
        column = table.column(name)
        return (column if self.numbers is None else column.take(self.numbers)).to_pylist()  # type: ignore[no-any-return]

    def labels(self, ids: list[Any] | None) -> list[Any] | None:
        """Return names of the rows: those that are given, else of rows held out their numbers, counted from 1."""
        if ids is not None:
            return ids
        return list(range(1, self.X.num_rows + 1)) if self.numbers is None else (self.numbers + 1).tolist()


def split_rows(
    X: pa.Table, y: NDArray[Any], test: Path | None, target: str, seed: int
) -> tuple[pa.Table, NDArray[Any], TestedRows]:
    """Return the rows to train on, with their targets, and those to look at."""
    if test is None:
        order = np.random.default_rng(seed).permutation(len(y))
        n_held = min(MOST_HELD_OUT, max(1, int(HELD_OUT * len(y))))
        held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
        where = f"{n_held} training rows, held out"
        return X.take(kept), y[kept], TestedRows(X.take(held), y[held], where, held, None, kept)
    table = tables.read_table(test)
    tables.check_names(X.column_names, table.column_names, str(test))
    X_test = tables.features_of(table, X.column_names, test, REMEDY)
    y_test = tables.values_of(table, target, test) if target in table.column_names else None
    return X, y, TestedRows(X_test, y_test, f"{X_test.num_rows} rows of {test}", None, table, np.arange(len(y)))
