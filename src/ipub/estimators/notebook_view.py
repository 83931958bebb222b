"""What a notebook shows of a fitted estimator, below the diagram of scikit-learn."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.what_is_missing import missing_cells
from ipub.training import Training

MOST_COLUMNS = 12
"""Columns with missing values that are listed, at most, those with most first."""
LONGEST = 60
"""Characters of a name, at most."""


def fitted_view(estimator: Any) -> str:
    """Return what was learnt, and what is promised, as HTML; nothing of an estimator that is not fitted.

    Nothing is computed for it: bounds that were not asked for yet are not proved now.
    """
    try:
        training: Training = estimator.training_
    except NotFittedError:
        return ""
    parts = [f"<p>alpha {training.alpha:g}; {_size(training)}. {escape(_promise(training))}</p>"]
    lines = _columns(estimator, training)
    if lines:
        head = "<tr><th>column</th><th>missing</th><th>assumed</th></tr>"
        parts.append(f"<table><thead>{head}</thead><tbody>{''.join(lines[:MOST_COLUMNS])}</tbody></table>")
    if len(lines) > MOST_COLUMNS:
        parts.append(f"<p>and {len(lines) - MOST_COLUMNS:,} more columns with missing values</p>")
    return f'<div class="ipub-fitted">{"".join(parts)}</div>'


def _size(training: Training) -> str:
    d = training.table.columns.n_features_in
    columns = f"{d:,} {'column' if d == 1 else 'columns'}"
    if not training.models:
        return f"{columns}, without its training table"
    return f"trained on {training.models[0].problem.rows.n_rows:,} rows and {columns}"


def _promise(training: Training) -> str:
    if not training.certified.is_done:
        return "Its bounds are proved when they are first asked for."
    if not training.certificates:
        return "It was fitted without a certificate: it has no bounds."
    return training.certificates[0].promise


def _columns(estimator: Any, training: Training) -> list[str]:
    """Return a line of a table for each column with missing values."""
    X, encoder = None if training.given is None else training.given.X, estimator.encoder_
    if X is None or isinstance(X, IntervalMatrix):
        return []
    missing = missing_cells(X).sum(axis=0)
    names = training.table.columns.feature_names_in if encoder is None else encoder.columns
    starts = np.arange(len(missing)) if encoder is None else encoder.starts
    lines = []
    for k in np.argsort(-missing, kind="stable")[: np.count_nonzero(missing)]:
        name = f"column {k}" if names is None else str(names[k])
        is_number = encoder is None or encoder.levels[k] is None
        assumed = _interval(estimator.hole_ranges_[starts[k]]) if is_number else "any of its categories"
        shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        lines.append(f"<tr><td>{escape(shown)}</td><td>{missing[k]:,}</td><td>{assumed}</td></tr>")
    return lines


def _interval(ends: Array) -> str:
    return f"{ends[0]:.6g} to {ends[1]:.6g}"
