"""Wrong labels: bounds hold for every set of at most k flipped ones, proven against exact minimisers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ipub.certificates import ball, origin, sphere, tight
from ipub.certificates.slope import slope
from ipub.data.blocks import InterceptRows, MemoryRows
from ipub.data.labels import LabelDoubt
from ipub.losses import LOSSES
from ipub.problem import Problem
from oracles.exact import exact_model
from oracles.intercept import exact_intercept_model
from oracles.rationals import holds
from soundness.cases import MODELS, Case, draw_solution, train, vary_loss, with_intercept
from soundness.test_exact import exact_completions, tiny_case

LOSS_NAMES = tuple(name for name, loss in LOSSES.items() if loss.task == "classification")
CERTIFIED: dict[str, Callable] = {
    "origin": origin,
    "sphere": sphere,
    "ball": ball,
    "slope": slope,
    "tight": tight,
    "grouped": lambda problem, solution: slope(problem, solution).grouped(),
}
TABLES = ("integers", "normal", "weights", "mixed scales")


def with_flips(case: Case, count: int) -> Problem:
    rows = MemoryRows(case.matrix, case.y, case.weight).with_doubt(LabelDoubt.of_flips(len(case.y), count))
    return Problem(InterceptRows(rows) if case.penalty.n_free else rows, case.loss, case.penalty)


def labels(case: Case, count: int) -> Iterator[np.ndarray]:
    """Yield every choice of at most so many wrong labels; with an intercept, if both classes are left."""
    for size in range(min(count, len(case.y)) + 1):
        for some in itertools.combinations(range(len(case.y)), size):
            y = case.y.copy()
            y[list(some)] *= -1.0
            if not (case.penalty.n_free and abs(y.sum()) == len(y)):
                yield y


def prove(case: Case, count: int, certified: dict[str, Callable] = CERTIFIED, model=None) -> tuple[int, list[str]]:
    problem = with_flips(case, count)
    solution = model or train(problem)
    bounds = {name: make(problem, solution).score_bounds(case.X_test) for name, make in certified.items()}
    minimise = exact_intercept_model if case.penalty.n_free else exact_model
    made, failures = 0, []
    for y in labels(case, count):
        for table in exact_completions(case.matrix, inner=0):
            exact = minimise(table, y, case.weight, case.loss, case.penalty.lam, case.penalty.kappa)
            for row, x in enumerate(case.X_test):
                score = exact.score(x)
                for name, ends in bounds.items():
                    made += 1
                    if not holds(ends[row], score):
                        failures.append(f"{name}, row {row}: {ends[row]} but exactly {score}; {y}, {case!r}")
    return made, failures


def draw(rng: np.random.Generator, loss_name: str, penalty: str, intercept: bool, k: int) -> Case:
    case = vary_loss(rng, tiny_case(rng, TABLES[k % len(TABLES)], loss_name, penalty, cells=k % 3))
    return with_intercept(case) if intercept else case


@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_hold_whichever_labels_are_wrong(loss_name, penalty, intercept, report_proofs):
    rng = np.random.default_rng([23, LOSS_NAMES.index(loss_name), len(penalty), intercept])
    total = 0
    for k in range(12):
        case = draw(rng, loss_name, penalty, intercept, k)
        model = None if k % 2 else draw_solution(rng, case, str(rng.choice(MODELS)))
        made, failures = prove(case, 1 + k // 3 % 2, model=model)
        assert failures == []
        total += made
    report_proofs(total)
