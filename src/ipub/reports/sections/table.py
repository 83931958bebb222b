"""The training table: where values are missing, and between which values they are assumed to lie."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.reports.asked import Asked
from ipub.reports.words import count, text
from ipub.tables.frames import is_frame, is_missing, kind_of_column
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.what_is_missing import missing_cells

ASSUMPTION = (
    "Every missing value is assumed to lie in the interval of its column, or to be one of its categories. That is the "
    "assumption to judge: the promise holds inside it, and says nothing beyond. An observed range is the least and the "
    "greatest value seen in the training table."
)
WHY = (
    "Why a value is missing decides whether its interval is plausible: a test that was not ordered is another matter "
    "than an answer that was refused."
)
NOT_AT_HAND = "The training table is not at hand in memory, so missing values cannot be counted: intervals alone."


def training_table(asked: Asked) -> dict[str, Any]:
    """Return the columns with their missing values, observed ranges and assumed intervals."""
    given = asked.training.given
    table = None if given is None else given.X
    columns = _assumed(asked)
    has_own = given is not None and (given.X_lower is not None or isinstance(table, IntervalMatrix))
    if table is not None:
        for column, found in zip(columns, _observed(table), strict=True):
            column.update(found)
            column["share"] = column["missing"] / max(1, column["rows"])
    if has_own or asked.estimator.conditional_intervals_ is not None:
        for column in columns:
            if column["assumed"] is not None and column["missing"] != 0:
                column["rule"] = "each cell has an interval of its own" if has_own else "by the other values of the row"
    reasons = {text(name): text(reason) for name, reason in asked.options.reasons.items()}
    missing_of_rows = np.zeros(len(columns), dtype=int)
    if len(asked.rows.columns) == len(columns):
        missing_of_rows = np.array([each["missing"] for each in _observed(asked.rows.X)])
    for column, missing in zip(columns, missing_of_rows.tolist(), strict=True):
        column["missing_in_rows"] = missing
        column["reason"] = reasons.get(column["name"], "")
    known = table is not None
    cells = sum(column["missing"] or 0 for column in columns)
    n_holed = sum(bool(column["missing"]) for column in columns)
    return {
        "sentence": _sentence(asked, columns, cells, n_holed) if known else NOT_AT_HAND,
        "counting": asked.counting,
        "assumption": ASSUMPTION,
        "why": WHY,
        "rows": columns[0]["rows"] if known and columns else None,
        "missing": cells if known else None,
        "columns": columns,
    }


def _sentence(asked: Asked, columns: list[dict[str, Any]], cells: int, n_holed: int) -> str:
    n = columns[0]["rows"]
    size = f"The training table has {count(n, 'row')} and {count(len(columns), 'column')}"
    if not cells:
        return f"{size}, and no missing value: the width of the bounds is the error of training alone."
    of_rows = int(missing_cells(asked.rows.X).any(axis=1).sum())
    has = "has" if of_rows == 1 else "have"
    own = f" {count(of_rows, 'row')} to predict {has} missing values too." if of_rows else ""
    return (
        f"{size}; {count(cells, 'value')} in {count(n_holed, 'column')} {'is' if cells == 1 else 'are'} missing "
        f"({100.0 * cells / (n * len(columns)):.2g} %).{own}"
    )


def _assumed(asked: Asked) -> list[dict[str, Any]]:
    """Return the columns with the intervals of their missing values, and nothing observed."""
    estimator, learnt = asked.estimator, asked.training.table.columns
    encoder, ranges = estimator.encoder_, np.asarray(estimator.hole_ranges_, dtype=float)
    found = []
    names = learnt.feature_names_in if encoder is None else encoder.columns
    if names is None:
        names = [f"column {number}" for number in range(estimator.n_features_in_)]
    starts = np.arange(len(names)) if encoder is None else encoder.starts
    for k, name in enumerate(names):
        levels = None if encoder is None else encoder.levels[k]
        found.append(
            {
                "name": text(name),
                "kind": "numbers" if levels is None else "categories" if levels else "not used",
                "assumed": ranges[starts[k]].tolist() if levels is None else None,
                "levels": None if levels is None else [text(level) for level in levels],
                "rule": "" if levels is None else "any of its categories",
                "rows": None,
                "missing": None,
                "share": None,
                "observed": None,
            }
        )
    return found


def _observed(X: Any) -> list[dict[str, Any]]:
    """Return for each column how many values are missing, and the least and greatest of numbers."""
    if isinstance(X, IntervalMatrix):
        counts = np.bincount(X.cells(slice(0, X.shape[0]))[1], minlength=X.shape[1])
        return [{"rows": X.shape[0], "missing": int(each), "observed": None} for each in counts]
    if is_frame(X):
        return [_of_series(series) for series in nw.from_native(X, eager_only=True).iter_columns()]
    values = np.ma.filled(X.astype(float), np.nan) if isinstance(X, np.ma.MaskedArray) else np.asarray(X, dtype=object)
    return [_of_values(values[:, j].tolist()) for j in range(values.shape[1])]


def _of_series(series: nw.Series[Any]) -> dict[str, Any]:
    if kind_of_column(series) == "number":
        return _of_values(series.to_list())
    missing = series.is_null()
    return {"rows": len(series), "missing": int(missing.sum()), "observed": None}


def _of_values(values: list[Any]) -> dict[str, Any]:
    known = [float(value) for value in values if not is_missing(value)]
    observed = [min(known), max(known)] if known else None
    return {"rows": len(values), "missing": len(values) - len(known), "observed": observed}
