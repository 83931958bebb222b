"""Interval Newton is attacked like our own bounds, compared with exact minimisers, and broken on purpose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.rivals import interval_sums as sums_module
from experiments.rivals import newton_steps as newton_module
from experiments.rivals.interval_sums import IntervalSums
from experiments.rivals.interval_systems import IntervalSystem
from experiments.rivals.newton_steps import ParameterBox, interval_newton
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.solvers import Solution
from ipub.rows import slices as blocks
from support.attacks import Tally, attack
from support.cases import FAMILIES, MODELS, Case, draw_case, draw_solution, intervals, train, vary_loss
from support.exact_proofs import prove
from support.planted import assert_caught, plant, same
from support.tiny_cases import TABLES, tiny_case

SMOOTH = [name for name, loss in LOSSES.items() if loss.is_smooth]


def whitened(problem, solution) -> ParameterBox:
    return interval_newton(problem, solution)


def columns(problem, solution) -> ParameterBox:
    return interval_newton(problem, solution, coordinates="columns")


def box_alone(problem, solution) -> ParameterBox:
    """Return nothing but the box of weights, in which the rest of the bounds cannot hide an error."""
    box = interval_newton(problem, solution)
    everywhere = np.full_like(box.lower, -np.inf), np.full_like(box.upper, np.inf)
    return replace(box, norm_limit=np.inf, moves=everywhere)


RIVALS = {"whitened": whitened, "columns": columns, "box": box_alone}


def attack_rivals(seed: int, family: str, loss_name: str, problems: int) -> Tally:
    rng, tally = np.random.default_rng([seed, list(FAMILIES).index(family), len(loss_name)]), Tally()
    for _ in range(problems):
        case = vary_loss(rng, draw_case(rng, family, loss_name, "l2"))
        attack(rng, case, draw_solution(rng, case, str(rng.choice(MODELS))), tally, 1, RIVALS)
    return tally


@pytest.mark.share(3)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("loss_name", SMOOTH)
def test_no_completion_leaves_the_box(loss_name, family, report_attack):
    tally = attack_rivals(0, family, loss_name, problems=1)
    report_attack(tally)
    assert 2 * tally.adversarial_checks >= tally.checks > 0
    assert tally.violations == []


def test_no_completion_leaves_the_box_summed_over_many_blocks(monkeypatch, report_attack):
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 6)
    monkeypatch.setattr(sums_module, "AT_ONCE", 8)
    for loss_name in SMOOTH:
        tally = attack_rivals(1, "plain", loss_name, problems=2)
        report_attack(tally)
        assert tally.violations == []


@pytest.mark.share(2)
@pytest.mark.parametrize("table_kind", TABLES)
@pytest.mark.parametrize("loss_name", SMOOTH)
def test_the_box_holds_every_vertex_and_a_grid_exactly(loss_name, table_kind, report_proofs):
    rng = np.random.default_rng([TABLES.index(table_kind), SMOOTH.index(loss_name)])
    count = 0
    for cells in (0, 1, 2):
        case = vary_loss(rng, tiny_case(rng, table_kind, loss_name, "l2", cells))
        case = replace(case, X_test=np.vstack([case.X_test, np.eye(case.X_test.shape[1])]))
        solutions = [train(case.problem), draw_solution(rng, case, str(rng.choice(MODELS)))]
        made, failures = prove(case, solutions, inner={0: 0, 1: 3, 2: 1}[cells], certificates=RIVALS)
        assert failures == []
        count += made
    report_proofs(count)


def one_column(loss_name: str, centers: list[float], radii: list[float], y: list[float], lam: float) -> Case:
    """Return a case of one weight: interval Newton is then nearly exact, and an error shows."""
    table, radius = np.array(centers)[:, None], np.array(radii)[:, None]
    return Case(intervals(table, radius), np.array(y), None, LOSSES[loss_name], ElasticNet(lam), np.ones((1, 1)))


def violations(*cases: Case, start: Solution | None = None) -> list[str]:
    tally = Tally()
    for seed, case in enumerate(cases):
        attack(np.random.default_rng(seed), case, start or train(case.problem), tally, 2, RIVALS)
    return tally.violations


def test_a_hessian_without_the_intervals_of_the_data_is_caught(monkeypatch):
    honest = sums_module._newton_sums

    def without(block, *args):
        nothing = np.zeros(0, dtype=np.intp)
        certain = replace(block, cell_rows=nothing, cell_columns=nothing, cell_radii=np.zeros(0))
        return honest(certain, *args)[:2] + honest(block, *args)[2:]

    cases = [one_column(loss, [3.0, 1.0], [1.0, np.nan], [1.0, 1.0], 0.1) for loss in SMOOTH]
    assert_caught(lambda: violations(*cases), lambda: monkeypatch.setattr(sums_module, "_newton_sums", without))


def test_a_gradient_without_the_intervals_of_the_data_is_caught(monkeypatch):
    honest = sums_module._newton_sums
    cases = [one_column("log_loss", [1.0, 1.0], [0.5, np.nan], [1.0, -1.0], 1.0)]
    assert_caught(
        lambda: violations(*cases),
        lambda: monkeypatch.setattr(
            sums_module, "_newton_sums", lambda *args: (*honest(*args)[:4], np.zeros(1), np.zeros(1))
        ),
    )


def test_a_hessian_at_the_point_instead_of_over_the_box_is_caught(monkeypatch):
    # From a start where the loss is flat, Newton's method alone goes far beyond the models.
    honest = IntervalSums.over
    case = one_column("log_loss", [2.0, 2.0], [0.1, np.nan], [1.0, -1.0], 0.01)
    start = replace(train(case.problem), w=np.array([3.0]))
    assert_caught(
        lambda: violations(case, start=start),
        lambda: monkeypatch.setattr(IntervalSums, "over", lambda p, w, basis, reach: honest(p, w, basis, 0.0 * reach)),
    )


def test_looking_at_the_ends_of_cells_only_is_caught(monkeypatch):
    # The square of a cell around 0 is least inside its interval.
    cases = [one_column("squared_error", [0.0, 1.0], [1.0, np.nan], [0.0, 1.0], 0.1)]
    assert_caught(
        lambda: violations(*cases),
        lambda: monkeypatch.setattr(sums_module, "_quadratic", lambda linear, square: (square, linear)),
    )


@pytest.mark.parametrize("method", ["hansen_bliek_rohn", "gauss_seidel"])
def test_intersecting_with_the_wrong_sign_is_caught(monkeypatch, method):
    honest = getattr(IntervalSystem, method)

    def mirrored(*args):
        ends = honest(*args)
        return None if ends is None else (-ends[1], -ends[0])

    case = one_column("squared_error", [2.0, 1.0], [0.1, np.nan], [1.0, 3.0], 0.1)
    untrained = replace(train(case.problem), w=np.zeros(1))
    assert_caught(
        lambda: violations(case, start=untrained), lambda: monkeypatch.setattr(IntervalSystem, method, mirrored)
    )


def test_a_penalty_left_out_of_the_hessian_is_caught(monkeypatch):
    honest = newton_module._system

    def without(problem, w, basis, sums, **kwargs):
        lam = problem.penalty.lam
        lighter = replace(sums, matrix=sums.matrix - lam * basis.T @ basis)
        return honest(problem, w, basis, lighter, **kwargs)

    case = one_column("squared_error", [1.0, 1.0], [0.1, np.nan], [1.0, 1.0], 1.0)
    untrained = replace(train(case.problem), w=np.zeros(1))
    assert_caught(
        lambda: violations(case, start=untrained), lambda: monkeypatch.setattr(newton_module, "_system", without)
    )


def test_a_box_without_outward_rounding_misses_the_exact_optimum(monkeypatch):
    def check():
        failures = []
        for seed in range(12):
            case = tiny_case(np.random.default_rng(seed), "normal", "squared_error", "l2", cells=0)
            failures += prove(case, [train(case.problem)], inner=0, certificates=RIVALS)[1]
        return failures

    def plant_error():
        plant(monkeypatch, "check_arithmetic", lambda: None)
        plant(monkeypatch, "up", same)
        plant(monkeypatch, "down", same)
        plant(monkeypatch, "EPS", 0.0)
        plant(monkeypatch, "UNDERFLOW", 0.0)

    assert_caught(check, plant_error)
