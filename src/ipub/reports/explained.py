"""Why a row is open: the missing values that matter most to it, and a filling that changes its class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipub.answers.tipping.explanation import column_in_words
from ipub.errors import IpubError
from ipub.reports.asked import Asked
from ipub.reports.sections.departures import CERTIFICATE_WORK
from ipub.reports.words import lower, number, text, upper

MOST_CHANGES, MOST_CELLS = 10, 5
"""Missing values that are listed for a row, at most."""


def explanation_of(asked: Asked, row: int, *, searches: bool) -> dict[str, Any]:
    """Return sentences about a row, what changes its class, and which missing values matter most to it."""
    found = None
    if searches and asked.has_training_table and asked.certifies_in(CERTIFICATE_WORK):
        try:
            found = asked.estimator.explain(asked.rows.take(np.array([row], dtype=np.intp)))
        except IpubError:  # the report does without, as for losses or promises of which nothing is counted
            found = None
    if found is None:
        plain = (
            f"The {asked.quantity.removeprefix('the ')} is {number(float(asked.value[row]))}, between "
            f"{lower(float(asked.lower[row]))} and {upper(float(asked.upper[row]))}."
        )
        return {"sentences": [plain], "changes": [], "n_changes": 0, "own_values": [], "top_cells": []}
    own = found.own_values
    return {
        "sentences": [_ended(text(sentence, 1000)) for sentence in found.sentences()],
        "changes": [
            {
                "row": asked.training_row(change.row),
                "column": text(column_in_words(change.column)),
                "filled_in": text(change.filled_in),
                "value": text(change.value),
            }
            for change in found.changed[:MOST_CHANGES]
        ],
        "n_changes": len(found.changed),
        "own_values": _own(own),
        "top_cells": [
            {
                "row": asked.training_row(cell.row),
                "column": text(column_in_words(cell.column)),
                "lowest": float(cell.lowest),
                "highest": float(cell.highest),
            }
            for cell in found.top[:MOST_CELLS]
        ],
    }


def _ended(sentence: str) -> str:
    """Return a sentence that announced a list, which the report has in a table, as one that ends."""
    return f"{sentence.removesuffix(':')}." if sentence.endswith(":") else sentence


def _own(frame: Any) -> list[dict[str, str]]:
    """Return the missing values of the row itself, with which its class changes."""
    import narwhals.stable.v1 as nw

    columns = frame if isinstance(frame, dict) else nw.from_native(frame, eager_only=True).to_dict(as_series=False)
    lines = zip(columns["column"], columns["filled_in"], columns["value"], strict=True)
    return [
        {"column": text(column_in_words(column)), "filled_in": text(filled), "value": text(value)}
        for column, filled, value in lines
    ]
