"""Which columns and missing values cause the width of the bounds, and which to find out first."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.errors import IpubError
from ipub.reports.asked import Asked, left_out
from ipub.reports.words import count, text

MOST_ROWS = 200
"""Rows over which effects are averaged, at most."""
MOST_COLUMNS, MOST_CELLS = 12, 12
MEANING = (
    "If values of the training table become known, whatever they are, the range of a score becomes narrower by at "
    "least and at most so much of the width of its bounds (proved; means over {rows}). Shares are of an estimate to "
    "first order, by which lines are ordered."
)


def influence_of(asked: Asked) -> dict[str, Any]:
    """Return the columns, and the single missing values, that take most width away once they are known."""
    if not asked.has_training_table:
        return left_out("What matters is found by looking at the training table, which this model does not have.")
    if not asked.is_bounded:
        return left_out("Without a certificate there are no bounds whose width could be explained.")
    drawn = np.sort(np.random.default_rng(0).permutation(len(asked.rows))[:MOST_ROWS]).astype(np.intp)
    X = asked.rows.take(drawn)
    try:
        columns, cells = (_lines(asked, asked.estimator.influence(X, by=by)) for by in ("column", "cell"))
    except IpubError as error:
        return left_out(error)
    total = sum(each["estimate"] for each in columns)
    if not 0.0 < total < np.inf:
        return left_out("No value of the training table is missing, so none widens the bounds.")
    width = _mean_width(asked, X)
    for each in [*columns, *cells]:
        each["share"] = each["estimate"] / total
        each["at_least"], each["at_most"] = each["lower"] / width, min(1.0, each["upper"] / width)
    return {
        "sentence": MEANING.format(rows=count(len(drawn), "row")),
        "n_cells": len(cells),
        "columns": columns[:MOST_COLUMNS],
        "n_columns": len(columns),
        "cells": cells[:MOST_CELLS],
    }


def _mean_width(asked: Asked, X: Any) -> float:
    """Return the mean width of the bounds of scores, in which effects are measured."""
    bounds = asked.estimator.decision_bounds(X) if asked.is_classes else asked.estimator.predict_bounds(X)
    return float(np.ptp(np.asarray(bounds), axis=-1).mean())


def _lines(asked: Asked, frame: Any) -> list[dict[str, Any]]:
    columns = frame if isinstance(frame, dict) else nw.from_native(frame, eager_only=True).to_dict(as_series=False)
    names = {"row": asked.training_row, "column": _name}
    lines = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [{name: names[name](value) if name in names else value for name, value in line.items()} for line in lines]


def _name(label: Any) -> str:
    """Return a column as the report calls it: numbers of arrays need a word before them."""
    return f"column {label}" if isinstance(label, int) else text(label)
