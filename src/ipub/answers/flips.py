"""How many cells, or labels, would have to differ before a prediction changes sides: a bracket for each row."""

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
from ipub.training.deferred import done
from ipub.training.movable import movable_holes
from ipub.training.training import Certified

KINDS = ("holes", "wrong_cells", "labels")

MOST_CERTIFICATES = 40
"""Budgets that are certified, at most, for all rows together: what is not settled by then stays a bracket."""

FINE = 0.05
"""Numbers are settled to this share of themselves; those up to 20 exactly."""


class FlipDistance(NamedTuple):
    """For each row, how many cells or labels must differ from what they are before its score can change sides."""

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
    least: int
    """The smallest number that the search tries: 0 if missing values of a row may bring it to another side."""


def flip_distance(
    training: Training,
    rows: IntervalMatrix,
    of: str,
    verbose: int = 0,
    effort: float = EFFORT,
    threshold: float = 0.0,
) -> FlipDistance:
    """Bracket for each row the number of cells or labels that must differ before its score can cross a threshold.

    The training is of two classes, or a regression, with its training rows. They differ if missing values are not the
    filled-in ones, or observed cells or labels are wrong, as `of` says (`KINDS`). Missing values of the rows themselves
    may be anything in their intervals, whatever differs.
    """
    if of not in KINDS:
        raise IpubError(f"of is {of!r}: use {', '.join(map(repr, KINDS))}.")
    if training.classes is not None and len(training.classes) != 2:
        raise IpubError("flip_distance is for two classes, or for a regression: with more, look at the bounds.")
    if training.classes is None and of == "labels":
        raise IpubError("of='labels' is for classes: targets that may be off are y_lower and y_upper of fit.")
    if not np.isfinite(threshold):
        raise IpubError(f"threshold is {threshold!r}: give a finite number, in the units of the target.")
    training.check_certified()
    training.check_search()
    model = training.unchanged_models()[0]
    candidates = _labels(training, model, rows) if of == "labels" else _cells(training, model, rows, of, effort)
    with progress("Certifying budgets", MOST_CERTIFICATES, bool(verbose)) as report:
        certified = _certified(candidates, threshold, report)
    with progress("Searching for tables that flip", len(certified), bool(verbose)) as report:
        found = np.full(len(certified), np.inf)
        for row, score in enumerate(candidates.scores):
            if np.isfinite(certified[row]):
                least = max(candidates.least, int(certified[row]))
                found[row] = _smallest_flip(candidates, row, threshold, bool(score > threshold), least)
            report(row + 1)
    return FlipDistance(certified, found)


def _certified(candidates: Candidates, threshold: float, report: Callable[[float], None]) -> Array:
    """Return for each row one more than the greatest number for which its side of the threshold is proved."""
    m = len(candidates.scores)
    lowest, highest = np.full(m, -1), np.full(m, candidates.n_candidates + 1)
    evaluated = 0

    def try_number(k: int) -> None:
        certain = is_certain(candidates.bounds(k), threshold)
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


def _smallest_flip(candidates: Candidates, row: int, threshold: float, is_above: bool, least: int) -> float:
    """Return the smallest number for which the search found a table with a score on the other side.

    It is doubled until one is found; then the distance to one that failed is halved.
    """
    side = -1.0 if is_above else 1.0

    def flips(k: int) -> bool:
        return bool((candidates.attained(row, k, side) > threshold) != is_above)

    failed, k = least - 1, least
    while not flips(k):
        if k >= candidates.n_candidates:
            return np.inf
        failed, k = k, min(max(1, 2 * k), candidates.n_candidates)
    while k - failed > 1:
        middle = (k + failed) // 2
        failed, k = (failed, middle) if flips(middle) else (middle, k)
    return float(k)


# --- rows ------------------------------------------------------------------------------------------


class _Asked(NamedTuple):
    """The rows of a call, with their missing values."""

    training: Training
    rows: IntervalMatrix
    center: Array
    """With the column of the intercept."""
    sides: tuple[Array, Array]
    """The same with the levels of missing categories that give a model its lowest and its highest score."""
    radius: Array
    """Of the cells."""

    @classmethod
    def of(cls, training: Training, rows: IntervalMatrix, w: Array) -> _Asked:
        """Choose levels by the weights of a model."""
        center, cells, missing = training.extended(rows)
        sides = center.copy(), center.copy()
        for filled, side in zip(sides, (-1.0, 1.0), strict=True):
            chosen = np.zeros(len(missing), dtype=np.intp)
            for which, levels in missing.by_category():
                chosen[which] = np.argmax(side * w[levels.columns])
            missing.put(filled, chosen)
        radius = np.zeros_like(center)
        radius[cells[0], cells[1]] = cells[2]
        return cls(training, rows, center, sides, radius)

    @property
    def is_uncertain(self) -> bool:
        """Whether a row has a missing value."""
        return bool(self.rows.n_uncertain or len(self.rows.missing_categories))

    def bounds(self, certificate: Certificate) -> Array:
        """Bound the scores under a certificate, whatever the missing values are (Lemma 10)."""
        if not self.is_uncertain:
            return certificate.score_bounds(self.center)
        certified = Certified.of((certificate,), self.center.shape[1], self.training.fit_intercept)
        return replace(self.training, certified=done(certified)).score_bounds(self.rows, retrains=False)

    def row(self, number: int, side: float) -> tuple[Array, Array]:
        """Return a row as it suits a side, and the radius of its cells."""
        return self.sides[int(side > 0.0)][number], self.radius[number]


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
    search = BudgetSearch(*filled.model, filled.movable)
    asked = _Asked.of(training, rows, search.w)
    # What holds for any filling, if that was certified, holds for every number of holes.
    any_filling = np.tile([-np.inf, np.inf], (len(asked.center), 1))
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
        low, high = asked.bounds(Certificate("filling", (found,), 0.0)).T
        return np.column_stack([np.maximum(low, any_filling[:, 0]), np.minimum(high, any_filling[:, 1])])

    def attained(row: int, k: int, side: float) -> float:
        return search.best(*asked.row(row, side), side, filled.moves(k)).score

    return Candidates(count, bounds, attained, asked.center @ search.w, 0 if asked.is_uncertain else 1)


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
    problem, solution = _filled(training, model, HOLES).model
    asked = _Asked.of(training, rows, solution.w)

    def with_errors(k: int) -> TrainedModel:
        return TrainedModel(replace(problem, rows=with_wrong_labels(problem.rows, k)) if k else problem, solution)

    def bounds(k: int) -> Array:
        return asked.bounds(certify_tight(*with_errors(k)))

    def attained(row: int, k: int, side: float) -> float:
        center, radius = asked.row(row, side)
        low, high = attained_bounds(*with_errors(k), center[None], radius[None]).bounds[0]
        return float(high if side > 0.0 else low)

    scores = asked.center @ solution.w
    return Candidates(problem.rows.n_rows, bounds, attained, scores, 0 if asked.is_uncertain else 1)
