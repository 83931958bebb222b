"""Problems whose labels are uncertain, with all labels that are possible, or enough of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ipub.problem.objective import Problem
from ipub.rows import MemoryRows, Rows, with_intercept_column, with_label_uncertainty, with_wrong_labels
from ipub.tables.label_uncertainty import LabelUncertainty
from support.cases import Case


def doubtful(rng: np.random.Generator, case: Case) -> tuple[Problem, list[np.ndarray]]:
    """Make some labels uncertain; return the problem, and the labels that are possible, with ends and a middle."""
    n = len(case.y)
    weight = np.ones(n) if case.weight is None else case.weight
    uncertain = np.sort(rng.choice(n, size=int(rng.integers(1, min(n - 1, 2) + 1)), replace=False))
    if case.loss.task == "regression":
        radius = np.zeros(n)
        radius[uncertain] = rng.choice([0.125, 0.5, 2.0], size=len(uncertain))
        rows: Rows = MemoryRows(case.matrix, case.y, weight, label_uncertainty=LabelUncertainty(radius, np.zeros(n)))
        moves = itertools.product([-1.0, 0.5, 1.0], repeat=len(uncertain))
        # Exact for these radii and targets that are no longer than 53 bits.
        labels = [case.y + radius * _spread(uncertain, move, n) for move in moves]
    else:
        rows = of_either_class(case, uncertain)
        labels = []
        for chosen in itertools.product([-1.0, 1.0], repeat=len(uncertain)):
            here = case.y.copy()
            here[uncertain] = chosen
            labels.append(here)
    return problem_of(case, rows), labels


def of_either_class(case: Case, uncertain: np.ndarray) -> Rows:
    """Return the rows of a case, some of them of unknown class: entered twice, with half their weight."""
    n = len(case.y)
    weight = np.ones(n) if case.weight is None else case.weight
    twice = np.concatenate([np.arange(n), uncertain])
    weight_radius = np.zeros(len(twice))
    weight_radius[uncertain], weight_radius[n:] = 1.0, 1.0
    y = case.y[twice]
    y[uncertain], y[n:] = 1.0, -1.0
    entered = MemoryRows(case.matrix.take(twice), y, weight[twice] * np.where(weight_radius > 0.0, 0.5, 1.0))
    return with_label_uncertainty(entered, LabelUncertainty(np.zeros(len(twice)), weight_radius))


def with_flips(case: Case, count: int) -> Problem:
    """Return the problem of a case in which at most so many labels are wrong."""
    return problem_of(case, with_wrong_labels(MemoryRows(case.matrix, case.y, case.weight), count))


def flipped_labels(case: Case, count: int) -> Iterator[np.ndarray]:
    """Yield every choice of at most so many wrong labels; with an intercept, if both classes are left."""
    for size in range(min(count, len(case.y)) + 1):
        for wrong in itertools.combinations(range(len(case.y)), size):
            y = case.y.copy()
            y[list(wrong)] *= -1.0
            if not (case.penalty.n_free and abs(y.sum()) == len(y)):
                yield y


def problem_of(case: Case, rows: Rows) -> Problem:
    """Return the problem of a case on other rows."""
    return Problem(with_intercept_column(rows) if case.penalty.n_free else rows, case.loss, case.penalty)


def _spread(uncertain: np.ndarray, values: tuple[float, ...], n: int) -> np.ndarray:
    spread = np.zeros(n)
    spread[uncertain] = values
    return spread
