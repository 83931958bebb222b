"""Predictions with their bounds as columns, and what they say in one sentence."""

from __future__ import annotations

import copy
import decimal
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.progress import track
from rich.text import Text

from ipub.answers.status import CERTAIN, OPEN, UNPROVED
from ipub.app.files import tables
from ipub.app.screen import err, note, say, working
from ipub.estimators.prediction_table import predicted_columns
from ipub.rows.parquet import ParquetTable
from ipub.tables.levels import CategoryWarning, UnknownLevels

FEW_CERTAIN = 0.5
"""Below this share of certain predictions, the screen says what would raise it."""
ROWS_AT_ONCE = 200
"""Rows bounded between two steps of the progress bar."""
SUMMARY_ROWS = 1000
"""Training rows that `fit` bounds for its summary, at most: a better estimate against time."""
FIRST_ROWS = 10
"""Rows that are bounded before the time of others is estimated."""
FRACTION, LEAST_SECONDS = 0.5, 1.0
"""Time that a summary may take, as a fraction of that of `fit`, and in any case."""


def predictions_of(estimator: Any, X: pa.Table) -> tuple[dict[str, Any], str]:
    """Return the columns of the result, and a description of what is bounded; "" if nothing is."""
    columns, quantity = predicted_columns(estimator, X, _in_parts)
    return {name: pa.array(values) for name, values in columns.items()}, quantity


def drawn_rows(n: int) -> NDArray[np.intp]:
    """Return the numbers of rows in the order in which `fit` and `check` look at training rows."""
    return np.random.default_rng(0).permutation(n)


def sampled_predictions(estimator: Any, X: pa.Table, seconds: float) -> dict[str, Any]:
    """Return the columns for rows drawn at random: few enough for half of the seconds that `fit` took."""
    if X.num_rows >= 2 * ROWS_AT_ONCE and estimator.certificate_ is not None:
        # As `predict` bounds a table of this length, which is not a few rows at a time.
        estimator, certificate = copy.copy(estimator), estimator.certificate_
        several = isinstance(certificate, tuple)
        found = tuple(each.in_calls_of(2 * ROWS_AT_ONCE) for each in (certificate if several else (certificate,)))
        estimator.certificate_ = found if several else found[0]
    drawn = X.take(drawn_rows(X.num_rows)[:SUMMARY_ROWS])
    parts, first, size, start = [], 0, FIRST_ROWS, time.perf_counter()
    while first < drawn.num_rows:
        parts.append(predictions_of(estimator, drawn.slice(first, size))[0])
        first += size
        spent = time.perf_counter() - start
        left = max(FRACTION * seconds, LEAST_SECONDS) - spent
        size = min(first, int(first * left / max(spent, 1e-9)))  # as many again, or what there is time for
        if size < FIRST_ROWS:
            break
    return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}


