"""How many predictions stay certain the more missing values may differ from the filled-in ones."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ipub.answers.missing_values import MissingValues
from ipub.answers.status import CERTAIN
from ipub.answers.tipping.explanation import column_in_words
from ipub.answers.tipping_curve import status_shares
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.reports.asked import Asked, left_out
from ipub.reports.words import count, percent, text

MOST_ROWS = 50
"""Rows whose tipping point is looked for, at most: each takes some retrainings, all together some certificates."""
WORK = 5e6
"""Of tables on which a training is long, fewer, as `SEARCH_WORK`."""
CERTIFICATE_WORK = 1 << 28
"""Work of one of the fifty certificates, counted as in `is_small`, up to which they are made: some ten seconds."""
TOO_LARGE = "Of a training table of this size tipping points take minutes: in Python, ask tipping_points for some rows."
MOST_STEPS = 60
"""Steps of the curve that are kept, at most: size of the report."""


def departures_of(asked: Asked) -> dict[str, Any]:
    """Return the tipping points of rows, and the shares of certain, open and unproved predictions that follow."""
    if asked.status is None:
        return left_out(
            "Tipping points are of classes: in a regression look at the bounds, or ask flip_distance with a threshold."
        )
    if asked.threshold is None:
        return left_out("Tipping points are of two classes: with more, look at the bounds of each.")
    if not asked.has_training_table:
        return left_out("Tipping points need the training table, which this model does not have: call fit again.")
    if not asked.certifies_in(CERTIFICATE_WORK):
        return left_out(TOO_LARGE)
    looked_at, asked_for = _rows(asked)
    try:
        n_missing = len(MissingValues.of(asked.training))
        found = asked.estimator.tipping_points(asked.rows.take(asked_for)) if n_missing and len(asked_for) else None
    except IpubError as error:
        return left_out(error)
    if n_missing == 0:
        return left_out("No value of the training table is missing, so none can differ.")
    columns: tuple[Any, ...] = ()
    n_own = 0
    bracket = np.full((len(asked_for), 2), np.inf)
    if found is not None:
        frame = nw.from_native(found.rows, eager_only=True)
        bracket = np.column_stack([frame[name].to_numpy() for name in ("at_least", "at_most")])
        columns, n_own = found.columns, found.n_own
    place = {int(row): k for k, row in enumerate(asked_for)}
    at_least, at_most = np.full(len(looked_at), np.inf), np.full(len(looked_at), np.inf)
    for k, row in enumerate(looked_at.tolist()):
        if row in place:
            at_least[k], at_most[k] = bracket[place[row]]
    numbers, shares = status_shares(at_least, at_most, n_missing)
    kept = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), MOST_STEPS)).round().astype(int))
    others = at_least >= 1.0
    return {
        "sentence": _sentence(at_least, at_most, n_missing, len(asked.rows)),
        "n_missing": n_missing,
        "rows_looked_at": len(looked_at),
        "tipping": float(at_least[others].min(initial=np.inf)),
        "found": float(at_most[others].min(initial=np.inf)),
        "numbers": numbers[kept].tolist(),
        "shares": {name: values[kept].tolist() for name, values in shares.items()},
        "n_own": n_own,
        "columns": [_alone(each, len(looked_at), len(asked_for)) for each in columns],
        "rows": looked_at.tolist(),
        "at_least": at_least.tolist(),
        "at_most": at_most.tolist(),
    }


def _rows(asked: Asked) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that the curve is about, and those of them whose tipping points must be looked for.

    Where every filling is meant, no number of values changes a certain prediction.
    """
    assert asked.status is not None
    order = np.random.default_rng(0).permutation(len(asked.rows))
    settled = (asked.status[order] == CERTAIN) & (asked.estimator.uncertainty == "worst")
    n = int(np.searchsorted(np.cumsum(~settled), asked.affordable(MOST_ROWS, WORK), side="right"))
    return np.sort(order[:n]).astype(np.intp), np.sort(order[:n][~settled[:n]]).astype(np.intp)


def _alone(column: Any, n_rows: int, n_asked: int) -> dict[str, Any]:
    """Return what the missing values of one column alone can change, of all rows that were looked at."""
    certain = int(column.certain) + n_rows - n_asked
    name = column_in_words(column.column)
    return {"column": text(name), "missing": int(column.missing), "certain": certain, "open": int(column.open)}


def _sentence(at_least: Array, at_most: Array, n_missing: int, n_all: int) -> str:
    """Say how many values may differ before the first prediction may change."""
    n_rows, own = len(at_least), at_least < 1.0
    drawn = "" if n_rows == n_all else f"Of {count(n_rows, 'row')}, drawn at random: "
    parts = []
    if own.any():
        parts.append(
            f"{count(int(own.sum()), 'prediction')} may change by missing values of "
            f"{'its' if own.sum() == 1 else 'their'} own row, whatever the training table holds."
        )
    which = "the others" if own.any() else "all predictions"
    rest = at_least[~own]
    if len(rest) == 0:
        return f"{drawn}{' '.join(parts)}"
    tipping, found = float(rest.min()), float(at_most[~own].min())
    if np.isinf(tipping):
        parts.append(f"However many of the {n_missing:,} missing values differ, {which} stay as they are: proved.")
    elif tipping == 1.0:
        parts.append(
            f"A single one of the {n_missing:,} missing values that differs from the filled-in one changes a "
            "prediction: shown."
            if found == 1.0
            else f"It is not proved that {which} stay as they are if a single one of the {n_missing:,} missing values "
            "differs from the filled-in one."
        )
    else:
        safe = int(tipping) - 1
        shown = "" if np.isinf(found) else f" With {int(found):,} that differ, a prediction is found to change."
        parts.append(
            f"As long as at most {safe:,} of the {n_missing:,} missing values ({percent(safe / n_missing)}) differ "
            f"from the filled-in ones, {which} stay as they are: proved.{shown}"
        )
    return f"{drawn}{' '.join(parts)}"
