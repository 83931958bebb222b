"""The half-ball, and the intersection of all certificates."""

import dataclasses
from itertools import product

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.certificates import CERTIFICATES, Region, SlopeBounds, certify_ball, certify_sphere, certify_tight
from ipub.certificates.slopes import attempt as attempt_module
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import EPS
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from support.small_problems import COMBINATIONS, center_of, make_problem, objective

each_combination = pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
each_certificate = pytest.mark.parametrize("name", CERTIFICATES)


@pytest.fixture
def X_test():
    return np.random.default_rng(5).normal(size=(40, 5)) * 10.0 ** np.random.default_rng(6).uniform(-2, 2, size=(40, 1))


def retrain(problem, X):
    """Return the model of a complete table."""
    rows = MemoryRows(IntervalMatrix.from_bounds(X, X), problem.rows.labels().y, problem.rows.labels().weight)
    return solve(Problem(rows, problem.loss, problem.penalty), tol=1e-10)


@pytest.mark.no_cover
@pytest.mark.share(5)
@each_combination
@pytest.mark.parametrize("alpha", [1e-2, 0.1, 1.0])
@pytest.mark.parametrize("holes", [0.0, 0.02, 0.3])
def test_tight_is_never_wider_than_its_parts_and_always_finite(loss, l1_ratio, alpha, holes, X_test):
    problem = make_problem(loss, l1_ratio, alpha, holes=holes)
    solution = solve(problem)
    best = certify_tight(problem, solution).score_bounds(X_test)
    assert np.isfinite(best).all()
    assert (best[:, 0] <= best[:, 1]).all()
    # A product with more columns may add in another order, which costs a rounding error or two of its terms.
    rounding = 4.0 * EPS * np.linalg.norm(X_test, axis=1) * np.linalg.norm(solution.w)
    for part in (certify_sphere, certify_ball):
        bounds = part(problem, solution).score_bounds(X_test)
        assert (best[:, 0] >= bounds[:, 0] - rounding).all()
        assert (best[:, 1] <= bounds[:, 1] + rounding).all()


@pytest.mark.no_cover
@pytest.mark.share(3)
@each_combination
@each_certificate
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_hold_the_models_of_the_center_and_of_other_completions(loss, l1_ratio, name, weighted, X_test):
    rng = np.random.default_rng(7)
    weight = rng.choice([0.0, 0.5, 1.0, 4.0], 120) if weighted else None
    problem = make_problem(loss, l1_ratio, holes=0.05, weight=weight)
    bounds = CERTIFICATES[name](problem, solve(problem)).score_bounds(X_test)
    cells = problem.rows.matrix.n_uncertain
    for positions in [np.zeros(cells), np.ones(cells), -np.ones(cells), rng.uniform(-1.0, 1.0, cells)]:
        model = retrain(problem, problem.rows.matrix.completion(positions))
        # The retrained model is itself off by at most sqrt(2 gap / lam).
        slack = np.sqrt(2.0 * model.gap / problem.penalty.lam) * np.linalg.norm(X_test, axis=1)
        assert (bounds[:, 0] - slack <= X_test @ model.w).all()
        assert (X_test @ model.w <= bounds[:, 1] + slack).all()


@each_combination
@each_certificate
def test_a_table_without_holes_has_bounds_as_wide_as_the_solvers_error(loss, l1_ratio, name, X_test):
    problem = make_problem(loss, l1_ratio)
    solution = solve(problem, tol=1e-12)
    width = np.diff(CERTIFICATES[name](problem, solution).score_bounds(X_test), axis=1)[:, 0]
    # A gap known to G puts the optimum within sqrt(2 G / lam); G is the solver's gap and some 1e-14 of rounding.
    radius = np.sqrt(2.0 * (solution.gap + 1e-13) / problem.penalty.lam)
    assert (width <= 2.0 * radius * np.linalg.norm(X_test, axis=1)).all()