def _in_parts(bound: Callable[[pa.Table], NDArray[Any]], X: pa.Table) -> NDArray[Any]:
    """Bound a part of the rows at a time, and show progress."""
    parts = np.array_split(np.arange(X.num_rows), max(1, X.num_rows // ROWS_AT_ONCE))
    is_shown = len(parts) >= 5 and err.is_terminal
    shown = track(parts, "Bounding", console=err, transient=True) if is_shown else parts
    return np.concatenate([bound(X.take(part)) for part in shown])


class PredictedTable:
    """Predictions of a table, some rows at a time, and what is said of all of them; errors name its path."""

    def __init__(
        self,
        estimator: Any,
        table: pa.Table | ParquetTable,
        path: Path,
        *,
        id_column: str | None = None,
        with_status: bool = False,
    ) -> None:
        self.estimator, self.table, self.path = estimator, table, path
        self.names = [str(name) for name in estimator.feature_names_in_]
        self.id_column, self.with_status = id_column, with_status
        known = list(table.column_names if isinstance(table, pa.Table) else table.names)
        tables.check_names([*self.names, *([] if id_column is None else [id_column])], known, str(path))
        self.ignored = [name for name in known if name not in self.names]
        """Columns that the model does not use."""
        self.quantity = ""
        """What is bounded."""
        self.n_rows = self.n_holed = 0
        """Rows predicted so far, and those with missing cells among them."""
        self.unknown = UnknownLevels()
        """Categories that training did not see."""
        self.n_of_status: dict[str, int] = {}
        """How many predictions are certain, open and unproved, if that was asked for."""
        self._n_certain: int | None = None
        self._widths: list[NDArray[Any]] = []

    def pieces(self) -> Iterator[dict[str, Any]]:
        """Predict, and yield the columns piece by piece."""
        remedy = "The model was trained on numbers or text: turn them into that."
        wanted = list(dict.fromkeys([*self.names, *([] if self.id_column is None else [self.id_column])]))
        for frame in [self.table] if isinstance(self.table, pa.Table) else self.table.frames(wanted):
            X = tables.features_of(frame, self.names, self.path, remedy)
            if self.estimator.encoder_ is not None:
                self.estimator.encoder_.encode(X, self.unknown)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CategoryWarning)  # said once, of all pieces
                columns, self.quantity = predictions_of(self.estimator, X)
            if self.with_status:
                columns = self._with_status(columns, X)
            self.n_rows += X.num_rows
            self.n_holed += int(tables.holes_of(X).any(axis=1).sum())
            if "status" in columns:
                self._n_certain = self.n_of_status[CERTAIN]
            elif "certain" in columns:
                self._n_certain = (self._n_certain or 0) + columns["certain"].true_count
            elif "lower" in columns:
                self._widths.append(widths_of(columns))
            yield columns if self.id_column is None else self._with_ids(columns, frame)

    def _with_status(self, columns: dict[str, Any], X: pa.Table) -> dict[str, Any]:
        """Replace the column certain by one that tells open from unproved."""
        with working("Looking for fillings that change the class"), warnings.catch_warnings():
            warnings.simplefilter("ignore", CategoryWarning)
            status = self.estimator.predict_status(X)
        for name in (CERTAIN, OPEN, UNPROVED):
            self.n_of_status[name] = self.n_of_status.get(name, 0) + int(np.count_nonzero(status == name))
        return {("status" if name == "certain" else name): column for name, column in columns.items()} | {
            "status": pa.array(status.astype(object), pa.string())
        }

    def _with_ids(self, columns: dict[str, Any], frame: pa.Table) -> dict[str, Any]:
        """Put the column that names the rows first."""
        ids = frame.column(self.id_column).combine_chunks()
        ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
        name = str(self.id_column)
        return {f"{name} (given)" if name in columns else name: ids, **columns}

    @property
    def counts(self) -> dict[str, int]:
        """How many rows there are, and how many predictions are certain."""
        certain = {} if self._n_certain is None else {CERTAIN: self._n_certain}
        return {"rows": self.n_rows, **certain, **self.n_of_status}

    @property
    def share_certain(self) -> float | None:
        """Which share of the predictions is certain; None if nothing is."""
        return None if self._n_certain is None else self._n_certain / max(1, self.n_rows)

    def summary(self) -> str:
        """Say in one sentence how many predictions are certain, or how wide the bounds are."""
        if self.n_of_status:
            certain, is_open, unproved = (self.n_of_status[name] for name in (CERTAIN, OPEN, UNPROVED))
            return (
                f"{certain} certain, {is_open} open (two fillings with different classes are found), {unproved} "
                "unproved (neither)"
            )
        return _summary(self.n_rows, self._n_certain, np.concatenate(self._widths) if self._widths else None)


def summary_of(columns: dict[str, Any]) -> str:
    """Say in one sentence how many predictions are certain, or how wide the bounds are."""
    n_certain = columns["certain"].true_count if "certain" in columns else None
    return _summary(len(columns["prediction"]), n_certain, widths_of(columns) if "lower" in columns else None)


def _summary(n: int, n_certain: int | None, widths: NDArray[Any] | None) -> str:
    if n_certain is not None:
        if n_certain == 0:
            return "No prediction is certain: some filling might change each of them"
        return f"{how_many(n_certain, n)} are certain"
    if widths is None:
        return "predicted without bounds, since the model was fitted without a certificate"
    return f"the bounds of {n:,} predictions have a median width of {np.median(widths):.4g}"


def how_many(count: int, n: int) -> str:
    """Say how many predictions of n, and which share that is, rounded down: never more than is proved."""
    return f"{count} of {n} predictions ({percent(count / n)})"


def percent(share: float) -> str:
    """Return a share in per cent, rounded down.

    Examples
    --------
    >>> percent(0.29), percent(0.999)
    ('29 %', '99 %')
    """
    return f"{int(100.0 * share + 1e-9)} %"


def share_certain(columns: dict[str, Any]) -> float | None:
    """Return which share of the predictions is certain; None in a regression."""
    return columns["certain"].true_count / len(columns["certain"]) if "certain" in columns else None


def only_certain_class(columns: dict[str, Any], y: NDArray[Any]) -> Any:
    """Return the most frequent class of y if all certain predictions, of which there are some, are of it; else None."""
    if "certain" not in columns or columns["certain"].true_count == 0:
        return None
    predictions, certain = (columns[name].to_numpy(zero_copy_only=False) for name in ("prediction", "certain"))
    values, counts = np.unique(y, return_counts=True)
    majority = values[counts.argmax()]
    return majority if (predictions[certain] == majority).all() else None


def median_width(columns: dict[str, Any]) -> float:
    """Return the median width of the bounds."""
    return float(np.median(widths_of(columns)))


def widths_of(columns: dict[str, Any]) -> NDArray[Any]:
    """Return the widths of the bounds."""
    widths: NDArray[Any] = np.asarray(columns["upper"]) - np.asarray(columns["lower"])
    return widths


def promise_of(estimator: Any) -> str | None:
    """Return what the bounds promise; None without bounds."""
    certificates = estimator.training_.certificates
    return certificates[0].promise if certificates else None


def say_promise(estimator: Any) -> None:
    """Say what the bounds promise, and what could not be certified as requested."""
    certificates = estimator.training_.certificates
    if not certificates:
        return
    say(certificates[0].promise)
    if estimator.uncertainty != "worst":
        for each in dict.fromkeys(certificate.note for certificate in certificates if certificate.note):
            note(each)


def cell_of(value: Any, rounding: str | None) -> Text:
    """Return a value as it is shown in a table; a bound is rounded outward."""
    if value is None:
        return Text("-", "dim")
    if isinstance(value, bool):
        return Text("yes", "green") if value else Text("no", "yellow")
    if isinstance(value, float) and math.isfinite(value):
        value = float(decimal.Context(prec=4, rounding=rounding).create_decimal_from_float(value))
    return Text(f"{value:.4g}" if isinstance(value, float) else str(value))
