"""The solver: the gap it reports is true, and the model is scikit-learn's where scikit-learn has it."""

import dataclasses
import warnings

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from scipy.special import huber
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from ipub import IntervalMatrix
from ipub.losses import LOSSES, Huber, SmoothedHinge
from ipub.losses.penalties import ElasticNet as Penalty
from ipub.problem.objective import Problem
from ipub.problem.solvers import newton, solve
from ipub.rows import MemoryRows, with_intercept_column
from support.cases import vary_loss
from support.real_data import load_default
from support.small_problems import COMBINATIONS, center_of, draw_table, dual_value, make_problem, objective, penalty_of
from support.tiny_cases import tiny_case

each_combination = pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
each_alpha = pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0])


def problem_on(X, y, loss, l1_ratio=0.0, alpha=0.1, weight=None):
    """Return the problem on a complete table."""
    return Problem(MemoryRows(IntervalMatrix.from_bounds(X, X), y, weight), LOSSES[loss], penalty_of(alpha, l1_ratio))


def dual_point(problem, solution):
    """Return the dual coordinates of all rows."""
    return np.concatenate([solution.dual_point(block) for block in problem.rows.blocks()])


@each_combination
@each_alpha
def test_the_gap_reaches_the_tolerance_without_a_warning(loss, l1_ratio, alpha):
    for seed in range(3):
        solution = solve(make_problem(loss, l1_ratio, alpha, holes=0.1, seed=seed), tol=1e-10)
        assert solution.converged
        assert solution.relative_gap <= 1e-10


@each_combination
@each_alpha
def test_the_reported_gap_is_the_true_one(loss, l1_ratio, alpha):
    problem = make_problem(loss, l1_ratio, alpha, holes=0.1)
    X = center_of(problem)
    for tol in (1e-1, 1e-10):
        solution = solve(problem, tol=tol)
        primal, dual = objective(problem, X, solution.w), dual_value(problem, X, dual_point(problem, solution))
        assert solution.primal == pytest.approx(primal, rel=1e-13)
        assert solution.dual == pytest.approx(dual, rel=1e-12)
        # The direct difference is off by some rounding errors of the objectives.
        rounding = 1e-14 * max(1.0, abs(primal), abs(dual))
        assert primal - dual <= solution.gap * (1.0 + 1e-6) + rounding
        assert primal - dual >= solution.gap * (1.0 - 1e-6) - rounding
        assert solution.relative_gap == pytest.approx(solution.gap / max(abs(primal), abs(dual)), rel=1e-9)


@each_combination
def test_no_other_point_is_better_than_the_gap_allows(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio, holes=0.1)
    X, rng = center_of(problem), np.random.default_rng(0)
    solution = solve(problem, tol=1e-10)
    for scale in 10.0 ** np.arange(-8.0, 1.0):
        for direction in rng.normal(size=(20, 5)):
            other = objective(problem, X, solution.w + scale * direction)
            assert other >= solution.primal - solution.gap - 1e-15


