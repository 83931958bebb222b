"""Certificates that share their parts give the same bits as those that do not."""

from __future__ import annotations

import numpy as np
import pytest

from ipub.certificates import Recipe, certify_ball, certify_tight
from ipub.losses import LOSSES
from support.attacks import ATTACKED
from support.cases import draw_case, draw_solution, with_intercept
from support.certificates_once import PARTS, parts_computed_once


@pytest.mark.share(3)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("family", ["plain", "kink", "mixed scales"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_shared_parts_change_no_bit_of_a_bound(loss_name, family, intercept):
    rng = np.random.default_rng(len(loss_name))
    for model in ("trained", "garbage"):
        case = draw_case(rng, family, loss_name, str(rng.choice(["l2", "elastic net"])))
        case = with_intercept(case) if intercept else case
        solution, problem = draw_solution(rng, case, model), case.problem
        with parts_computed_once() as once:
            shared = [once(make)(problem, solution).score_bounds(case.X_test) for make in ATTACKED.values()]
        for make, bounds in zip(ATTACKED.values(), shared, strict=True):
            np.testing.assert_array_equal(make(case.problem, solution).score_bounds(case.X_test), bounds)


def test_another_problem_or_model_is_computed_anew_and_nothing_is_left_behind():
    rng = np.random.default_rng(0)
    cases = [draw_case(rng, "plain", "log_loss", "l2") for _ in range(2)]
    solutions = [draw_solution(rng, cases[0], model) for model in ("trained", "noisy")]
    problem = cases[0].problem
    with parts_computed_once() as once:
        assert once(certify_ball) is not certify_ball
        assert once(certify_ball)(problem, solutions[0]) is once(certify_ball)(problem, solutions[0])
        assert once(certify_ball)(problem, solutions[0]) is not once(certify_ball)(problem, solutions[1])
        assert once(certify_ball)(cases[0].problem, solutions[0]) is not once(certify_ball)(problem, solutions[0])
        assert certify_tight(problem, solutions[0]) is not certify_tight(problem, solutions[0])
    with parts_computed_once() as other:
        assert other(certify_ball)(problem, solutions[0]) is not once(certify_ball)(problem, solutions[0])
        names = {name_of(make) for make in ATTACKED.values() if other(make) != make}
        assert names == {*PARTS} - {"attempt_slope_bounds"}


def name_of(make):
    return (make.make if isinstance(make, Recipe) else make).__name__
