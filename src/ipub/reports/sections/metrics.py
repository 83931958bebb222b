"""Between which values metrics are, whatever the missing values are."""

from __future__ import annotations

import math
import warnings
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.errors import IpubError
from ipub.reports.asked import Asked, left_out
from ipub.reports.words import count, text

MOST_ROWS = 2000
"""Rows on which metrics are bounded, at most: time of those that compare rows with each other."""
MOST_GROUPS = 12
TWO_CLASSES = ("accuracy", "balanced_accuracy", "recall", "precision", "roc_auc")
WITH_PROBABILITY = ("neg_brier_score",)
SEVERAL_CLASSES = ("accuracy", "balanced_accuracy")
REGRESSION = ("r2", "neg_mean_absolute_error")
OF_GROUPS = ("accuracy", "selection_rate")
PLAIN = {
    "neg_brier_score": "Brier score",
    "neg_log_loss": "log loss",
    "neg_mean_absolute_error": "mean absolute error",
    "neg_mean_squared_error": "mean squared error",
    "r2": "R²",
    "roc_auc": "ROC AUC",
}


def metrics_of(asked: Asked) -> dict[str, Any]:
    """Return certified and attained ranges of metrics, of all rows and of groups; it needs labels."""
    options = asked.options
    if options.y is None:
        return left_out("No labels were given, so there are no metrics: give y, or a test table with the target.")
    if not asked.is_bounded:
        return left_out("Without a certificate there are no ranges of metrics.")
    chosen = np.arange(len(asked.rows))
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(0).permutation(len(chosen))[:MOST_ROWS])
    X, y = asked.rows.take(chosen.astype(np.intp)), np.asarray(options.y, dtype=None)[chosen]
    scoring = list(options.scoring or _usual(asked))
    groups = None if options.groups is None else _grouped(np.asarray(options.groups)[chosen])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a metric that is not defined is left out, and the report says so
            found = _lines(asked.estimator.score_range(X, y, scoring))
            by_group = [] if groups is None else _lines(_by_group(asked, X, y, scoring, groups))
    except (IpubError, ValueError) as error:
        return left_out(error)
    undefined = [each["metric"] for each in found if each["value"] is None]
    where = (
        f"Of {count(len(chosen), 'row')}, drawn at random from {len(asked.rows):,}."
        if len(chosen) < len(asked.rows)
        else f"Of {count(len(chosen), 'row')}."
    )
    missing = f" Not defined for these rows: {', '.join(undefined)}." if undefined else ""
    return {
        "sentence": f"{where}{missing}",
        "rows_looked_at": len(chosen),
        "metrics": [each for each in found if each["value"] is not None],
        "groups": [each for each in by_group if each["value"] is not None],
        "positive": text(asked.estimator.classes_[1]) if asked.threshold is not None else None,
    }


def _usual(asked: Asked) -> tuple[str, ...]:
    if not asked.is_classes:
        return REGRESSION
    if asked.threshold is None:
        return SEVERAL_CLASSES
    return (*TWO_CLASSES, *(WITH_PROBABILITY if hasattr(asked.estimator, "predict_proba") else ()))


def _grouped(groups: Any) -> Any:
    """Return groups as texts, of which all but the most frequent are one."""
    names = np.array([text(group) for group in groups.tolist()], dtype=object)
    known, counts = np.unique(names.astype(str), return_counts=True)
    kept = set(known[np.argsort(-counts, kind="stable")[:MOST_GROUPS]].tolist())
    return np.array([name if name in kept else "all others" for name in names.tolist()], dtype=object)


def _by_group(asked: Asked, X: Any, y: Any, scoring: list[str], groups: Any) -> Any:
    named = [name for name in OF_GROUPS if asked.threshold is not None or name in scoring]
    return asked.estimator.score_range(X, y, list(asked.options.scoring or named or scoring[:1]), groups=groups)


def _lines(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of ranges; None where something is not known."""
    columns = frame if isinstance(frame, dict) else nw.from_native(frame, eager_only=True).to_dict(as_series=False)
    lines = []
    for values in zip(*columns.values(), strict=True):
        line = dict(zip(columns, values, strict=True))
        numbers = {name: None if math.isnan(value) else value for name, value in line.items() if name not in WORDS}
        name = str(line["metric"])
        if name.startswith(NEGATIVE):  # a loss is shown as it is known, the smaller the better
            ends = {"lower": "upper", "upper": "lower", "attained_lower": "attained_upper"}
            ends |= {"attained_upper": "attained_lower", "value": "value"}
            numbers = {to: _negative(numbers[of]) for to, of in ends.items()}
        words = {"metric": PLAIN.get(name, name.replace("_", " ")), "name": name}
        lines.append({**words, **({"group": text(line["group"])} if "group" in line else {}), **numbers})
    return lines


def _negative(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


WORDS, NEGATIVE = ("metric", "group"), "neg_"