@each_combination
def test_the_ball_beats_the_sphere_when_holes_are_few(loss, l1_ratio, X_test):
    problem = make_problem(loss, l1_ratio, holes=0.01)
    solution = solve(problem)
    widths = [
        np.diff(part(problem, solution).score_bounds(X_test), axis=1).mean() for part in (certify_ball, certify_sphere)
    ]
    assert widths[0] < widths[1]


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_the_ball_of_one_uncertain_cell_is_first_order_in_its_radius(l1_ratio):
    X_test = np.eye(5)
    widths = []
    for radius in (1e-3, 1e-4):
        X = center_of(make_problem("squared_error", l1_ratio))
        lower, upper = X.copy(), X.copy()
        lower[3, 2] -= radius
        upper[3, 2] += radius
        problem = make_problem("squared_error", l1_ratio)
        rows = MemoryRows(IntervalMatrix.from_bounds(lower, upper), problem.rows.labels().y)
        problem = Problem(rows, problem.loss, problem.penalty)
        widths.append(np.diff(certify_ball(problem, solve(problem, tol=1e-14)).score_bounds(X_test), axis=1)[:, 0])
    # The sphere goes with the square root of the radius: a tenth of it would leave a third of the width.
    assert (widths[1] <= 0.11 * widths[0]).all()


def distance(region, w):
    """Return how far w is from the box of a region: at most its radius if the region holds w."""
    return np.linalg.norm(np.maximum(np.abs(w - region.center) - region.box, 0.0))


@pytest.mark.share(2)
@pytest.mark.no_cover
@each_combination
@pytest.mark.parametrize("model", ["trained", "other"])
def test_every_region_by_itself_holds_the_models_of_all_vertices(loss, l1_ratio, model):
    rng = np.random.default_rng(11)
    for _ in range(6):
        X, radius = rng.normal(size=(4, 2)), np.zeros((4, 2))
        radius[rng.permutation(4)[:3], rng.integers(0, 2, 3)] = rng.uniform(0.1, 3.0, 3)
        y = np.where(rng.random(4) < 0.5, 1.0, -1.0) * (
            1.0 if LOSSES[loss].task == "classification" else rng.uniform(0.1, 3.0, 4)
        )
        problem = make_problem(loss, l1_ratio, alpha=float(10.0 ** rng.uniform(-2, 0)))
        rows = MemoryRows(IntervalMatrix.from_bounds(X - radius, X + radius), y)
        problem = Problem(rows, problem.loss, problem.penalty)
        solution = solve(problem)
        if model == "other":
            solution = dataclasses.replace(solution, w=solution.w + 0.3 * rng.normal(size=2))
        regions = certify_tight(problem, solution).parts_of(Region)
        for signs in product((-1.0, 1.0), repeat=rows.matrix.n_uncertain):
            at_vertex = retrain(problem, rows.matrix.completion(np.array(signs)))
            slack = np.sqrt(2.0 * at_vertex.gap / problem.penalty.lam) + 1e-12
            for region in regions:
                assert distance(region, at_vertex.w) <= region.radius + slack


def without_curvature(radius=0.0):
    """Return a hinge problem in which every margin is small, so that the model is ``X.T @ y / (n lam)`` exactly."""
    rng = np.random.default_rng(8)
    X, y = rng.uniform(-0.2, 0.2, size=(8, 3)), np.where(np.arange(8) % 2, 1.0, -1.0)
    lower, upper = X.copy(), X.copy()
    lower[2, 1] -= radius
    upper[2, 1] += radius
    rows = MemoryRows(IntervalMatrix.from_bounds(lower, upper), y)
    return Problem(rows, LOSSES["hinge"], ElasticNet(1.0)), X.T @ y / 8.0


