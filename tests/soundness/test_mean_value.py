"""The mean-value part alone, without the regions it is intersected with: exact proofs, and planted errors."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates import curvature
from ipub.certificates.enclosed_inverse import EnclosedInverse
from ipub.certificates.mean_value import MeanValue
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from oracles.exact import exact_model
from oracles.rationals import holds
from soundness.cases import Case, draw_solution, intervals, train
from soundness.test_exact import exact_completions

curvature_module = sys.modules["ipub.certificates.curvature"]


def draw(seed: int, loss_name: str) -> Case:
    """Draw a tiny problem: holes in one row or in several, narrow or wide, weights or none."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    table, radius = rng.normal(size=(n, d)), np.full((n, d), np.nan)
    cells = int(rng.integers(1, 4))
    places = rng.choice(n * d, size=min(cells, n * d), replace=False) if seed % 2 else np.arange(min(cells, d))
    radius.flat[places] = 10.0 ** rng.uniform(-3, 0.3) * rng.random(len(places))
    y = rng.normal(size=n) if LOSSES[loss_name].task == "regression" else rng.choice([-1.0, 1.0], size=n)
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if seed % 3 == 0 else None
    X_test = np.vstack([rng.normal(size=(3, d)), np.eye(d)])
    return Case(intervals(table, radius), y, weight, LOSSES[loss_name], ElasticNet(10.0 ** rng.uniform(-2, 1)), X_test)


def failures(loss_name: str, seeds: range, model: str = "trained") -> tuple[int, list[str]]:
    """Compare the mean-value bounds with exact minimisers at all vertices and on a grid."""
    count, wrong = 0, []
    for seed in seeds:
        case = draw(seed, loss_name)
        trained = train(case.problem)
        rng = np.random.default_rng(seed)
        solution = trained if model == "trained" else draw_solution(rng, case, model)
        part = curvature(case.problem, solution).mean_value
        if part is None:
            continue
        low, high = part.ends(case.X_test)
        for table in exact_completions(case.matrix, 2):
            exact = exact_model(table, case.y, case.weight, loss_name, case.penalty.lam, 0.0)
            for row, x in enumerate(case.X_test):
                count += 1
                if not holds((low[row], high[row]), exact.score(x)):
                    wrong.append(f"seed {seed}, row {row}: ({low[row]}, {high[row]})")
    return count, wrong


@pytest.mark.parametrize("model", ["trained", "noisy", "garbage"])
@pytest.mark.parametrize("loss_name", [name for name in LOSSES if LOSSES[name].is_smooth])
def test_the_mean_value_bounds_hold_at_every_vertex_and_on_a_grid_exactly(loss_name, model, report_proofs):
    count, wrong = failures(loss_name, range(60), model)
    assert wrong == []
    assert count > 1000
    report_proofs(count)


def is_caught(loss_name: str) -> bool:
    return bool(failures(loss_name, range(60))[1])


def test_a_halved_spread_of_the_inverse_is_caught(monkeypatch):
    between = EnclosedInverse.between
    monkeypatch.setattr(
        EnclosedInverse,
        "between",
        classmethod(lambda cls, low, high: (e := between(low, high)) and replace(e, spread=0.25 * e.spread)),
    )
    assert is_caught("squared_error")


def test_the_wrong_vertex_is_caught(monkeypatch):
    at_vertex = MeanValue._at_vertex
    monkeypatch.setattr(
        MeanValue,
        "_at_vertex",
        lambda self, shift, error, low, high, product, product_error: at_vertex(
            self, -shift, error, low, high, -product, product_error
        ),
    )
    assert is_caught("squared_error")
    assert is_caught("log_loss")


def test_a_score_that_does_not_move_with_the_cells_is_caught(monkeypatch):
    at_vertex = MeanValue._at_vertex
    monkeypatch.setattr(
        MeanValue,
        "_at_vertex",
        lambda self, shift, error, low, high, product, product_error: at_vertex(
            self, 0.0 * shift, error, low, high, product, product_error
        ),
    )
    assert is_caught("squared_error")


def test_cells_left_out_of_the_hessian_are_caught(monkeypatch):
    bounds = curvature_module._hessian_bounds

    def without_cells(gram_low, gram_high, square, some, lam, roundings):
        return bounds(gram_low, gram_high, square, replace(some, cell_radii=0.0 * some.cell_radii), lam, roundings)

    monkeypatch.setattr(curvature_module, "_hessian_bounds", without_cells)
    assert is_caught("squared_error")


