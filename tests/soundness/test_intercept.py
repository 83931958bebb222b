"""The intercept: proofs and planted errors for what it adds to the certificates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ipub.certificates import ball as ball_module
from ipub.certificates import certify_ball, certify_origin, certify_sphere, certify_tight, intercept
from ipub.certificates import origin as origin_module
from ipub.certificates import sphere as sphere_module
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import down, up
from ipub.problem.objective import Problem
from ipub.rows import MemoryRows, with_intercept_column
from support.attacks import ATTACKED, Tally, attack
from support.cases import Case, draw_case, draw_solution, intervals, train, with_intercept
from support.exact_proofs import exact_completions
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import holds
from support.planted import assert_caught
from support.tiny_cases import tiny_case

LOSS_NAMES = ("squared_error", "hinge", "log_loss")


def violations(certificate, cases: list[Case], solutions: list) -> list[str]:
    """Attack one certificate, the intercept and every weight alone included."""
    tally = Tally()
    for seed, (case, solution) in enumerate(zip(cases, solutions, strict=True)):
        aimed = replace(case, X_test=np.vstack([case.X_test, np.eye(len(solution.w))]))
        attack(np.random.default_rng(seed), aimed, solution, tally, rounds=1, certificates={"attacked": certificate})
        if tally.violations:
            break
    return tally.violations


def tilted_solution(case: Case, shift: float):
    """Return a model that is optimal in all but its intercept, which is off by `shift`."""
    solution = train(case.problem)
    b = solution.w[-1] + shift
    table = case.matrix.completion(np.zeros(case.matrix.n_uncertain))
    plain = replace(case, y=case.y - b, penalty=replace(case.penalty, n_free=0))
    w = train(plain.problem_on(intervals(table, np.full_like(table, np.nan)))).w
    return replace(solution, w=np.append(w, b))


def tilted_case() -> Case:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(6, 2)) + 1.0
    radius = np.full_like(table, np.nan)
    radius[0, 0] = 0.1
    y = rng.normal(size=6)
    return with_intercept(
        Case(intervals(table, radius), y, None, LOSSES["squared_error"], ElasticNet(1.0), rng.normal(size=(3, 2)))
    )


@pytest.mark.parametrize(("module", "certificate"), [(sphere_module, certify_sphere), (ball_module, certify_ball)])
def test_leaving_out_the_price_of_an_unbalanced_dual_point_is_caught(monkeypatch, module, certificate):
    case = tilted_case()
    solutions = [tilted_solution(case, shift) for shift in (2.0, -0.5)]
    assert_caught(
        lambda: violations(certificate, [case] * 2, solutions),
        lambda: monkeypatch.setattr(module, "distance_from", lambda *args: 0.0),
    )


def unreached(seeds: range) -> list[str]:
    """Compare the reach of the trained intercept with the exact intercepts of all corners."""
    wrong = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        case = with_intercept(tiny_case(rng, "normal", LOSS_NAMES[seed % 3], "l2", cells=2))
        case = replace(case, penalty=ElasticNet(1e6, n_free=1))
        solution = draw_solution(rng, case, "garbage")
        far = intercept.distance_from(solution, intercept.bracket_of(certify_tight(case.problem, solution)))
        for table in exact_completions(case.matrix, 0):
            model = exact_intercept_model(table, case.y, case.weight, case.loss, 1e6, 0.0)
            b = solution.w[-1]
            if not holds((float(down(b - far)), float(up(b + far))), model.score(np.eye(len(solution.w))[-1])):
                wrong.append(f"seed {seed}: {b} ± {far}")
    return wrong


def test_half_the_reach_of_the_intercept_is_caught(monkeypatch):
    honest = intercept.distance_from
    assert_caught(
        lambda: unreached(range(12)),
        lambda: monkeypatch.setattr(intercept, "distance_from", lambda *args: 0.5 * honest(*args)),
    )


@pytest.mark.share(2)
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("certificate", [certify_sphere, certify_ball, certify_origin, certify_tight])
def test_scores_of_the_wrong_side_in_the_bracket_are_caught(monkeypatch, certificate, side):
    honest = intercept._score_ends
    cases = [with_intercept(draw_case(np.random.default_rng(k), "wide", LOSS_NAMES[k], "l2")) for k in range(3)]
    solutions = [train(case.problem) for case in cases]
    assert_caught(
        lambda: violations(certificate, cases, solutions),
        lambda: monkeypatch.setattr(intercept, "_score_ends", lambda *args: (honest(*args)[side],) * 2),
    )


def test_a_bracket_without_the_cells_of_the_rows_is_caught(monkeypatch):
    # All scores are zero but for the one cell: without it the intercept would be the mean, whatever the weight is.
    radius = np.full((4, 1), np.nan)
    radius[3] = 2.0
    parts = (np.array([1.0, 2.0, -1.0, 3.0]), None, LOSSES["squared_error"], ElasticNet(0.1), np.ones((1, 1)))
    case = with_intercept(Case(intervals(np.zeros((4, 1)), radius), *parts))
    honest = intercept._score_ends
    assert_caught(
        lambda: violations(certify_origin, [case], [train(case.problem)]),
        lambda: monkeypatch.setattr(
            intercept,
            "_score_ends",
            lambda block, *args: honest(replace(block, cell_radii=0.0 * block.cell_radii), *args),
        ),
    )


@pytest.mark.parametrize("loss_name", ["hinge", "log_loss"])
def test_with_one_class_nothing_is_claimed(loss_name):
    table, radius = np.ones((3, 1)), np.full((3, 1), np.nan)
    problem = Problem(
        with_intercept_column(MemoryRows(intervals(table, radius), np.ones(3))),
        LOSSES[loss_name],
        ElasticNet(1.0, n_free=1),
    )
    solution = train(problem, max_iter=3)
    for make in ATTACKED.values():
        bounds = make(problem, solution).score_bounds(np.array([[1.0, 1.0], [0.0, 1.0]]))
        assert (bounds[:, 1] == np.inf).all()
        assert not np.isnan(bounds).any()


@pytest.mark.parametrize("certificate", ["sphere", "ball", "origin", "tight"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_every_best_intercept_is_inside_where_there_are_several(loss_name, certificate):
    # Two rows of each class on one point: the hinge is flat between -1 and 1 once w is forced to zero.
    table, y = np.zeros((4, 1)), np.array([1.0, 1.0, -1.0, -1.0])
    problem = Problem(
        with_intercept_column(MemoryRows(intervals(table, np.full((4, 1), np.nan)), y)),
        LOSSES[loss_name],
        ElasticNet(1.0, n_free=1),
    )
    low, high = ATTACKED[certificate](problem, train(problem)).score_bounds(np.array([[0.0, 1.0]]))[0]
    best = 1.0 if loss_name == "hinge" else 0.0
    assert low <= -best
    assert best <= high
    assert certificate == "origin" or high - low <= 2.0 * best + 0.05


@pytest.mark.parametrize("trained", [1e-17, -1e-17])
def test_a_trial_that_is_off_by_less_than_a_rounding_is_on_neither_side(trained):
    """The slopes of two rows cancel at 0 exactly: beside it, only their own rounding says that nothing is known."""
    table = np.zeros((2, 1))
    matrix, y = intervals(table, table + np.nan), np.array([1.0, -1.0])
    case = with_intercept(Case(matrix, y, None, LOSSES["log_loss"], ElasticNet(1.0), table))
    solution = replace(train(case.problem), w=np.array([0.0, trained]))
    region = origin_module.around_zero(case.problem, solution)
    lower, upper = intercept.narrow_bracket(case.problem, solution, [region], intercept.EVERYTHING)
    assert lower <= 0.0 <= upper


def test_the_rounding_of_slopes_that_lose_small_terms_is_counted():
    """Between two large slopes that nearly cancel, each of many small ones is lost, and all of them decide the sign."""
    small, shift = 1e-17, 3e-15
    y = np.array([-1.0, *np.full(2000, -small), 1.0 + shift])
    table = np.zeros((len(y), 1))
    case = Case(intervals(table, table + np.nan), y, None, LOSSES["squared_error"], ElasticNet(1.0), table[:1])
    case = with_intercept(case)
    solution = replace(train(case.problem), w=np.zeros(2))
    region = origin_module.around_zero(case.problem, solution)
    lower, upper = intercept.narrow_bracket(case.problem, solution, [region], intercept.EVERYTHING)
    exact = sum(map(Fraction, y.tolist())) / len(y)
    assert exact < 0
    assert Fraction(lower) <= exact <= Fraction(upper)