def test_the_half_ball_reaches_the_model_exactly_where_nothing_curves():
    problem, optimum = without_curvature()
    solution = solve(problem)
    np.testing.assert_allclose(solution.w, optimum, atol=1e-12)
    for w in (np.zeros(3), 2.0 * optimum, np.array([0.1, -0.3, 0.2])):
        certificate = certify_ball(problem, dataclasses.replace(solution, w=w, dual_w=None))
        assert all(
            distance(region, optimum) <= region.radius * (1.0 + 1e-12) for region in certificate.parts_of(Region)
        )
        low, high = certificate.score_bounds((optimum - w)[None, :])[0]
        # The segment from w to the optimum is a diameter: both ends are points that the theorem cannot exclude.
        np.testing.assert_allclose([low, high], sorted([(optimum - w) @ w, (optimum - w) @ optimum]), atol=1e-9)


@pytest.mark.parametrize("radius", [1e-3, 0.1, 0.5])
def test_one_uncertain_cell_is_bounded_exactly_where_nothing_curves(radius):
    problem, optimum = without_curvature(radius)
    bounds = certify_ball(problem, solve(problem)).score_bounds(np.eye(3))
    exact = np.column_stack([optimum, optimum])
    exact[1] += np.array([-radius, radius]) / 8.0
    assert (bounds[:, 0] <= exact[:, 0] + 1e-15).all()
    assert (exact[:, 1] - 1e-15 <= bounds[:, 1]).all()
    np.testing.assert_allclose(bounds[1], exact[1], atol=1e-9)


@pytest.mark.parametrize("loss", [name for name in LOSSES if LOSSES[name].is_smooth])
def test_a_dual_point_of_other_weights_is_paid_for(loss):
    problem = make_problem(loss, alpha=1.0)
    solution, X = solve(problem, tol=1e-12), center_of(make_problem(loss))
    # The weights that belong to the dual point of zero: the gradient vanishes, and only the residual keeps the optimum.
    a = -problem.loss.derivative(problem.rows.labels().y, np.zeros(120))
    w = X.T @ a / 120.0 / problem.penalty.lam
    certificate = certify_ball(problem, dataclasses.replace(solution, w=w, dual_w=np.zeros(5)))
    assert np.linalg.norm(w - solution.w) > 0.05 * np.linalg.norm(solution.w)
    assert all(distance(region, solution.w) <= region.radius for region in certificate.parts_of(Region))


@each_certificate
def test_a_certificate_has_its_name_regions_of_the_right_shape_and_the_gap(name):
    problem = make_problem("log_loss", 0.5, holes=0.1)
    solution = solve(problem)
    certificate = CERTIFICATES[name](problem, solution)
    assert certificate.name == name
    assert certificate.gap == solution.gap
    for region in certificate.parts_of(Region):
        assert region.center.shape == region.box.shape == (5,)
        assert (region.box >= 0.0).all()
        assert isinstance(region.radius, float)
        assert region.radius >= 0.0
    everything = {"ball", "origin"}
    parts = {"sphere": {"sphere"}, "tight": everything, "pointwise": everything}
    assert {region.name for region in certificate.parts_of(Region)} == parts.get(name, {"ball"})


def test_the_sphere_is_part_of_tight_only_where_it_may_be_narrower():
    for loss, l1_ratio in product(LOSSES, (0.0, 0.5)):
        problem = make_problem(loss, l1_ratio, holes=0.1)
        names = {region.name for region in certify_tight(problem, solve(problem)).parts_of(Region)}
        assert ("sphere" in names) == (not LOSSES[loss].is_smooth and l1_ratio > 0.0)


def test_weights_of_a_hinge_that_are_nearly_zero_do_not_widen_tight(X_test):
    problem = make_problem("hinge", 0.9, holes=0.1, alpha=10.0)
    solution = dataclasses.replace(solve(problem), w=np.array([1e-9, -1e-9, 1e-9, 0.0, 0.0]))
    narrow, *others = (
        np.ptp(each(problem, solution).score_bounds(X_test), axis=1)
        for each in (certify_tight, certify_sphere, certify_ball)
    )
    assert (narrow <= others[0] * (1.0 + 1e-9)).all()
    assert (narrow < 0.5 * others[1]).any()


