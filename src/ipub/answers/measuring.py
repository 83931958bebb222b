"""Which missing values to find so that most predictions become certain: a greedy order, and what it is sure to gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.answers.certain_counts import CertainCounts
from ipub.answers.missing_values import MissingValues
from ipub.answers.open_rows import Lacks, Predictions
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.tables.interval_matrix import Indices
from ipub.tables.new_frames import frame_of

BY = ("cell", "row", "column")
CURVE = ("n_cells", "certain_at_least", "certain_if_as_filled", "certain_estimate")

STEPS = 64
"""About so many times the greedy order is thought over: time. Fewer values are chosen one by one."""

POINTS = 8
"""Points of the curve, beside its first, at which certificates are made again: time."""

LEAST_GAP = 1e-3
"""Share of the median gap that is added to each: what a row lacks at last is not all that counts."""


@dataclass(frozen=True, eq=False, repr=False)
class MeasurementPlan:
    """Which missing values of the training table to find, in which order, so that most predictions become certain."""

    cells: Any
    """A frame of what to find, the best first: ``row`` and ``column`` (as far as the plan goes by them), the number of
    ``values`` of a row or column, ``cost`` and ``total_cost``."""
    curve: Any
    """A frame: ``n_cells`` values are known, and so many predictions are certain then. ``certain_at_least``: whatever
    the values are (proved; with a `Budget` no more than now); ``certain_if_as_filled``: if they are what is filled in
    (proved); ``certain_estimate``: to first order."""
    n_rows: int
    """Predictions."""
    n_missing: int
    """Missing values of the training table."""
    n_own: int = 0
    """Predictions that stay uncertain with the whole plan known, of rows that have missing values of their own."""
    is_around_filling: bool = False
    """Whether it is about a `Budget`: with it values are known if they turn out to be as filled in."""

    @property
    def why_not_all(self) -> str:
        """Why not every prediction is certain once all missing values are known; "" if all are, or fewer are found."""
        counted = "certain_if_as_filled" if self.is_around_filling else "certain_at_least"
        known, certain = (int(np.asarray(self.curve[name])[-1]) for name in ("n_cells", counted))
        left = self.n_rows - certain
        if known < self.n_missing or not left:
            return ""
        others = left - self.n_own
        parts = []
        if self.n_own:
            have = "row has missing values of its" if self.n_own == 1 else "rows have missing values of their"
            parts.append(f"{self.n_own:,} {have} own, which the plan does not look up")
        if others:
            are = "is" if others == 1 else "are"
            parts.append(f"{others:,} {are} unproved, as bounds are too wide or more may differ")
        known_all = f"With all {self.n_missing:,} missing values known" if self.n_missing else "With no value missing"
        return f"{known_all}, {left:,} of {self.n_rows:,} predictions may still change: {'; '.join(parts)}."

    def __repr__(self) -> str:
        first, last = ({name: int(np.asarray(self.curve[name])[at]) for name in CURVE} for at in (0, -1))
        why = f"{self.why_not_all}\n" if self.why_not_all else ""
        return (
            f"{first['certain_at_least']} of {self.n_rows} predictions are certain. With {last['n_cells']} of "
            f"{self.n_missing} missing values known it is {last['certain_if_as_filled']} if they are as filled in, and "
            f"at least {last['certain_at_least']} whatever they are (proved).\n"
            f"{why}.cells lists what to find, the best first; .curve has the way there"
        )


def plan_of_measurements(
    predictions: Predictions, budget: float | None, cost: Any, by: str, verbose: int = 0
) -> MeasurementPlan:
    """Order missing values, or rows or columns of them, and count what is certain with the first of them known."""
    if by not in BY:
        raise IpubError(f"by is {by!r}: use {', '.join(map(repr, BY))}.")
    if budget is not None and not (isinstance(budget, Real) and not isinstance(budget, bool) and budget > 0):
        raise IpubError(f"budget is {budget!r}: give what the values may cost together, a positive number.")
    missing = predictions.missing
    groups = _groups(missing, by)
    n_groups = int(groups.max(initial=-1)) + 1
    costs = _costs(missing, groups, n_groups, cost)
    lacks = predictions.lacks()
    order = greedy_order(lacks, groups, costs)
    total = np.cumsum(costs[order])
    if budget is not None:
        order = order[: int(np.searchsorted(total, float(budget) * (1.0 + 1e-12), side="right"))]
    ends = np.unique(np.linspace(0, len(order), min(POINTS, len(order)) + 1).astype(int))
    curve, are_certain = _curve(predictions, lacks, groups, order, ends, verbose)
    named = {"cost": costs[order], "total_cost": np.cumsum(costs[order])}
    if by == "cell":
        cells = missing.frame(order, **named)
    else:
        cells = missing.frame_by(by, order, values=np.bincount(groups, minlength=n_groups)[order], **named)
    frame = frame_of(curve, like=missing.holes.X)
    is_around = predictions.training.around is not None
    n_own = np.count_nonzero(predictions.have_own_values & ~(are_certain if is_around else predictions.certain))
    return MeasurementPlan(cells, frame, len(predictions.certain), len(missing), int(n_own), is_around)


def greedy_order(lacks: Lacks, groups: Indices, cost: Array) -> Indices:
    """Return all groups of missing values, the best to find first.

    The next is the one that takes most, for its cost, from the sum of the logarithms of what open rows lack: those that
    lack little come first.
    """
    harm = np.zeros((len(cost), len(lacks.gap)))
    np.add.at(harm, groups, lacks.harm.T)
    gap, order, left = lacks.gap.copy(), list[int](), np.arange(len(cost))
    least = LEAST_GAP * float(np.median(gap)) if len(gap) else 0.0
    step = max(1, len(cost) // STEPS)
    while len(left):
        is_open = gap > 0.0
        if is_open.any():
            gain = np.minimum(harm[left][:, is_open], gap[is_open]) @ (1.0 / (gap[is_open] + least))
        else:
            gain = harm[left].sum(axis=1)
        best = left[np.argsort(-gain / cost[left], kind="stable")[:step]]
        order.extend(best.tolist())
        gap -= harm[best].sum(axis=0)
        left = left[~np.isin(left, best)]
    return np.array(order, dtype=np.intp)


def _groups(missing: MissingValues, by: str) -> Indices:
    """Return for each missing value the number of what it is found with."""
    if by == "cell":
        return np.arange(len(missing))
    _, groups = np.unique(missing.rows if by == "row" else missing.columns, return_inverse=True)
    return groups.astype(np.intp)


def _costs(missing: MissingValues, groups: Indices, n_groups: int, cost: Any) -> Array:
    """Return what each group costs: 1, or the sum of the costs of its values by column."""
    if cost is None:
        return np.ones(n_groups)
    if not isinstance(cost, Mapping):
        raise IpubError(f"cost is {cost!r}: give a mapping {{column: cost of a value}}; other columns cost 1.")
    labels = missing.column_labels()
    known = missing.holes.learnt.columns.feature_names_in
    names = set(range(missing.holes.learnt.columns.n_features_in) if known is None else known)
    for column, value in cost.items():
        if column not in names:
            raise IpubError(f"cost names the column {column!r}, which the training table does not have.")
        if not (isinstance(value, Real) and 0.0 < float(value) < np.inf):
            raise IpubError(f"The cost of column {column!r} is {value!r}: give a positive number.")
    each = np.array([float(cost.get(label, 1.0)) for label in labels])
    return np.asarray(np.bincount(groups, each, minlength=n_groups), dtype=float)


def _curve(
    predictions: Predictions, lacks: Lacks, groups: Indices, order: Indices, ends: Indices, verbose: int
) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    """Count what is certain with the first of the groups known, at some points of the order.

    Also returned is which predictions are certain if all of them are known and as filled in.
    """
    m, n_now = len(predictions.certain), int(np.count_nonzero(predictions.certain))
    counts = CertainCounts.of(predictions)
    around = predictions.training.around is not None
    found: dict[str, list[int]] = {name: [] for name in CURVE}
    at_least, are_certain = 0, predictions.certain
    with progress("Certifying with values known", len(ends), bool(verbose)) as report:
        for end in ends:
            known = np.isin(groups, order[:end])
            left = lacks.gap - lacks.harm[:, known].sum(axis=1)
            # What is certain with fewer values known stays so. A value of a budget that turns out to be another one is
            # one of those that may differ, and nothing is gained.
            at_least = max(at_least, n_now if around else counts.at_least(known))
            if known.any():
                are_certain = are_certain | predictions.are_certain_if_as_filled(known)
            filled = max(at_least, int(np.count_nonzero(are_certain)))
            found["n_cells"].append(int(np.count_nonzero(known)))
            found["certain_at_least"].append(at_least)
            found["certain_if_as_filled"].append(filled)
            found["certain_estimate"].append(m - int(np.count_nonzero(left > 1e-9 * np.abs(lacks.gap))))
            report(len(found["n_cells"]))
    return found, are_certain
