"""The lowest and the highest score found for each row, over the completions of a training table that were tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.attained.inside import search_inside
from ipub.answers.attained.labels import with_adversarial_labels
from ipub.answers.attained.search import Best, Search
from ipub.answers.attained.within_budget import BudgetSearch
from ipub.certificates import bounds_of_uncertain_rows
from ipub.errors import IpubError
from ipub.model_sets.draws import DrawBounds
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.progress_bars import progress
from ipub.rows.completions import Completion
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.missing_category import NOTHING_MISSING
from ipub.training.training import ExtendedRows, Training, by_model

AT_ENDS = 0.5
"""About which fraction of the time the search at the ends of intervals takes."""

RETRAINING_ERROR = 1e-7
"""Relative error of the score of a retrained model that is taken for rounding."""


class Attained(NamedTuple):
    """Scores that completions attain, and these completions."""

    bounds: Array
    """The lowest and the highest score of each test row, shape (m, 2)."""
    completions: list[tuple[Completion, Completion]]
    """For each test row the completions whose models give them; empty unless `keep_completions`."""
    inside: NDArray[np.bool_]
    """Which of the bounds the search inside intervals moved by 0.1 % of the width or more, shape (m, 2)."""


@overflow_means_unbounded()
def attained_bounds(
    problem: Problem,
    solution: Solution,
    X: Array,
    radius: Array | None = None,
    keep_completions: bool = False,
    until_two_sides: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Attained:
    """Search for each row a lowest and a highest score that the model of some completion really gives.

    First with every cell at an end of its interval (up to `search.MOST_ROUNDS` retrainings for each row and end, and in
    small tables the vertices or changes of single cells that approximate models recommend), then inside the intervals
    (up to `inside.MOST_STEPS` retrainings from the best ends, and in tables that are not large as many from each of two
    more starts).

    Each cell of X may move by its `radius`: each model takes the row inside that gives its lowest or highest score.
    Completions, if they are kept, take eight bytes for each row and uncertain cell. With `until_two_sides` the search
    for a row ends once it has scores on both sides of 0, and rows are searched one by one, so that what is found for
    one does not depend on the others. `progress` is called repeatedly with the fraction of the work that is done, at
    last with 1.
    """
    report = progress or (lambda _fraction: None)
    if problem.rows.uncertain_labels:
        return _with_labels(problem, solution, X, radius, keep_completions, report)
    search = Search(problem, solution)
    attained = Attained(np.empty((len(X), 2)), [], np.zeros((len(X), 2), dtype=bool))
    for rows in row_slices(len(X), 1, 1 if until_two_sides else search.rows_at_once):
        best = Best(X[rows], np.zeros_like(X[rows]) if radius is None else radius[rows], search.layout.center)
        if until_two_sides:
            best.record(search.layout.center[None], search.w[None])
        if not (until_two_sides and has_two_sides(best.scores).all()):
            for fraction in search.steps(best):
                report((rows.start + AT_ENDS * fraction * len(best.X)) / len(X))
                if until_two_sides and has_two_sides(best.scores).all():
                    break
            else:
                attained.inside[rows] = search_inside(search, best)
        attained.bounds[rows] = best.scores
        if keep_completions:
            attained.completions.extend(
                (search.retraining.completion(low), search.retraining.completion(high)) for low, high in best.positions
            )
        report(rows.stop / len(X))
    return attained


def has_two_sides(bounds: Array) -> NDArray[np.bool_]:
    """Return which rows have attained scores on both sides of 0, clearly: by more than rounding may do."""
    least = RETRAINING_ERROR * (1.0 + np.abs(bounds).max(axis=1))
    return np.asarray((bounds[:, 0] < -least) & (bounds[:, 1] > least))


def _with_labels(
    problem: Problem,
    solution: Solution,
    X: Array,
    radius: Array | None,
    keep_completions: bool,
    report: Callable[[float], None],
) -> Attained:
    """Choose labels for each row and side; then search for completions of the cells with these labels."""
    attained = Attained(np.empty((len(X), 2)), [], np.zeros((len(X), 2), dtype=bool))
    for k, x in enumerate(X):
        pair: list[Completion] = []
        for end, side in ((0, -1.0), (1, 1.0)):
            certain, model = with_adversarial_labels(problem, solution, x, side)
            own_radius = None if radius is None else radius[k : k + 1]
            found = attained_bounds(certain, model, x[None], radius=own_radius, keep_completions=keep_completions)
            attained.bounds[k, end], attained.inside[k, end] = found.bounds[0, end], found.inside[0, end]
            pair.extend(found.completions[0][end : end + 1] if keep_completions else [])
        if keep_completions:
            attained.completions.append((pair[0], pair[1]))
        report((k + 1) / len(X))
    return attained


def search_fillings(
    training: Training,
    rows: IntervalMatrix,
    *,
    keep_completions: bool = False,
    until_two_sides: bool = False,
    verbose: int = 0,
) -> Attained:
    """Search for completions of the training table and of the rows that give low and high scores.

    With `until_two_sides` no longer than until a row has scores on both sides of 0, for any filling. With more than one
    model the bounds have shape (m, K, 2), as has `inside`, and the completions are lists of K pairs.
    """
    training.check_certified()
    training.check_search()
    wanted = _Wanted(keep_completions, until_two_sides, verbose)
    extended = training.extended(rows)
    parts = [_attained(training, k, extended, wanted) for k in range(len(training.certificates))]
    training.release_caches()
    pairs: list[Any] = [part.completions for part in parts]
    if len(parts) > 1 and keep_completions:
        pairs = [[list(each) for each in zip(*pairs, strict=True)]]
    return Attained(by_model([part.bounds for part in parts]), pairs[0], by_model([part.inside for part in parts]))


class _Wanted(NamedTuple):
    """What is asked of a search, as in `search_fillings`."""

    keep_completions: bool
    until_two_sides: bool
    verbose: int


def _attained(training: Training, k: int, rows: ExtendedRows, wanted: _Wanted) -> Attained:
    """Search for what completions attain under model k.

    Missing categories of the rows take the levels to which the trained model gives the lowest, or highest, weight.
    """
    solution = training.unchanged_models()[k].solution
    center, cells, missing_categories = rows
    if len(missing_categories):
        found = []
        for side in (-1.0, 1.0):
            chosen = np.zeros(len(missing_categories), dtype=np.intp)
            for which, levels in missing_categories.by_category():
                chosen[which] = np.argmax(side * solution.w[levels.columns])
            filled = center.copy()
            missing_categories.put(filled, chosen)
            found.append(_attained(training, k, ExtendedRows(filled, cells, NOTHING_MISSING), wanted))
        lowest, highest = found
        pairs = zip(lowest.completions, highest.completions, strict=True)
        return lowest._replace(
            bounds=np.column_stack([lowest.bounds[:, 0], highest.bounds[:, 1]]),
            completions=[(low[0], high[1]) for low, high in pairs],
            inside=np.column_stack([lowest.inside[:, 0], highest.inside[:, 1]]),
        )
    radius = np.zeros_like(center)
    radius[cells[0], cells[1]] = cells[2]
    attained = _search(training, k, center, radius, wanted)
    # The exact score of each completion is inside the certified bounds; retraining is exact up to rounding only.
    certified = bounds_of_uncertain_rows(training.certificates[k].score_bounds, center, cells, training.coef_bounds[k])
    inside = np.clip(attained.bounds, certified[:, :1], certified[:, 1:])
    is_rounding = np.abs(attained.bounds - inside) <= RETRAINING_ERROR * (1.0 + np.abs(inside))
    return attained._replace(bounds=np.where(is_rounding, inside, attained.bounds))


def _search(training: Training, k: int, center: Array, radius: Array, wanted: _Wanted) -> Attained:
    """Search for the ends of rows among what model k may be trained on."""
    keep, until_two_sides, verbose = wanted
    model, draws = training.models[k], training.certificates[k].part(DrawBounds)
    with progress("Retraining on fillings", 1.0, bool(verbose)) as report:
        if training.around is None and draws is None:
            return attained_bounds(*model, center, radius, keep, until_two_sides, report)
        if keep:
            raise IpubError("Fillings are returned for uncertainty='worst' alone: leave out return_completions.")
        if draws is not None:
            return Attained(draws.plain(center, radius), [], np.zeros((len(center), 2), dtype=bool))
        assert training.around is not None
        movable, moves, _ = training.around
        search = BudgetSearch(*model, movable)
        bounds = np.empty((len(center), 2))
        for row, (x, r) in enumerate(zip(center, radius, strict=True)):
            bounds[row] = [search.best(x, r, side, moves).score for side in (-1.0, 1.0)]
            report((row + 1) / len(center))
    return Attained(bounds, [], np.zeros((len(center), 2), dtype=bool))
