"""Which missing values to find out first, and how many predictions are certain then."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.answers.status import CERTAIN
from ipub.answers.tipping.explanation import column_in_words
from ipub.errors import IpubError
from ipub.reports.asked import Asked, left_out
from ipub.reports.words import count, text

MOST_ROWS = 200
"""Rows whose predictions are to become certain, at most."""
MOST_VALUES = 12
"""Missing values that are listed, at most."""
CERTIFICATE_WORK = 1 << 30
"""Work of one of the ten certificates, counted as in `is_small`, up to which they are made."""
WORK = 2e8
"""What `Asked.affordable` may spend on the rows: all rows are certified together, some ten times."""


def plan_of(asked: Asked) -> dict[str, Any]:
    """Return what to find out, best first, and how many predictions are certain the more is known."""
    if asked.status is None:
        return left_out("Which values to find out is asked of classes: in a regression, of measurement_plan.")
    if not asked.has_training_table:
        return left_out("Which values to find out needs the training table, which this model does not have.")
    if (asked.status == CERTAIN).all():
        return left_out("Every prediction is certain: nothing needs to be found out.")
    if not asked.certifies_in(CERTIFICATE_WORK):
        return left_out("Of a training table of this size it takes minutes: in Python, ask measurement_plan.")
    n = min(len(asked.rows), asked.affordable(MOST_ROWS, WORK))
    drawn = np.sort(np.random.default_rng(0).permutation(len(asked.rows))[:n]).astype(np.intp)
    try:
        found = asked.estimator.measurement_plan(asked.rows.take(drawn))
    except IpubError as error:
        return left_out(error)
    if found.n_missing == 0:
        return left_out("No value of the training table is missing: what is open is so by missing values of its own.")
    curve, cells = (_columns(frame) for frame in (found.curve, found.cells))
    return {
        "sentence": _sentence(curve, n, found.n_missing),
        "rows_looked_at": n,
        "n_missing": int(found.n_missing),
        "n_known": [int(value) for value in curve["n_cells"]],
        "certain_at_least": [int(value) for value in curve["certain_at_least"]],
        "certain_if_as_filled": [int(value) for value in curve["certain_if_as_filled"]],
        "values": [
            {"row": asked.training_row(row), "column": text(column_in_words(column))}
            for row, column in list(zip(cells["row"], cells["column"], strict=True))[:MOST_VALUES]
        ],
    }


def _columns(frame: Any) -> dict[str, list[Any]]:
    return frame if isinstance(frame, dict) else nw.from_native(frame, eager_only=True).to_dict(as_series=False)


def _sentence(curve: dict[str, list[Any]], n: int, n_missing: int) -> str:
    now, known = int(curve["certain_at_least"][0]), [int(each) for each in curve["n_cells"]]
    filled, anything = (curve[name] for name in ("certain_if_as_filled", "certain_at_least"))
    half = next((k for k, each in enumerate(known) if each >= n_missing / 2), len(known) - 1)
    rest = (
        f" With all {n_missing:,} known it is at least {int(anything[-1]):,}, whatever they are."
        if known[-1] == n_missing
        else ""
    )
    return (
        f"Of {count(n, 'row')} bounds prove {now:,} certain. With {known[half]:,} of the {n_missing:,} missing values "
        f"known it is {int(filled[half]):,} if they turn out as filled in, and at least {int(anything[half]):,} "
        f"whatever they are: proved.{rest} In which order to find them is an estimate."
    )
