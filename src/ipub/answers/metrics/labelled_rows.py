"""The rows that a model is tested on: labels as numbers, and groups of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.tables.frames import is_missing
from ipub.tables.interval_matrix import Indices
from ipub.training import Training
from ipub.training.reading.labels import as_numbers, check_targets, labels_of, one_dimension

MOST_GROUPS = 100
"""Groups of rows, at most: more are no groups, but numbers or names of single rows."""

WITHOUT_GROUP = "(missing)"
"""How the rows are called that belong to no group."""


class Group(NamedTuple):
    """Rows that a metric is asked of."""

    label: Any
    rows: Indices


def labels_as_numbers(training: Training, y: Any, n_rows: int) -> Array:
    """Return the label of each row: the number of its class, or its target; NaN where it is missing.

    Raises IpubError that names the row of a label that is no class of the model.
    """
    values = _column(y, "y", n_rows)
    if training.classes is None:
        missing = np.array([is_missing(each) for each in values.tolist()], dtype=bool)
        targets = np.full(n_rows, np.nan)
        targets[~missing] = as_numbers(np.array(values[~missing].tolist()), "y") if not missing.all() else 0.0
        check_targets(np.where(missing, 0.0, targets))
        return targets
    numbers = {label: float(k) for k, label in enumerate(training.classes.tolist())}
    found = np.full(n_rows, np.nan)
    for row, label in enumerate(values.tolist()):
        if is_missing(label):
            continue
        if label not in numbers:
            raise IpubError(
                "y is {value!r} in {row}, which is no class of the model: these are {classes}.",
                value=label,
                row=row,
                classes=", ".join(map(repr, numbers)),
            )
        found[row] = numbers[label]
    return found


def groups_of(groups: Any, n_rows: int) -> list[Group]:
    """Return the groups of rows, in the order of their labels; rows without one are a group too, the last."""
    values = _column(groups, "groups", n_rows).tolist()
    rows: dict[Any, list[int]] = {}
    without: list[int] = []
    for row, label in enumerate(values):
        (without if is_missing(label) else rows.setdefault(label, [])).append(row)
    if len(rows) > MOST_GROUPS:
        raise IpubError(f"groups has {len(rows):,} different values: put them into at most {MOST_GROUPS} groups.")
    try:
        labels = sorted(rows)
    except TypeError:  # text and numbers
        labels = sorted(rows, key=str)
    found = [Group(label, np.array(rows[label], dtype=np.intp)) for label in labels]
    if not without:
        return found
    label = next(name for name in (WITHOUT_GROUP, f"{WITHOUT_GROUP} group") if name not in rows)
    return [*found, Group(label, np.array(without, dtype=np.intp))]


def _column(values: Any, what: str, n_rows: int) -> NDArray[Any]:
    """Return values as an array with one for each row."""
    if values is None:
        raise IpubError(f"{what} is None: give one value for each row of X.")
    column = labels_of(one_dimension(values, what, may_be_unknown=True))
    if column.ndim != 1:
        raise IpubError(f"{what} has the shape {column.shape}: give one value for each row of X.")
    if len(column) != n_rows:
        raise IpubError(f"X has {n_rows} rows, and {what} has {len(column)}: give one value for each row of X.")
    if n_rows == 0:
        raise IpubError("X has no rows.")
    return column
