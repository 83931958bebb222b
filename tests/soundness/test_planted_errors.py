"""Errors planted on purpose: each is caught by a check that the unchanged code passes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ipub import losses
from ipub.certificates import ball as ball_module
from ipub.certificates import certify_ball, certify_origin, certify_sphere, certify_tight
from ipub.certificates import origin as origin_module
from ipub.certificates import sphere as sphere_module
from ipub.losses import LOSSES, Logistic, Squared
from ipub.losses import logistic as logistic_module
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import EPS
from ipub.promises import AnyFilling
from support.attacks import Tally, attack
from support.cases import Case, draw_case, draw_solution, intervals, train
from support.enclosures import (
    wrong_conjugates,
    wrong_curvatures,
    wrong_midpoints,
    wrong_penalties,
    wrong_products,
    wrong_residuals,
    wrong_slopes,
    wrong_values,
)
from support.exact_proofs import prove
from support.oracles.algorithm1 import loop_gap
from support.planted import assert_caught, plant, same
from support.tiny_cases import tiny_case


def test_missing_steps_to_the_next_float_are_caught_in_losses_and_penalties(monkeypatch):
    def plant_error():
        plant(monkeypatch, "up", same)
        plant(monkeypatch, "down", same)

    def check():
        return [*wrong_values(LOSSES["squared_error"]), *wrong_slopes(LOSSES["squared_error"])]

    assert list(wrong_penalties(ElasticNet(0.1, 0.3))) == []
    assert_caught(check, plant_error)
    assert list(wrong_penalties(ElasticNet(0.1, 0.3))) != []
    assert list(wrong_conjugates(LOSSES["squared_error"])) != []


CLIPPED = ("squared_hinge", "smoothed_hinge", "huber")


@pytest.mark.parametrize(
    ("name", "check"),
    [
        *itertools.product(CLIPPED, [wrong_values, wrong_conjugates, wrong_residuals, wrong_slopes]),
        # That of the squared hinge is exact without a step: 1 / width is 2, and a score less 1 is exact near the kink.
        *itertools.product(CLIPPED[1:], [wrong_curvatures]),
    ],
)
def test_missing_steps_to_the_next_float_are_caught_in_clipped_losses(monkeypatch, name, check):
    # Widths and deltas of no special value: a power of two hides the rounding of a product.
    loss = {"smoothed_hinge": losses.SmoothedHinge(0.3), "huber": losses.Huber(0.3)}.get(name, LOSSES[name])

    def plant_error():
        plant(monkeypatch, "up", same)
        plant(monkeypatch, "down", same)

    assert_caught(lambda: list(check(loss)), plant_error)


@pytest.mark.parametrize("name", CLIPPED)
def test_a_residual_without_its_part_beyond_the_line_is_caught(monkeypatch, name):
    honest = losses.ClippedLine._residual_upper

    def on_the_line(self, y, d, a):
        bottom, top = self._ends(y)
        return honest(self, y, np.clip(d, self._width * bottom, self._width * top), a)

    assert_caught(
        lambda: list(wrong_residuals(LOSSES[name])),
        lambda: monkeypatch.setattr(losses.ClippedLine, "_residual_upper", on_the_line),
    )


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CLIPPED)
@pytest.mark.parametrize("end", [0, 1])
def test_a_curvature_that_takes_the_line_for_endless_or_flat_is_caught(monkeypatch, name, end):
    honest = losses.ClippedLine.curvature_range

    def one_end_for_both(self, y, lower, upper):
        return (honest(self, y, lower, upper)[end],) * 2

    def failures(seed):
        case = tiny_case(np.random.default_rng(seed), "normal", name, "l2", cells=2)
        return prove(case, [train(case.problem)], inner=0)[1]

    with monkeypatch.context() as patch:
        patch.setattr(losses.ClippedLine, "curvature_range", one_end_for_both)
        assert list(wrong_curvatures(LOSSES[name])) != []
        caught = next((seed for seed in range(40) if failures(seed)), None)
        assert caught is not None
    assert list(wrong_curvatures(LOSSES[name])) == []
    assert failures(caught) == []


def test_a_missing_step_in_the_radius_of_an_interval_is_caught(monkeypatch):
    assert_caught(wrong_midpoints, lambda: plant(monkeypatch, "up", same))


def test_a_missing_error_of_sums_is_caught(monkeypatch):
    assert_caught(wrong_products, lambda: plant(monkeypatch, "EPS", 0.0))


def optimum_outside(loss_name: str) -> list[str]:
    """Compare the bounds of well trained models without missing cells with the exact optimum."""
    failures = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        case = tiny_case(rng, "normal", loss_name, "l2", cells=0)
        failures += prove(case, [train(case.problem)], inner=0)[1]
    return failures


def test_bounds_without_outward_rounding_miss_the_exact_optimum(monkeypatch):
    def plant_error():
        plant(monkeypatch, "up", same)
        plant(monkeypatch, "down", same)
        plant(monkeypatch, "EPS", 0.0)
        plant(monkeypatch, "UNDERFLOW", 0.0)

    assert_caught(lambda: optimum_outside("squared_error"), plant_error)


@pytest.mark.parametrize(
    ("method", "check", "inaccuracy"),
    [("value", wrong_values, -7), ("conjugate", wrong_conjugates, 5)],
)
def test_elementary_functions_may_be_as_inaccurate_as_assumed_but_the_assumption_is_needed(
    monkeypatch, method, check, inaccuracy
):
    # A mathematics library within the assumed 4 ulps, though far worse than a real one.
    accurate = getattr(Logistic, method)
    monkeypatch.setattr(Logistic, method, lambda self, y, t: accurate(self, y, t) * (1.0 + inaccuracy * EPS))
    assert_caught(lambda: list(check(LOSSES["log_loss"])), lambda: plant(monkeypatch, "ELEMENTARY_ULPS", 0))


def test_an_inaccurate_sigmoid_is_covered_and_the_cover_is_needed(monkeypatch):
    accurate = logistic_module.sigmoid
    monkeypatch.setattr(logistic_module, "sigmoid", lambda t: accurate(t) * (1.0 - 6 * EPS))
    assert_caught(lambda: list(wrong_slopes(LOSSES["log_loss"])), lambda: plant(monkeypatch, "ELEMENTARY_ULPS", 0))


def flat_case(loss_name: str = "squared_error", radius: float = 0.01) -> Case:
    """Return a case with far more penalty than curvature, where sphere and half-ball are nearly attained."""
    rng = np.random.default_rng(3)
    table = 0.01 * rng.normal(size=(4, 2))
    holes = np.full_like(table, np.nan)
    holes[0, 0] = radius
    y = np.array([1.0, -1.0, 1.0, 1.0])
    return Case(intervals(table, holes), y, None, LOSSES[loss_name], ElasticNet(1.0), rng.normal(size=(8, 2)))


def fitted_case(loss_name: str) -> Case:
    """Return one row that its model fits well: its dual is small, and all depends on how far its score moves."""
    matrix = intervals(np.array([[20.0]]), np.array([[18.0]]))
    return Case(matrix, np.ones(1), None, LOSSES[loss_name], ElasticNet(0.1), np.ones((1, 1)))


def violations(certificate, cases: list[Case], model: str = "garbage") -> list[str]:
    """Attack one certificate; the test rows include the direction in which the model is wrong."""
    tally = Tally()
    for seed, case in enumerate(cases):
        rng = np.random.default_rng(seed)
        solution = draw_solution(rng, case, model)
        wrong = train(case.problem).w - solution.w
        aimed = replace(case, X_test=np.vstack([case.X_test, wrong, np.eye(len(wrong))]))
        attack(rng, aimed, solution, tally, rounds=1, certificates={"attacked": certificate})
        if tally.violations:
            break
    return tally.violations


def test_a_sphere_without_the_duality_gap_is_caught(monkeypatch):
    # Algorithm 1 as it is printed: it takes w for optimal.
    cases = [draw_case(np.random.default_rng(seed), "single", "log_loss", "l2") for seed in range(4)]

    def without_gap(problem, solution):
        case = next(case for case in cases if np.array_equal(case.y, problem.rows.labels().y))
        return max(0.0, loop_gap(case, solution)[0])

    assert_caught(
        lambda: violations(certify_sphere, cases, "loose") + violations(certify_sphere, cases),
        lambda: monkeypatch.setattr(sphere_module, "gap_upper", without_gap),
    )


@pytest.mark.share(2)
@pytest.mark.parametrize("factor", [0.5, 0.99])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_a_smaller_radius_of_the_sphere_is_caught(monkeypatch, loss_name, factor):
    honest = sphere_module.gap_upper
    cases = [flat_case(loss_name, 1e-9)]
    assert_caught(
        lambda: violations(certify_sphere, cases),
        lambda: monkeypatch.setattr(sphere_module, "gap_upper", lambda *args: factor**2 * honest(*args)),
    )


@pytest.mark.share(3)
@pytest.mark.parametrize("certificate", [certify_sphere, certify_ball, certify_tight])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_forgotten_cell_radii_are_caught(monkeypatch, loss_name, certificate):
    cases = [draw_case(np.random.default_rng(seed), "wide", loss_name, "l2") for seed in range(3)]

    def plant_error():
        monkeypatch.setattr(AnyFilling, "score_change", lambda self, block, w: np.zeros(block.n_rows))
        monkeypatch.setattr(AnyFilling, "column_change", lambda self, block, a: np.zeros(block.center.shape[1]))

    assert_caught(lambda: violations(certificate, cases, "trained"), plant_error)


@pytest.mark.parametrize("support", ["score_change", "column_change"])
def test_forgetting_the_radii_in_rows_or_in_columns_alone_is_caught(monkeypatch, support):
    cases = [fitted_case("squared_error"), flat_case(radius=1.0)]
    honest = getattr(AnyFilling, support)
    assert_caught(
        lambda: violations(certify_ball, cases, "trained"),
        lambda: monkeypatch.setattr(AnyFilling, support, lambda *args: 0.0 * honest(*args)),
    )


def test_a_half_ball_on_the_wrong_side_is_caught(monkeypatch):
    honest = ball_module._half_balls

    def mirrored(problem, w, *args):
        found = honest(problem, w, *args)
        return found._replace(centers=2.0 * w - found.centers)

    assert_caught(
        lambda: violations(certify_ball, [flat_case()]),
        lambda: monkeypatch.setattr(ball_module, "_half_balls", mirrored),
    )


@pytest.mark.parametrize("loss_name", LOSSES)
def test_a_half_ball_without_eps_is_caught(monkeypatch, loss_name):
    honest = ball_module._roots
    assert_caught(
        lambda: violations(certify_ball, [fitted_case(loss_name)], "trained"),
        lambda: monkeypatch.setattr(ball_module, "_roots", lambda norms, eps, lam: honest(norms, 0.0 * eps, lam)),
    )


def test_adapting_rows_without_the_spread_of_the_derivative_is_caught(monkeypatch):
    honest = Squared.derivative_range
    assert_caught(
        lambda: violations(certify_ball, [fitted_case("squared_error")], "trained"),
        lambda: monkeypatch.setattr(
            Squared, "derivative_range", lambda self, y, a, b: honest(self, y, 0.5 * a + 0.5 * b, 0.5 * a + 0.5 * b)
        ),
    )


def test_a_forgotten_l1_term_is_caught(monkeypatch):
    honest = ElasticNet.subgradient_range
    case = replace(flat_case(), penalty=ElasticNet(1.0, 0.001))

    def without_kappa(self, w, lower, upper):
        return honest(ElasticNet(self.lam), w, lower, upper)

    assert_caught(
        lambda: violations(certify_ball, [case] * 8, "scaled"),
        lambda: monkeypatch.setattr(ElasticNet, "subgradient_range", without_kappa),
    )


def test_a_smaller_ball_around_zero_is_caught(monkeypatch):
    # One row exactly on the kink at its optimum: the bound is attained.
    one_row = Case(
        intervals(np.ones((1, 1)), np.full((1, 1), np.nan)),
        np.ones(1), None, LOSSES["hinge"], ElasticNet(1.0), np.ones((1, 1)),
    )  # fmt: skip

    def check():
        return violations(certify_origin, [one_row])

    honest = origin_module._origin_sums

    def smaller(*args):
        sums = honest(*args)
        return sums._replace(values=0.999 * sums.values)

    assert_caught(check, lambda: monkeypatch.setattr(origin_module, "_origin_sums", smaller))
