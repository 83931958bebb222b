"""How many cells, or labels, would have to differ before a prediction changes its class: a bracket for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.attained import BudgetSearch, attained_bounds
from ipub.answers.certainty import is_certain
from ipub.certificates import EFFORT, Certificate, DrawBounds, TrainedModel, certify_tight
from ipub.certificates.row_sums.bounds import bounds_around_filling
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.problem.solvers import solve
from ipub.progress_bars import progress
from ipub.rows import MemoryRows, engine_of, on_engine, with_wrong_labels
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows
from ipub.training import Training
from ipub.training.movable import movable_holes

KINDS = ("holes", "wrong_cells", "labels")

MOST_CERTIFICATES = 40
"""Budgets that are certified, at most, for all rows together: what is not settled by then stays a bracket."""

FINE = 0.05
"""Numbers are settled to this share of themselves; those up to 20 exactly."""


class FlipDistance(NamedTuple):
    """For each row, how many cells or labels must differ from what they are before the class can change."""

    certified: Array
    """No fewer can change it: proved. Infinite if all of them together cannot."""
    found: Array
    """So many do: a table was found and retrained. Infinite if none was found."""


class Candidates(NamedTuple):
    """What may differ, and how to bound and to search."""

    n_candidates: int
    """How many there are."""
    bounds: Callable[[int], Array]
    """Returns (m, 2): bounds of the scores if so many differ."""
    attained: Callable[[int, int, float], float]
    """Returns the score of a row, by number, on a side, that some table attains if so many differ."""
    scores: Array
    """Of the rows if nothing differs."""


def flip_distance(
    training: Training, rows: IntervalMatrix, of: str, verbose: int = 0, effort: float = EFFORT
) -> FlipDistance:
    """Bracket for each row the number of cells or labels that would have to differ to change its class.

    The training is of two classes, with its training rows. They differ if missing values are not the filled-in ones, or
    observed cells or labels are wrong, as `of` says (`KINDS`). The rows have no holes of their own.
    """
    if of not in KINDS:
        raise IpubError(f"of is {of!r}: use {', '.join(map(repr, KINDS))}.")
    if training.classes is None or len(training.classes) != 2:
        raise IpubError("flip_distance is for two classes: with more, or in a regression, look at the bounds.")
    training.check_certified()
    training.check_search()
    model = training.unchanged_models()[0]
    if rows.n_uncertain or len(rows.missing_categories):
        raise IpubError("flip_distance is for rows without missing values: fill them in, or leave these rows out.")
    candidates = _labels(training, model, rows) if of == "labels" else _cells(training, model, rows, of, effort)
    with progress("Certifying budgets", MOST_CERTIFICATES, bool(verbose)) as report:
        certified = _certified(candidates, report)
    with progress("Searching for tables that flip", len(certified), bool(verbose)) as report:
        found = np.full(len(certified), np.inf)
        for row, score in enumerate(candidates.scores):
            if np.isfinite(certified[row]):
                found[row] = _smallest_flip(candidates, row, float(score), max(1, int(certified[row])))
            report(row + 1)
    return FlipDistance(certified, found)


def _certified(candidates: Candidates, report: Callable[[float], None]) -> Array:
    """Return for each row one more than the greatest number for which its class is proved."""
    m = len(candidates.scores)
    lowest, highest = np.full(m, -1), np.full(m, candidates.n_candidates + 1)
    evaluated = 0

    def try_number(k: int) -> None:
        certain = is_certain(candidates.bounds(k))
        lowest[certain] = np.maximum(lowest[certain], k)
        highest[~certain] = np.minimum(highest[~certain], k)

    for k in dict.fromkeys((0, candidates.n_candidates)):
        try_number(k)
    while evaluated < MOST_CERTIFICATES:
        is_open = highest - lowest > np.maximum(1.0, FINE * lowest)
        if not is_open.any():
            break
        # The geometric middle of the row that is least settled: small numbers matter most.
        ratio = np.where(is_open, (highest + 1.0) / (lowest + 1.0 + (lowest < 0)), 0.0)
        row = int(np.argmax(ratio))
        middle = int(np.sqrt((lowest[row] + 1.0) * max(highest[row], 1)))
        try_number(int(np.clip(middle, lowest[row] + 1, highest[row] - 1)))
        evaluated += 1
        report(evaluated)
    report(MOST_CERTIFICATES)
    return np.where(lowest >= candidates.n_candidates, np.inf, lowest + 1.0)


def _smallest_flip(candidates: Candidates, row: int, score: float, least: int) -> float:
    """Return the smallest number for which the search found a table with the other class.

    It is doubled until one is found; then the distance to one that failed is halved.
    """
    side = -1.0 if score > 0.0 else 1.0

    def flips(k: int) -> bool:
        return bool((candidates.attained(row, k, side) > 0.0) != (score > 0.0))

    failed, k = least - 1, least
    while not flips(k):
        if k >= candidates.n_candidates:
            return np.inf
        failed, k = k, min(2 * k, candidates.n_candidates)
    while k - failed > 1:
        middle = (k + failed) // 2
        failed, k = (failed, middle) if flips(middle) else (middle, k)
    return float(k)


# --- cells -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Filled:
    """A model of a filled-in table, and the units that may differ from it."""

    model: TrainedModel
    movable: MovableRows
    group: int

    def moves(self, k: int) -> BudgetMoves:
        """Return the budget of k units of the group, and none of the others."""
        return BudgetMoves((k, 0) if self.group == HOLES else (0, k))


def _cells(training: Training, model: TrainedModel, rows: IntervalMatrix, of: str, effort: float) -> Candidates:
    group = HOLES if of == "holes" else WRONG_CELLS
    filled = _filled(training, model, group)
    count = int(np.count_nonzero(filled.movable.unit_group == group))
    X = training.extended(rows).center
    search = BudgetSearch(*filled.model, filled.movable)
    # What holds for any filling, if that was certified, holds for every number of holes.
    any_filling = np.tile([-np.inf, np.inf], (len(X), 1))
    if group == HOLES and training.around is None:
        any_filling = training.score_bounds(rows, effort=effort)

    proved: dict[int, Array | None] = {}
    """Of each budget that was tried, how wide its ranges were; None if they did not close."""

    def bounds(k: int) -> Array:
        if any(widths is None and other < k for other, widths in proved.items()):
            return any_filling  # nor does a larger budget
        known = [other for other, widths in proved.items() if widths is not None]
        near = proved[min(known, key=lambda other: abs(other - k))] if known else None
        found = bounds_around_filling(*filled.model, filled.movable, filled.moves(k), near).found
        if found is None and known:
            found = bounds_around_filling(*filled.model, filled.movable, filled.moves(k)).found
        proved[k] = None if found is None else found.widths
        if found is None:
            return any_filling
        low, high = Certificate("filling", (found,), 0.0).score_bounds(X).T
        return np.column_stack([np.maximum(low, any_filling[:, 0]), np.minimum(high, any_filling[:, 1])])

    def attained(row: int, k: int, side: float) -> float:
        return search.best(X[row], np.zeros(X.shape[1]), side, filled.moves(k)).score

    return Candidates(count, bounds, attained, X @ search.w)


def _filled(training: Training, model: TrainedModel, group: int) -> _Filled:
    """Return the filled-in table of a training; if it has none, the middle of every interval."""
    movable = None if training.around is None else training.around.movable
    if group == WRONG_CELLS and (movable is None or not (movable.unit_group == WRONG_CELLS).any()):
        raise IpubError(
            "How wrong an observed cell may be is not known: fit with uncertainty=Budget(wrong_cells=1, precision=...)."
        )
    if movable is not None:
        return _Filled(model, movable, group)
    problem, solution = model
    engine = engine_of(problem.rows)
    if not isinstance(engine, MemoryRows):
        raise IpubError("flip_distance needs the training table in memory: fit numpy.array(X).")
    if problem.rows.uncertain_labels or training.certificates[0].part(DrawBounds) is not None:
        raise IpubError(
            "flip_distance starts from labels that are certain, and from a filled-in table: fit without unknown_labels "
            "and max_label_errors, with uncertainty='worst' or a Budget."
        )
    table = _middle(engine.matrix)
    rows = on_engine(problem.rows, MemoryRows(IntervalMatrix.from_bounds(table, table), engine.y, engine.weight))
    filled = replace(problem, rows=rows)
    return _Filled(TrainedModel(filled, solve(filled, start=solution.w)), movable_holes(engine.matrix, table), group)


def _middle(matrix: IntervalMatrix) -> Array:
    """Return the table with every hole at the middle of its interval, and missing categories at the commonest level."""
    table = np.array(matrix.center_rows(slice(0, matrix.shape[0])), dtype=float)
    missing = matrix.missing_categories
    chosen: NDArray[np.intp] = np.zeros(len(missing), dtype=np.intp)
    for which, levels in missing.by_category():
        chosen[which] = int(np.argmax(table[:, levels.columns].sum(axis=0)))
    missing.put(table, chosen)
    return table


# --- labels ----------------------------------------------------------------------------------------


def _labels(training: Training, model: TrainedModel, rows: IntervalMatrix) -> Candidates:
    (problem, solution), X = _filled(training, model, HOLES).model, training.extended(rows).center

    def with_errors(k: int) -> TrainedModel:
        return TrainedModel(replace(problem, rows=with_wrong_labels(problem.rows, k)) if k else problem, solution)

    def bounds(k: int) -> Array:
        return certify_tight(*with_errors(k)).score_bounds(X)

    def attained(row: int, k: int, side: float) -> float:
        low, high = attained_bounds(*with_errors(k), X[row : row + 1]).bounds[0]
        return float(high if side > 0.0 else low)

    return Candidates(problem.rows.n_rows, bounds, attained, X @ solution.w)
