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
from sklearn.base import is_classifier

from ipub.answers.certainty import is_certain, possible_labels
from ipub.app.files import tables
from ipub.app.screen import err, note, say
from ipub.estimators.classifier import probability_bounds
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
    prediction = estimator.predict(X)
    columns = {"prediction": pa.array(prediction)}
    is_bounded = estimator.certificate_ is not None
    if not is_classifier(estimator):
        if not is_bounded:
            return columns, ""
        bounds = _in_parts(estimator.predict_bounds, X)
        return {**columns, "lower": pa.array(bounds[:, 0]), "upper": pa.array(bounds[:, 1])}, "the prediction"
    several = len(estimator.classes_) > 2
    if hasattr(estimator, "predict_proba"):
        name, values = "probability", estimator.predict_proba(X) if several else estimator.predict_proba(X)[:, 1]
    else:
        name, values = "score", estimator.decision_function(X)
    of_predicted = np.arange(len(values)), np.searchsorted(estimator.classes_, prediction)
    columns[name] = pa.array(values[of_predicted] if several else values)
    if not is_bounded:
        return columns, ""
    scores = _in_parts(estimator.decision_bounds, X)
    bounds = probability_bounds(estimator.training_.loss, scores) if name == "probability" else scores
    bounds = bounds[of_predicted] if several else bounds
    columns |= {"lower": pa.array(bounds[:, 0]), "upper": pa.array(bounds[:, 1])}
    columns["certain"] = pa.array(is_certain(scores))
    if several:
        labels = possible_labels(scores)
        columns["possible"] = pa.array([", ".join(map(str, estimator.classes_[row])) for row in labels])
    return columns, f"the {name} of {'the class that is predicted' if several else estimator.classes_[1]}"


def sampled_predictions(estimator: Any, X: pa.Table, seconds: float) -> dict[str, Any]:
    """Return the columns for rows drawn at random: few enough for half of the seconds that `fit` took."""
    if X.num_rows >= 2 * ROWS_AT_ONCE and estimator.certificate_ is not None:
        # As `predict` bounds a table of this length, which is not a few rows at a time.
        estimator, certificate = copy.copy(estimator), estimator.certificate_
        several = isinstance(certificate, tuple)
        found = tuple(each.in_calls_of(2 * ROWS_AT_ONCE) for each in (certificate if several else (certificate,)))
        estimator.certificate_ = found if several else found[0]
    drawn = X.take(np.random.default_rng(0).permutation(X.num_rows)[:SUMMARY_ROWS])
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

    def __init__(self, estimator: Any, table: pa.Table | ParquetTable, names: list[str], path: Path) -> None:
        self.estimator, self.table, self.names, self.path = estimator, table, names, path
        self.first: dict[str, Any] = {}
        """Columns of the first rows, once they are predicted."""
        self.quantity = ""
        """What is bounded."""
        self.n_rows = self.n_holed = 0
        """Rows predicted so far, and those with missing cells among them."""
        self.unknown = UnknownLevels()
        """Categories that training did not see."""
        self._n_certain: int | None = None
        self._widths: list[NDArray[Any]] = []

    def pieces(self) -> Iterator[dict[str, Any]]:
        """Predict, and yield the columns piece by piece."""
        remedy = "The model was trained on numbers or text: turn them into that."
        for frame in [self.table] if isinstance(self.table, pa.Table) else self.table.frames(self.names):
            X = tables.features_of(frame, self.names, self.path, remedy)
            if self.estimator.encoder_ is not None:
                self.estimator.encoder_.encode(X, self.unknown)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CategoryWarning)  # said once, of all pieces
                columns, self.quantity = predictions_of(self.estimator, X)
            self.first = self.first or columns
            self.n_rows += X.num_rows
            self.n_holed += int(tables.holes_of(X).any(axis=1).sum())
            if "certain" in columns:
                self._n_certain = (self._n_certain or 0) + columns["certain"].true_count
            elif "lower" in columns:
                self._widths.append(widths_of(columns))
            yield columns

    @property
    def share_certain(self) -> float | None:
        """Which share of the predictions is certain; None if nothing is."""
        return None if self._n_certain is None else self._n_certain / max(1, self.n_rows)

    def summary(self) -> str:
        """Say in one sentence how many predictions are certain, or how wide the bounds are."""
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
