"""Where predictions tip if the missing values of the two columns that matter most are shifted."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from ipub.answers.tipping.explanation import column_in_words
from ipub.errors import IpubError
from ipub.reports.asked import Asked, left_out
from ipub.reports.sections.departures import CERTIFICATE_WORK
from ipub.reports.words import count, number, text

MOST_ROWS = 100
"""Rows that are looked at, at most."""
STEPS = (-0.5, -0.25, 0.0, 0.25, 0.5)
"""Shifts, in widths of the assumed interval: in its middle, values reach its ends."""
STATES = {"safe": "certain", "tips": "open", "unproved": "unproved"}


def shifts_of(asked: Asked) -> dict[str, Any]:
    """Return the grid of shifts of the two columns of numbers whose missing values matter most."""
    if asked.threshold is None or not asked.is_bounded:
        return left_out("Shifted values are looked at where two classes are told apart, and bounds are proved.")
    if not asked.has_training_table:
        return left_out("A grid of shifts needs the training table, which this model does not have.")
    if not asked.certifies_in(CERTIFICATE_WORK):
        return left_out("Of a training table of this size a grid of shifts takes minutes: in Python, ask shift_grid.")
    n = min(len(asked.rows), asked.affordable(MOST_ROWS, CERTIFICATE_WORK))
    X = asked.rows.take(np.sort(np.random.default_rng(0).permutation(len(asked.rows))[:n]).astype(np.intp))
    try:
        columns = _columns(asked, X)
        if not columns:
            return left_out("No column of numbers has missing values, so none can be shifted.")
        deltas = [[step * width for step in STEPS] for _, width in columns]
        found = asked.estimator.shift_grid(X, [label for label, _ in columns], deltas)
    except IpubError as error:
        return left_out(error)
    shape = (len(STEPS), len(STEPS) if len(columns) == 2 else 1)
    tipping = np.reshape(_lines(found.table)["tips"], shape)
    return {
        "sentence": _sentence(n, int(found.n_own)),
        "columns": [text(column_in_words(label)) for label, _ in columns],
        "deltas": [[number(delta, digits=3) for delta in each] for each in deltas],
        "states": [[STATES[str(state)] for state in line] for line in np.reshape(found.states, shape)],
        "tipping": tipping.tolist(),
    }


def _columns(asked: Asked, X: Any) -> list[tuple[Any, float]]:
    """Return the labels of the columns of numbers that matter most, two at most, with widths of their intervals."""
    labels = _lines(asked.estimator.influence(X, by="column"))["column"]
    estimator, learnt = asked.estimator, asked.training.table.columns
    encoder, names = estimator.encoder_, learnt.feature_names_in
    found = []
    for label in labels:
        known = list(encoder.columns) if encoder is not None else None if names is None else list(names)
        place = label if known is None else known.index(label)
        if encoder is None or encoder.levels[place] is None:
            low, high = estimator.hole_ranges_[place if encoder is None else encoder.starts[place]]
            if high > low:
                found.append((label, float(high - low)))
    return found[:2]


def _lines(frame: Any) -> dict[str, list[Any]]:
    return frame if isinstance(frame, dict) else nw.from_native(frame, eager_only=True).to_dict(as_series=False)


def _sentence(n: int, n_own: int) -> str:
    verb = "is" if n_own == 1 else "are"
    own = f" {count(n_own, 'row')} that missing values of their own change {verb} left out." if n_own else ""
    return (
        "All missing values of a column are shifted together from the filled-in ones, and all others stay as filled "
        f"in; of {count(n, 'row')}, in how many does the class change?{own}"
    )