@each_combination
def test_the_dual_point_lies_in_the_domain_of_the_conjugate(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio)
    for max_iter in (1, 1000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = solve(problem, max_iter=max_iter)
        assert np.isfinite(problem.loss.conjugate(problem.rows.labels().y, dual_point(problem, solution))).all()


# --- the same model in scikit-learn ----------------------------------------------------------------------------------


@each_alpha
def test_squared_loss_with_l2_is_ridge(alpha):
    X, y = draw_table(task="regression")
    expected = Ridge(alpha=len(X) * alpha / 2.0, fit_intercept=False, solver="cholesky").fit(X, y).coef_
    solution = solve(problem_on(X, y, "squared_error", alpha=alpha), tol=1e-12)
    np.testing.assert_allclose(solution.w, expected, rtol=1e-9, atol=1e-12)


@each_alpha
@pytest.mark.parametrize("l1_ratio", [0.2, 0.8])
def test_squared_loss_with_elastic_net_is_elastic_net(alpha, l1_ratio):
    X, y = draw_table(d=8, task="regression")
    model = ElasticNet(alpha=alpha / 2.0, l1_ratio=l1_ratio, fit_intercept=False, tol=1e-14, max_iter=100_000)
    expected = model.fit(X, y).coef_
    solution = solve(problem_on(X, y, "squared_error", l1_ratio, alpha), tol=1e-12)
    np.testing.assert_allclose(solution.w, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(solution.w == 0.0, expected == 0.0)


@each_alpha
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_logistic_loss_with_l2_is_logistic_regression(alpha, solver):
    X, y = draw_table()
    model = LogisticRegression(C=1.0 / (len(X) * alpha), fit_intercept=False, solver=solver, tol=1e-10, max_iter=10_000)
    solution = solve(problem_on(X, y, "log_loss", alpha=alpha), tol=1e-12)
    np.testing.assert_allclose(solution.w, model.fit(X, y).coef_[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.01, 0.1])
@pytest.mark.parametrize("l1_ratio", [0.2, 0.8])
def test_logistic_loss_with_elastic_net_is_logistic_regression_with_elastic_net(alpha, l1_ratio):
    X, y = draw_table()
    old_name = {} if sklearn.__version__ >= "1.8" else {"penalty": "elasticnet"}
    model = LogisticRegression(
        C=1.0 / (len(X) * alpha), l1_ratio=l1_ratio, fit_intercept=False, solver="saga", tol=1e-12, max_iter=100_000,
        random_state=0, **old_name,
    )  # fmt: skip
    expected = model.fit(X, y).coef_[0]
    solution = solve(problem_on(X, y, "log_loss", l1_ratio, alpha), tol=1e-12)
    np.testing.assert_allclose(solution.w, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(solution.w == 0.0, expected == 0.0)


@each_alpha
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_both_hinges_with_l2_are_linear_svc(loss, alpha):
    X, y = draw_table()
    model = LinearSVC(
        loss=loss, C=1.0 / (len(X) * alpha), dual=True, fit_intercept=False, tol=1e-8, max_iter=1_000_000,
        random_state=0,
    )  # fmt: skip
    solution = solve(problem_on(X, y, loss, alpha=alpha), tol=1e-12)
    np.testing.assert_allclose(solution.w, model.fit(X, y).coef_[0], rtol=1e-6, atol=1e-7)


@each_alpha
def test_huber_with_l2_is_what_a_general_minimiser_finds(alpha):
    # HuberRegressor of scikit-learn estimates a scale as well: another objective.
    X, y = draw_table(task="regression")
    penalty = lambda w: alpha / 2.0 * w @ w  # noqa: E731
    found = minimize(lambda w: huber(1.0, X @ w - y).mean() + penalty(w), np.zeros(5), method="BFGS", tol=1e-9)
    solution = solve(problem_on(X, y, "huber", alpha=alpha), tol=1e-12)
    np.testing.assert_allclose(solution.w, found.x, atol=1e-6)
    assert solution.primal == pytest.approx(huber(1.0, X @ solution.w - y).mean() + penalty(solution.w), rel=1e-12)


@each_alpha
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("pair", [(Huber(1e4), "squared_error"), (SmoothedHinge(1e4), "squared_hinge")], ids=str)
def test_a_line_that_is_never_left_gives_the_model_of_the_squares(pair, l1_ratio, alpha):
    X, y = draw_table(task=pair[0].task)
    expected = solve(problem_on(X, y, pair[1], l1_ratio, alpha), tol=1e-13).w
    factor = 2.0 if pair[1] == "squared_error" else 2.0 * pair[0].width
    rows = MemoryRows(IntervalMatrix.from_bounds(X, X), y)
    solution = solve(Problem(rows, pair[0], penalty_of(alpha / factor, l1_ratio)), tol=1e-13)
    np.testing.assert_allclose(solution.w, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("length", [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("kappa", [0.0, 0.01])
@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("kind", [SmoothedHinge, Huber])
def test_lines_of_any_length_reach_the_tolerance(kind, lam, kappa, length):
    # Short lines are flat nearly everywhere: there a step is much too long, and pieces change all the time.
    for n, d, seed in ((400, 12, 1), (15, 20, 2), (400, 12, 3)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d))
        y = X @ rng.normal(size=d) + rng.standard_t(2, size=n)
        y = y if kind.task == "regression" else np.where(y > 0.0, 1.0, -1.0)
        rows = MemoryRows(IntervalMatrix.from_bounds(X, X), y)
        assert solve(Problem(rows, kind(length), Penalty(lam, kappa)), tol=1e-8).converged


@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("table_kind", ["integers", "normal", "tiny scale", "thin intervals", "weights"])
@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge", "huber"])
def test_tiny_problems_with_rows_on_the_kinks_reach_the_tolerance(loss, table_kind, penalty):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        case = vary_loss(rng, tiny_case(rng, table_kind, loss, penalty, cells=1))
        assert solve(case.problem, tol=1e-8).converged


# --- habits ----------------------------------------------------------------------------------------------------------


@each_combination
def test_a_weight_of_k_equals_k_copies(loss, l1_ratio):
    X, y = draw_table(task=LOSSES[loss].task)
    copies = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = solve(problem_on(X, y, loss, l1_ratio, weight=copies.astype(float)), tol=1e-12)
    copied = solve(problem_on(np.repeat(X, copies, axis=0), np.repeat(y, copies), loss, l1_ratio), tol=1e-12)
    # Equal objectives; each solution is within sqrt(2 gap / lam) of the one optimum.
    np.testing.assert_allclose(weighted.w, copied.w, rtol=1e-7, atol=1e-9)
    assert weighted.primal == pytest.approx(copied.primal, rel=1e-11)


@each_combination
def test_rows_of_weight_zero_change_nothing(loss, l1_ratio):
    X, y = draw_table(task=LOSSES[loss].task)
    weight = np.ones(len(X))
    weight[::3] = 0.0
    without = solve(problem_on(X[weight > 0.0], y[weight > 0.0], loss, l1_ratio), tol=1e-12)
    masked = solve(problem_on(X, y, loss, l1_ratio, weight=weight), tol=1e-12)
    np.testing.assert_allclose(masked.w, without.w, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("loss", "l1_ratio"), [c for c in COMBINATIONS if c[0] != "squared_error"])
def test_too_few_steps_give_a_warning_that_says_what_to_do(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio, alpha=1e-3)
    with pytest.warns(ConvergenceWarning, match=r"gap is .* after 1 steps.*Bounds stay valid.*tol or max_iter"):
        solution = solve(problem, max_iter=1)
    assert not solution.converged
    assert solution.n_iter == 1
    assert solution.relative_gap > 1e-8


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("alpha", [1e-4, 0.1])
def test_one_step_solves_the_squared_loss(l1_ratio, alpha):
    assert solve(make_problem("squared_error", l1_ratio, alpha), max_iter=1).converged


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
def test_one_step_solves_the_squared_loss_even_with_columns_that_are_nearly_equal(l1_ratio, alpha):
    X, y = draw_table(task="regression")
    X = np.hstack([X, X[:, :2] + 1e-3 * np.random.default_rng(0).normal(size=(120, 2))])
    assert solve(problem_on(X, y, "squared_error", l1_ratio, alpha), max_iter=1).converged


@each_combination
def test_starting_at_the_optimum_stays_there(loss, l1_ratio):
    problem = make_problem(loss, l1_ratio)
    first = solve(problem, tol=1e-12)
    start = first.w.copy()
    start.flags.writeable = False
    again = solve(problem, tol=1e-10, start=start)
    assert again.relative_gap <= 1e-10
    np.testing.assert_allclose(again.w, first.w, rtol=1e-5, atol=1e-7)


@each_combination
def test_the_same_input_gives_the_same_bits(loss, l1_ratio):
    first, second = (solve(make_problem(loss, l1_ratio, holes=0.1)) for _ in range(2))
    assert np.array_equal(first.w, second.w)
    assert (first.gap, first.n_iter) == (second.gap, second.n_iter)


def test_progress_is_printed_only_when_asked_for(capsys):
    solve(make_problem("log_loss"))
    assert capsys.readouterr().out == ""
    solution = solve(make_problem("log_loss"), verbose=1)
    assert capsys.readouterr().out.count("relative gap") == solution.n_iter


def ill_scaled(X):
    return X * 10.0 ** np.linspace(-4.0, 4.0, X.shape[1])


def with_twins(X):
    return np.hstack([X, X[:, :2], X[:, :1] * (1.0 + 1e-14)])


def with_constants(X):
    return np.hstack([X, np.zeros((len(X), 1)), np.ones((len(X), 1)), np.full((len(X), 1), 1e6)])


def with_rows_of_zeros(X):
    return np.where((np.arange(len(X)) % 2 == 0)[:, None], 0.0, X)


def wide(X):
    return np.tile(X[:8], (1, 6)) + np.arange(30) / 100.0


@each_combination
@pytest.mark.parametrize(
    "transform", [ill_scaled, with_twins, with_constants, with_rows_of_zeros, wide], ids=lambda f: f.__name__
)
@pytest.mark.filterwarnings("ignore:The relative duality gap")
def test_odd_tables_give_a_finite_model_with_a_true_gap(loss, l1_ratio, transform):
    X, y = draw_table(task=LOSSES[loss].task)
    X = transform(X)
    problem = problem_on(X, y[: len(X)], loss, l1_ratio)
    solution = solve(problem)
    assert np.isfinite(solution.w).all()
    primal = objective(problem, X, solution.w)
    dual = dual_value(problem, X, dual_point(problem, solution))
    assert primal - dual <= solution.gap * (1.0 + 1e-6) + 1e-12 * max(abs(primal), abs(dual))
    at_zero = objective(problem, X, np.zeros(X.shape[1]))
    assert primal <= at_zero * (1.0 + 1e-12)
    if transform is not ill_scaled and transform is not with_constants:
        assert solution.converged


@each_combination
def test_one_row_and_one_column_are_enough(loss, l1_ratio):
    solution = solve(problem_on(np.array([[2.0]]), np.array([1.0]), loss, l1_ratio), tol=1e-10)
    assert solution.relative_gap <= 1e-10


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@each_combination
def test_real_data_reach_the_default_tolerance(loss, l1_ratio, alpha):
    X, y = load_default()
    assert X.shape == (27_000, 28)
    solution = solve(problem_on(X, y, loss, l1_ratio, alpha), tol=1e-8)
    assert solution.relative_gap <= 1e-8


def test_a_step_that_overflows_is_never_the_best():
    problem = make_problem("log_loss", 0.0)
    w = np.zeros(problem.rows.n_features)
    at = problem.evaluate(w, problem.loss)
    good = newton._Pair(w, problem.loss, None, at)
    lost = newton._Pair(w, problem.loss, None, dataclasses.replace(at, loss_gap=np.nan))
    assert good.better(lost) is good
    assert lost.better(good) is good


@each_combination
@each_alpha
@pytest.mark.parametrize("transform", ["plain", "offset", "imbalanced"])
def test_an_intercept_is_trained_to_the_tolerance_and_balances_the_slopes(loss, l1_ratio, alpha, transform):
    plain = make_problem(loss, l1_ratio, alpha, holes=0.1)
    X, y = center_of(plain), plain.rows.labels().y
    if transform == "offset":
        X = X + 30.0
    if transform == "imbalanced":
        y = np.where(np.arange(len(y)) < 115, np.abs(y), -np.abs(y))
    penalty = dataclasses.replace(plain.penalty, n_free=1)
    problem = Problem(with_intercept_column(MemoryRows(IntervalMatrix.from_bounds(X, X), y)), LOSSES[loss], penalty)
    solution = solve(problem)
    assert solution.converged
    assert abs(dual_point(problem, solution).mean()) <= 1e-8 * max(1.0, np.abs(y).max())
    rng, extended = np.random.default_rng(0), np.column_stack([X, np.ones(len(X))])

    def value(w):
        return LOSSES[loss].value(y, extended @ w).mean() + penalty.value(w)

    best = value(solution.w)
    for size in (1e-6, 1e-3, 1e-1):
        for direction in (*np.eye(6), *-np.eye(6), *rng.normal(size=(20, 6))):
            assert best <= value(solution.w + size * direction) + 1e-7 * max(1.0, best)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_an_intercept_starts_where_nothing_curves(loss):
    X, y = np.array([[1e3], [-1e3], [2e3]]), np.array([1.0, -1.0, 1.0])
    rows = with_intercept_column(MemoryRows(IntervalMatrix.from_bounds(X, X), y))
    problem = Problem(rows, LOSSES[loss], dataclasses.replace(penalty_of(0.1, 0.0), n_free=1))
    assert solve(problem, start=np.array([5.0, 1e4])).converged


@pytest.mark.parametrize("seed", [29, 182])
def test_steps_of_a_hinge_do_not_take_turns_on_both_sides_of_a_kink(seed):
    # Along a step the slope jumps between two trials, so that a line through both puts the minimum elsewhere.
    rng = np.random.default_rng([5, seed])
    n, d = int(rng.integers(8, 80)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:4] = [-1.0, 1.0, -1.0, 1.0]
    X[0, 0] = 0.5 * (X[1:, 0].min() + X[1:, 0].max())
    alpha, l1_ratio = float(10.0 ** rng.uniform(-3, 0)), float(rng.choice([0.0, 0.3]))
    rows = MemoryRows(IntervalMatrix.from_bounds(X, X), y)
    penalty = Penalty(alpha * (1.0 - l1_ratio), alpha * l1_ratio, seed % 2)
    problem = Problem(with_intercept_column(rows) if seed % 2 else rows, LOSSES["hinge"], penalty)
    assert solve(problem).converged


@pytest.mark.parametrize("intercept", [False, True])
def test_the_hinge_of_a_long_table_starts_from_a_sample_in_few_passes(intercept, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    rows = MemoryRows(IntervalMatrix.from_bounds(X, X), y)
    problem = Problem(
        with_intercept_column(rows) if intercept else rows, LOSSES["hinge"], Penalty(0.1, 0.0, int(intercept))
    )
    passes, results = [], MemoryRows.results

    def counted(self, kernel, *args):
        passes.append(self is rows)
        return results(self, kernel, *args)

    monkeypatch.setattr(MemoryRows, "results", counted)
    solution = solve(problem)
    assert solution.converged
    assert sum(passes) < 40
