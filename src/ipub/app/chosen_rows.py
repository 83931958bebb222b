"""Which predicted rows are written: all, or those that are not certain; in their order, or the widest bounds first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ipub.answers.status import CERTAIN
from ipub.app.files.tables import TableError
from ipub.app.predictions import widths_of

Columns = dict[str, Any]


def check_choice_of_rows(estimator: Any, *, only_open: bool, status: bool, by_width: bool) -> None:
    """Raise an error for a choice that the model has no answer to."""
    if not (only_open or status or by_width):
        return
    option = "--status" if status else "--only-open" if only_open else "--sort width"
    if estimator.certificate_ is None:
        raise TableError(f"{option} needs bounds, and the model was fitted without: leave out --certificate none.")
    if (only_open or status) and not hasattr(estimator, "classes_"):
        raise TableError(f"{option} is about classes, and this is a regression: --sort width shows the widest first.")


def chosen(pieces: Iterable[Columns], *, only_open: bool, by_width: bool, with_numbers: bool) -> Iterator[Columns]:
    """Yield the chosen rows, with the numbers of their rows, counted from 1, if they are asked for."""
    kept, number = [], 0
    for piece in pieces:
        n = len(piece["prediction"])
        if with_numbers:
            piece = {"row": pa.array(np.arange(number + 1, number + n + 1)), **piece}
        number += n
        if only_open:
            piece = _taken(piece, np.flatnonzero(~is_certain(piece)))
        if by_width:
            kept.append(piece)
        else:
            yield piece
    if kept:
        joined = {name: pa.chunked_array([part[name] for part in kept]).combine_chunks() for name in kept[0]}
        widths = widths_of(joined)
        yield _taken(joined, np.argsort(-np.nan_to_num(widths, nan=np.inf), kind="stable"))


def is_certain(columns: Columns) -> Any:
    """Return which predictions are certain."""
    if "status" in columns:
        return np.asarray(columns["status"]) == CERTAIN
    return columns["certain"].to_numpy(zero_copy_only=False)


def _taken(columns: Columns, rows: Any) -> Columns:
    return {name: column.take(pa.array(rows)) for name, column in columns.items()}
