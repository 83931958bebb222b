"""The lowest and the highest score found for each test row, over the completions that were tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.attained.inside import search_inside
from ipub.attained.labels import with_adversarial_labels
from ipub.attained.search import Best, Search
from ipub.engine.completions import Completion
from ipub.parallel import row_slices
from ipub.problem import Problem
from ipub.rounding import Array, overflow_means_unbounded
from ipub.solvers import Solution

AT_ENDS = 0.5
"""About which fraction of the time the search at the ends of intervals takes."""


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
    progress : callable, optional
        Called repeatedly with the fraction of the work that is done; the last call is with 1.
    """
    report = progress or (lambda _fraction: None)
    if problem.rows.uncertain_labels:
        return _with_labels(problem, solution, X, radius, keep_completions, report)
    search = Search(problem, solution)
    attained = Attained(np.empty((len(X), 2)), [], np.zeros((len(X), 2), dtype=bool))
    for rows in row_slices(len(X), 1, search.rows_at_once):
        best = Best(X[rows], np.zeros_like(X[rows]) if radius is None else radius[rows], search.layout.center)
        for fraction in search.steps(best):
            report((rows.start + AT_ENDS * fraction * len(best.X)) / len(X))
        attained.inside[rows] = search_inside(search, best)
        attained.bounds[rows] = best.scores
        if keep_completions:
            attained.completions.extend(
                (search.completion(low), search.completion(high)) for low, high in best.positions
            )
        report(rows.stop / len(X))
    return attained


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
