"""The lowest and the highest score found for each test row, over the completions that were tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.attained.inside import search_inside
from ipub.answers.attained.labels import with_adversarial_labels
from ipub.answers.attained.search import Best, Search
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows.completions import Completion, Positions

AT_ENDS = 0.5
"""About which fraction of the time the search at the ends of intervals takes."""

RETRAINING_ERROR = 1e-7
"""Relative error of the score of a retrained model that is taken for rounding."""

MOST_KEPT = 256
"""Completions found for earlier rows that are tried first for later ones, at most."""


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
    *,
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

    Parameters
    ----------
    problem : Problem
    solution : Solution
        The model trained at the center.
    X : array of shape (m, n_features)
    radius : array of shape (m, n_features), optional
        By how much each cell of X may move; each model takes the row inside that gives its lowest or highest score.
    keep_completions : bool
        Whether to return the completions too; they take eight bytes for each row and uncertain cell.
    until_two_sides : bool
        Whether the search for a row ends once it has scores on both sides of 0 (`has_two_sides`). The completions that
        were found for earlier rows are then tried first.
    progress : callable, optional
        Called repeatedly with the fraction of the work that is done; the last call is with 1.
    """
    report = progress or (lambda _fraction: None)
    if problem.rows.uncertain_labels:
        return _with_labels(problem, solution, X, radius, keep_completions, report)
    search = Search(problem, solution)
    attained = Attained(np.empty((len(X), 2)), [], np.zeros((len(X), 2), dtype=bool))
    kept = search.layout.center[None], search.w[None]
    for rows in row_slices(len(X), 1, search.rows_at_once):
        best = Best(X[rows], np.zeros_like(X[rows]) if radius is None else radius[rows], search.layout.center)
        if until_two_sides:
            best.record(*kept)
        if not (until_two_sides and has_two_sides(best.scores).all()):
            for fraction in search.steps(best):
                report((rows.start + AT_ENDS * fraction * len(best.X)) / len(X))
                if until_two_sides and has_two_sides(best.scores).all():
                    break
            else:
                attained.inside[rows] = search_inside(search, best)
            if until_two_sides:
                kept = _with_found(best, *kept)
        attained.bounds[rows] = best.scores
        if keep_completions:
            attained.completions.extend(
                (search.completion(low), search.completion(high)) for low, high in best.positions
            )
        report(rows.stop / len(X))
    return attained


def has_two_sides(bounds: Array) -> NDArray[np.bool_]:
    """Return which rows have attained scores on both sides of 0, clearly: by more than rounding may do."""
    least = RETRAINING_ERROR * (1.0 + np.abs(bounds).max(axis=1))
    return np.asarray((bounds[:, 0] < -least) & (bounds[:, 1] > least))


def _with_found(best: Best, positions: Positions, models: Array) -> tuple[Positions, Array]:
    """Return completions and their models, those that were found last first."""
    found, own = best.positions.reshape(-1, positions.shape[1]), best.models.reshape(-1, models.shape[1])
    is_known = np.isfinite(own).all(axis=1)
    return (
        np.concatenate([found[is_known], positions])[:MOST_KEPT],
        np.concatenate([own[is_known], models])[:MOST_KEPT],
    )


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