def test_undecided_cells_left_at_their_center_are_caught(monkeypatch):
    # Every cell is called undecided, and what it can do is forgotten.
    monkeypatch.setattr(sys.modules["ipub.certificates.mean_value"], "SIGN_SLACK", 1e9)
    assert not is_caught("squared_error")
    row_sums = curvature_module.IncompleteRows.row_sums
    monkeypatch.setattr(curvature_module.IncompleteRows, "row_sums", lambda self, values: 0.0 * row_sums(self, values))
    assert is_caught("squared_error")


def test_a_dropped_gradient_is_caught(monkeypatch):
    mean_value = curvature_module._mean_value
    monkeypatch.setattr(
        curvature_module,
        "_mean_value",
        lambda *args: (m := mean_value(*args)) and replace(m, gradient=0.9 * m.gradient),
    )
    assert is_caught("log_loss")


@pytest.mark.parametrize("d", [1, 2, 5, 30])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_the_enclosed_inverse_holds_what_lies_between(d, scale):
    rng = np.random.default_rng(d)
    factor = rng.normal(size=(d, d)) * scale ** rng.uniform(-1, 1, size=d)
    lower = factor @ factor.T + np.diag(np.diag(factor @ factor.T))
    lower = 0.5 * (lower + lower.T)
    upper = lower + np.diag(0.1 * np.diag(lower))
    inverse = EnclosedInverse.between(lower, upper)
    assert inverse is not None
    unit = np.sqrt(np.diag(lower))
    for share in (0.0, 0.3, 1.0):
        difference = np.linalg.inv(lower + share * (upper - lower)) - inverse.center
        for side in (-1.0, 1.0):
            room = (inverse.spread + side * difference) * np.outer(unit, unit)
            assert np.linalg.eigvalsh(room).min() >= -1e-12


def test_a_matrix_that_is_not_definite_has_no_enclosed_inverse():
    assert EnclosedInverse.between(np.diag([1.0, -1.0]), np.eye(2)) is None
    assert EnclosedInverse.between(np.ones((2, 2)), 2.0 * np.eye(2)) is None
    assert EnclosedInverse.between(np.full((2, 2), np.nan), np.eye(2)) is None


def test_a_factorisation_that_overflows_on_its_way_proves_nothing():
    # Pivots that cancel to an ulp make a later column grow to infinity, and some LAPACKs let the NaN pass.
    assert (
        EnclosedInverse.between(np.array([[1e-300, 0, 1e300], [0, 1, 0], [1e300, 0, 1e300]]), 1e301 * np.eye(3)) is None
    )
    d, share = 60, 0.1
    wanted = np.eye(d) * (1.0 + 2.0**-52)
    wanted[0, 0] = 1.0
    wanted[0, 1] = wanted[1, 0] = 1.0
    for k in range(1, d - 1):
        wanted[k, k + 1] = wanted[k + 1, k] = 2.0**-26
    wanted[[0, *range(3, d - 1)], -1] = wanted[-1, [0, *range(3, d - 1)]] = 10.0
    matrix = wanted.copy()
    matrix[np.diag_indices(d)] = np.diag(wanted) / (1.0 - share)
    assert np.linalg.eigvalsh(matrix)[0] < -1.0
    assert EnclosedInverse.between(matrix, matrix + 100.0 * np.eye(d)) is None


@pytest.mark.parametrize("loss_name", ["log_loss", "squared_hinge", "smoothed_hinge", "huber"])
@pytest.mark.parametrize("seed", range(20))
def test_the_curvature_of_every_row_holds_the_secant_between_both_models(seed, loss_name):
    # Garbage as the reference makes the hull of both scores long; one wide hole moves the other end.
    case = draw(seed, loss_name)
    rng = np.random.default_rng(seed)
    solution = replace(train(case.problem), w=rng.normal(size=case.matrix.shape[1]) * 3.0)
    part = curvature(case.problem, solution).mean_value
    if part is None:
        return
    in_row, _, _, _ = case.matrix.cells(slice(0, len(case.y)))
    rows = np.unique(in_row)
    for positions in ([-1.0], [1.0], [0.3]):
        table = case.matrix.completion(np.resize(positions, case.matrix.n_uncertain))
        retrained = train(replace(case, matrix=intervals(table, np.full_like(table, np.nan))).problem)
        full = table[rows]
        here, there = full @ solution.w, full @ retrained.w
        slope = [LOSSES[loss_name].derivative(case.y[rows], score) for score in (here, there)]
        secant = (slope[1] - slope[0]) / (there - here)
        assert (part.rows.hessian_lower <= secant + 1e-9).all()
        assert (secant <= part.rows.hessian_upper + 1e-9).all()
