"""What a report is asked about: a fitted model and rows, with what is known of each prediction."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ipub.answers.status import CERTAIN, OPEN, UNPROVED
from ipub.certificates.row_sums.table import is_small
from ipub.estimators.prediction_table import predicted_columns
from ipub.numeric.rounding import Array
from ipub.reports.given_rows import GivenRows
from ipub.reports.words import text
from ipub.training import Training

SEARCHED_ROWS = 300
"""Rows for which fillings that change the class are searched for, at most, those nearest to the threshold first: time.
Others whose bounds reach over the threshold count as unproved, and the report says so."""
SEARCH_WORK = 1e8
"""Of tables on which a training is long, fewer: so much work, a row being columns squared times rows and columns."""


@dataclass(frozen=True, eq=False)
class Options:
    """What the caller of a report may choose."""

    y: Any = None
    groups: Any = None
    labels: Any = None
    scoring: Sequence[str] | None = None
    reasons: Mapping[Any, Any] = field(default_factory=dict)
    title: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    """What else is needed to repeat the report: names of files and their hashes, the command."""
    training_numbers: Sequence[int] | None = None
    """Numbers of the training rows in their file, counted from 1; None for labels of their index, or positions."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A fitted estimator, the rows to report on, and their predictions."""

    estimator: Any
    rows: GivenRows
    options: Options
    prediction: list[str]
    value: Array
    """The number that is bounded: a probability or a score; in a regression the prediction."""
    lower: Array
    upper: Array
    """Its bounds; NaN without a certificate."""
    quantity: str
    """What is bounded, in words."""
    threshold: float | None
    """Where the class changes; None with more than two classes, and in a regression."""
    status: NDArray[np.str_] | None
    """Of each row, ``"certain"``, ``"open"`` or ``"unproved"``; None in a regression, and without bounds."""
    n_searched: int
    """Rows, of those that bounds leave uncertain, for which fillings were searched."""
    n_not_searched: int
    """Rows that are unproved because no fillings were searched for them."""

    @classmethod
    def of(cls, estimator: Any, X: Any, options: Options) -> Asked:
        """Predict the rows, and find out which of the predictions are certain."""
        rows = GivenRows.of(X, options.labels)
        columns, quantity = predicted_columns(estimator, rows.X)
        n_classes = len(estimator.classes_) if is_classifier(estimator) else 0
        number = next((name for name in ("probability", "score") if name in columns), "prediction")
        nothing = np.full(len(rows), np.nan)
        threshold = (0.5 if number == "probability" else 0.0) if n_classes == 2 else None
        value = np.asarray(columns[number], dtype=float)
        status, n_searched, n_not_searched = None, 0, 0
        if "certain" in columns:
            order = np.argsort(np.abs(value - (threshold or 0.0)), kind="stable")
            status, n_searched, n_not_searched = _status(estimator, rows, np.asarray(columns["certain"]), order)
        return cls(
            estimator,
            rows,
            options,
            [text(each) for each in columns["prediction"]],
            value,
            np.asarray(columns.get("lower", nothing), dtype=float),
            np.asarray(columns.get("upper", nothing), dtype=float),
            text(quantity or f"the {number}"),
            threshold,
            status,
            n_searched,
            n_not_searched,
        )

    @property
    def training(self) -> Training:
        """What was read, trained and certified."""
        found: Training = self.estimator.training_
        return found

    @property
    def is_classes(self) -> bool:
        """Whether classes are predicted."""
        return bool(is_classifier(self.estimator))

    @property
    def is_bounded(self) -> bool:
        """Whether there are bounds."""
        return bool(self.training.certificates)

    @property
    def has_training_table(self) -> bool:
        """Whether the training table is at hand, for searches that retrain."""
        return self.training.can_search and self.training.given is not None

    def training_row(self, label: Any) -> str:
        """Return how the report calls a training row that answers call by its label or position."""
        numbers = self.options.training_numbers
        return text(label if numbers is None else int(numbers[label]))

    @property
    def counting(self) -> str:
        """How rows are counted, in one sentence."""
        if self.options.training_numbers is not None:
            return "Rows are counted from 1, without the header."
        if self.training.given is not None and hasattr(self.training.given.X, "iloc"):
            return "Rows of the training table are called by the labels of its index."
        return "Rows of the training table are counted from 0."

    def certifies_in(self, work: float) -> bool:
        """Whether the table is so small that a certificate of the few values that differ takes so much work."""
        n, d = self.training.models[0].problem.rows.n_rows, self.training.coef.shape[1]
        return is_small(n, d, int(work))

    def affordable(self, most: int, work: float) -> int:
        """Return how many rows may be asked for what retrains, at most `most`: the fewer, the larger the tables are."""
        return affordable(self.training, most, work)

    def settled(self, departures: Mapping[str, Any]) -> Asked:
        """Return the same with rows that tipping points show to be open, or prove to be certain under any filling."""
        if self.status is None or "left_out" in departures or self.estimator.uncertainty != "worst":
            return self
        status = self.status.copy()
        rows, at_least, at_most = (np.array(departures[name]) for name in ("rows", "at_least", "at_most"))
        is_unproved = status[rows] == UNPROVED
        status[rows[is_unproved & np.isfinite(at_most)]] = OPEN
        status[rows[is_unproved & np.isinf(at_least)]] = CERTAIN
        return replace(self, status=status)

    @property
    def open_rows(self) -> NDArray[np.intp]:
        """Rows that are not certain, most open first: open before unproved, then by how near the threshold is."""
        if self.status is None:
            return np.zeros(0, dtype=np.intp)
        width = np.nan_to_num(self.upper - self.lower, nan=np.inf, posinf=np.inf)
        away = np.abs(self.value - (0.5 if self.threshold is None else self.threshold)) / np.maximum(width, 1e-300)
        order = np.lexsort((away, self.status == UNPROVED))
        found: NDArray[np.intp] = order[self.status[order] != CERTAIN]
        return found


def _status(
    estimator: Any, rows: GivenRows, certain: NDArray[np.bool_], order: NDArray[np.intp]
) -> tuple[NDArray[np.str_], int, int]:
    """Return the status of each row, and for how many rows fillings were searched, and were not."""
    status: NDArray[np.str_] = np.where(certain, CERTAIN, UNPROVED).astype("<U8")
    left = order[~certain[order]]
    searched = np.sort(left[: affordable(estimator.training_, SEARCHED_ROWS, SEARCH_WORK)])
    if len(searched):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when all rows were bounded
            status[searched] = estimator.predict_status(rows.take(searched))
    return status, len(searched), len(left) - len(searched)


def affordable(training: Training, most: int, work: float) -> int:
    """Return for how many rows fillings may be searched; where nothing is searched for, `most`."""
    if not training.can_search:
        return most
    n, d = training.models[0].problem.rows.n_rows, training.coef.shape[1]
    return max(1, min(most, int(work / (d * d * (n + d)))))


def counts_of(status: NDArray[np.str_]) -> dict[str, int]:
    """Return how many rows have each status."""
    return {name: int(np.count_nonzero(status == name)) for name in (CERTAIN, OPEN, UNPROVED)}


def left_out(why: Any) -> dict[str, Any]:
    """Return a section that does not apply: one sentence that says why."""
    return {"left_out": text(why, 1000)}
