"""Missing categories: bounds hold for every level, proven against exact minimisers; planted errors are caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipub.answers.attained import attained_bounds
from ipub.certificates import certify_ball, certify_slopes, certify_sphere, certify_tight
from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.slopes import categories as categories_module
from ipub.certificates.slopes.categories import ChoiceTerms
from ipub.certificates.slopes.prove_moves import prove_move_set
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.missing_category import Levels, MissingCategories
from support.cases import MODELS, Case, draw_solution, train, vary_loss, with_intercept
from support.exact_proofs import prove
from support.planted import plant_function
from support.tiny_cases import tiny_choices
from support.winners import win_rate

LOSS_NAMES = tuple(LOSSES)
CERTIFIED = {
    "sphere": certify_sphere,
    "ball": certify_ball,
    "slope": certify_slopes,
    "tight": certify_tight,
    "fast": lambda problem, solution: certify_slopes(problem, solution).faster(),
    "grouped": lambda problem, solution: certify_slopes(problem, solution).without_training_rows(),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_hold_for_every_level_exactly(loss_name, penalty, intercept, report_proofs):
    rng = np.random.default_rng([31, LOSS_NAMES.index(loss_name), len(penalty), intercept])
    count = 0
    for k in range(5):
        case = vary_loss(rng, tiny_choices(rng, loss_name, penalty, gentle=k % 2 == 0))
        case = with_intercept(case) if intercept else case
        solutions = [train(case.problem), draw_solution(rng, case, str(rng.choice(MODELS)))]
        made, failures = prove(case, solutions, 0, CERTIFIED)
        assert failures == []
        count += made
    report_proofs(count)


def _scaled(**factors):
    """Return a plant: the terms of missing categories, some of them times a number."""

    def plant(monkeypatch):
        honest = categories_module.choice_terms

        def planted(*args):
            return tuple(
                replace(each, **{name: factor * getattr(each, name) for name, factor in factors.items()})
                for each in honest(*args)
            )

        plant_function(monkeypatch, categories_module, "choice_terms", planted)

    return plant


def _first_levels_only(monkeypatch):
    honest = ChoiceTerms.ends

    def planted(self, U, max_score_move):
        level, row = self.generator_level.copy(), self.generator_row.copy()
        level[:, -1], row[:, -1] = level[:, 0], row[:, 0]
        return honest(replace(self, generator_level=level, generator_row=row), U, max_score_move)

    monkeypatch.setattr(ChoiceTerms, "ends", planted)


PLANTS = {
    "a sign": _scaled(generator_row=-1.0),
    "half the change": _scaled(generator_level=0.5),
    "the middle forgotten": _scaled(middle=0.0),
    "a level forgotten": _first_levels_only,
    "no product with v": _scaled(weighted_slope=0.0, product_row=0.0, product_level=0.0),
    "no remainders": _scaled(error_level=0.0, crossing_level=0.0),
}


@pytest.mark.parametrize("name", PLANTS)
def test_planted_errors_are_caught(name, monkeypatch):
    PLANTS[name](monkeypatch)
    rng = np.random.default_rng(7)
    for loss_name in ("squared_error", "huber") * 100:
        case = tiny_choices(rng, loss_name, "l2", gentle=True)
        if prove(case, [train(case.problem)], 0, CERTIFIED)[1]:
            return
    pytest.fail("no bound is violated")


def larger(rng: np.random.Generator, loss_name: str, intercept: bool) -> Case:
    n, sizes = 60, (3, 4)
    table = np.concatenate([rng.random((n, 2)), *(np.eye(c)[rng.integers(0, c, size=n)] for c in sizes)], axis=1)
    w = rng.normal(size=table.shape[1])
    score = (table - table.mean(axis=0)) @ w + 0.3 * rng.normal(size=n)
    missing = rng.random((n, 2)) < 0.05
    missing[0, 0] = True
    missing_categories = MissingCategories.of(missing, [Levels(np.arange(2, 5)), Levels(np.arange(5, 9))])
    missing_categories.put(table)
    lower, upper = table.copy(), table.copy()
    cells = rng.random((n, 2)) < 0.02
    lower[:, :2][cells], upper[:, :2][cells] = 0.2, 0.8
    matrix = replace(IntervalMatrix.from_bounds(lower, upper), missing_categories=missing_categories)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    case = Case(matrix, y, None, LOSSES[loss_name], ElasticNet(0.3), rng.random((4, table.shape[1])))
    return with_intercept(case) if intercept else case


@pytest.mark.share(2)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_what_completions_attain_lies_inside(loss_name, intercept):
    rng = np.random.default_rng([3, LOSS_NAMES.index(loss_name), intercept])
    for _ in range(2):
        case = larger(rng, loss_name, intercept)
        solution = train(case.problem)
        attained = attained_bounds(case.problem, solution, case.X_test, keep_completions=True)
        for make in CERTIFIED.values():
            bounds = make(case.problem, solution).score_bounds(case.X_test)
            slack = 1e-7 * (1.0 + np.abs(bounds))
            assert (bounds[:, 0] <= attained.bounds[:, 0] + slack[:, 0]).all()
            assert (bounds[:, 1] >= attained.bounds[:, 1] - slack[:, 1]).all()
        table = attained.completions[0][1].table()
        for levels in case.matrix.missing_categories.levels:
            assert set(table[case.matrix.missing_categories.rows][:, levels.columns].ravel()) <= {
                0.0,
                1.0,
                levels.center_value,
            }


def test_a_smooth_problem_is_enclosed_and_row_sums_win_before_slopes():
    rng = np.random.default_rng(2)
    case = larger(rng, "log_loss", intercept=False)
    solution = train(case.problem)
    assert prove_move_set(case.problem, solution).found is not None
    certificate = certify_tight(case.problem, solution)
    assert win_rate(certificate, case.X_test)["row sums"] == 1.0
    others = tuple(part for part in certificate.parts if not isinstance(part, RowSumBounds))
    assert win_rate(replace(certificate, parts=others), case.X_test)["slope"] == 1.0