@pytest.mark.share(5)
@pytest.mark.no_cover
@each_combination
@each_certificate
def test_the_same_input_gives_the_same_bits(loss, l1_ratio, name, X_test):
    first, second = (
        CERTIFICATES[name](problem, solve(problem)).score_bounds(X_test)
        for problem in (make_problem(loss, l1_ratio, holes=0.1) for _ in range(2))
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("size", [np.nan, np.inf, 1e200])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_model_that_overflowed_never_gives_nan_and_tight_stays_finite(loss, l1_ratio, size):
    problem = make_problem(loss, l1_ratio, holes=0.1)
    trained = solve(problem)
    bad = dataclasses.replace(trained, w=np.full(5, size))
    X = np.vstack([center_of(problem)[:5], np.eye(5)])
    for certify in CERTIFICATES.values():
        bounds = certify(problem, bad).score_bounds(X)
        assert not np.isnan(bounds).any()
        assert (bounds[:, 0] <= X @ trained.w).all()
        assert (X @ trained.w <= bounds[:, 1]).all()
    assert np.isfinite(certify_tight(problem, bad).score_bounds(X)).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [1e308, -1e308])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scores_that_overflow_are_never_taken_for_known(loss, weight):
    X = np.array([[1e150, 1.0], [1.0, 1.0], [-1e150, 1.0], [2.0, -1.0]])
    rows = MemoryRows(IntervalMatrix.from_bounds(X, X), np.array([1.0, -1.0, 1.0, -1.0]))
    problem = make_problem(loss)
    problem = Problem(rows, problem.loss, ElasticNet(0.1))
    bad = dataclasses.replace(solve(make_problem(loss)), w=np.array([weight, 0.0]), dual_w=np.zeros(2))
    for region in certify_ball(problem, bad).parts:
        assert not np.isfinite(region.radius) or (region.box >= 0.0).all()
        assert not np.isfinite(region.radius) or region.radius >= abs(weight) / 2.0


def test_wider_intervals_never_give_narrower_bounds_by_the_ball():
    X_test, narrower = np.eye(5), None
    solution = solve(make_problem("log_loss", holes=0.1))
    for stretch in (0.0, 0.1, 0.5, 1.0):
        bounds = certify_ball(make_problem("log_loss", holes=0.1, stretch=stretch), solution).score_bounds(X_test)
        if narrower is not None:
            assert (np.diff(bounds, axis=1) >= np.diff(narrower, axis=1)).all()
        narrower = bounds


def test_the_trained_model_is_the_best_point_of_its_region():
    problem = make_problem("log_loss", holes=0.1)
    solution = solve(problem)
    X, (region,) = center_of(problem), certify_sphere(problem, solution).parts
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(50, 5)):
        edge = solution.w + region.radius * direction / np.linalg.norm(direction)
        assert objective(problem, X, edge) > solution.primal


def test_too_many_uncertain_cells_are_summed_or_the_half_ball_is_used_alone(monkeypatch, X_test):
    problem = make_problem("log_loss", 0.0, holes=0.05)
    solution = solve(problem)
    kept = CERTIFICATES["slope"](problem, solution)
    assert kept.part(SlopeBounds).cells is not None
    for limit in ("MOST_CELLS", "MOST_NUMBERS"):
        with monkeypatch.context() as patch:
            patch.setattr(attempt_module, limit, 3)
            summed = CERTIFICATES["slope"](problem, solution)
            assert summed.part(SlopeBounds).cells is None
            assert "are bounded together" in summed.note
            widths = np.diff(summed.score_bounds(X_test)) / np.diff(kept.score_bounds(X_test))
            assert (widths > 0.9).all()
            assert np.median(widths) < 1.5
            hinge = make_problem("hinge", 0.0, holes=0.05)
            certificate = CERTIFICATES["slope"](hinge, solve(hinge))
        assert certificate.part(SlopeBounds) is None
        assert "slope" not in repr(certificate).split(":")[1]
        assert "'ball' is used" in certificate.note
