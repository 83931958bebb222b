"""Multiple imputation, single imputation and complete cases: what they train on and what they report."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from experiments.rivals import Imputation, complete_cases, multiple_imputation, share_covered, single_imputation
from ipub import IntervalMatrix
from ipub.answers.attained import attained_bounds
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, with_intercept_column
from support.small_problems import draw_table, make_problem


def trained_on(X, y, lam=0.1, loss="log_loss", weight=None):
    return solve(Problem(MemoryRows(IntervalMatrix.from_bounds(X, X), y, weight), LOSSES[loss], ElasticNet(lam))).w


def with_intercept(problem: Problem) -> Problem:
    return Problem(with_intercept_column(problem.rows), problem.loss, ElasticNet(problem.penalty.lam, n_free=1))


X_TEST = np.random.default_rng(5).normal(size=(7, 5))


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_single_imputation_trains_on_means_or_medians(strategy):
    X, y = draw_table(holes=0.1)
    filled = np.where(np.isnan(X), getattr(np, f"nan{strategy}")(X, axis=0), X)
    result = single_imputation(make_problem("log_loss", holes=0.1), X_TEST, strategy)
    np.testing.assert_allclose(result.scores, [X_TEST @ trained_on(filled, y)], rtol=1e-6)
    np.testing.assert_array_equal(result.range()[:, 0], result.range()[:, 1])
    assert np.isnan(result.spread()).all()


def test_complete_cases_train_on_rows_without_holes():
    X, y = draw_table(holes=0.1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    kept = ~np.isnan(X).any(axis=1)
    result = complete_cases(make_problem("log_loss", holes=0.1, weight=weight), X_TEST)
    np.testing.assert_allclose(result.scores[0], X_TEST @ trained_on(X[kept], y[kept], weight=weight[kept]), rtol=1e-6)
    assert result.note == f"{kept.sum()} of 120 rows have no hole."


def test_with_an_intercept_the_models_are_those_of_scikit_learn():
    X, y = draw_table(holes=0.1)
    kept = ~np.isnan(X).any(axis=1)
    rows = np.column_stack([X_TEST, np.ones(len(X_TEST))])
    result = complete_cases(with_intercept(make_problem("log_loss", holes=0.1)), rows)
    expected = LogisticRegression(C=1.0 / (0.1 * kept.sum()), tol=1e-10).fit(X[kept], y[kept])
    np.testing.assert_allclose(result.scores[0], expected.decision_function(X_TEST), rtol=1e-4, atol=1e-6)


def test_complete_cases_need_a_row_and_an_intercept_both_classes():
    y = np.array([1.0, 1.0, -1.0])
    lower, upper = np.array([[0.0], [1.0], [0.0]]), np.array([[0.0], [1.0], [1.0]])
    problem = Problem(MemoryRows(IntervalMatrix.from_bounds(lower, upper), y), LOSSES["log_loss"], ElasticNet(0.1))
    assert "all of class 1" in complete_cases(problem, np.ones((1, 1))).note
    with pytest.raises(ValueError, match="no intercept is best"):
        complete_cases(with_intercept(problem), np.ones((1, 2)))
    nothing = IntervalMatrix.from_bounds(lower, lower + 1.0)
    with pytest.raises(ValueError, match="no complete cases"):
        complete_cases(Problem(MemoryRows(nothing, y), LOSSES["log_loss"], ElasticNet(0.1)), np.ones((1, 1)))


def test_multiple_imputation_draws_several_tables():
    problem = make_problem("log_loss", holes=0.1)
    result = multiple_imputation(problem, X_TEST, 4, random_state=0)
    assert result.scores.shape == (4, 7)
    assert (np.ptp(result.range(), axis=1) > 0.0).all()
    assert (result.range()[:, 0] <= result.mean()).all()
    np.testing.assert_allclose(result.spread(), np.sqrt(1.25) * result.scores.std(axis=0, ddof=1))
    again, other = (multiple_imputation(problem, X_TEST, 4, random_state=seed) for seed in (0, 1))
    np.testing.assert_array_equal(again.scores, result.scores)
    assert (other.scores != result.scores).all()


def test_a_table_without_holes_has_no_spread():
    problem = make_problem("log_loss")
    result = multiple_imputation(problem, X_TEST, 2, random_state=0)
    np.testing.assert_allclose(result.spread(), 0.0, atol=1e-6)
    np.testing.assert_allclose(result.mean(), X_TEST @ solve(problem).w, atol=1e-6)


def test_clipped_draws_lie_inside_what_completions_attain():
    # One cell with a short interval: without clipping, draws and so scores leave it.
    X, y = draw_table(n=30, d=2)
    upper = X.copy()
    upper[0, 0] += 1e-3
    problem = Problem(MemoryRows(IntervalMatrix.from_bounds(X, upper), y), LOSSES["log_loss"], ElasticNet(0.1))
    X_test = X_TEST[:, :2]
    attained = attained_bounds(problem, solve(problem), X_test).bounds
    free, cut = (multiple_imputation(problem, X_test, 3, clip=clip, random_state=0).range() for clip in (False, True))
    assert (free[:, 1] > attained[:, 1] + 1e-6).any()
    assert (attained[:, 0] - 1e-9 <= cut[:, 0]).all()
    assert (cut[:, 1] <= attained[:, 1] + 1e-9).all()
    single = single_imputation(problem, X_test, clip=True).scores[0]
    assert (attained[:, 0] - 1e-9 <= single).all()
    assert (single <= attained[:, 1] + 1e-9).all()


def test_the_imputer_may_be_fitted_on_some_rows():
    problem = make_problem("log_loss", holes=0.1)
    few = multiple_imputation(problem, X_TEST, 2, fit_rows=60, random_state=0)
    assert np.isfinite(few.scores).all()
    everything = [multiple_imputation(problem, X_TEST, 2, fit_rows=n, random_state=0) for n in (None, 120, 1000)]
    for result in everything[1:]:
        np.testing.assert_array_equal(result.scores, everything[0].scores)
    assert (few.scores != everything[0].scores).any()


def test_a_column_of_holes_is_refused():
    lower = np.column_stack([np.zeros(4), np.arange(4.0)])
    upper = lower + np.array([1.0, 0.0])
    rows = MemoryRows(IntervalMatrix.from_bounds(lower, upper), np.array([1.0, -1.0, 1.0, -1.0]))
    problem = Problem(rows, LOSSES["log_loss"], ElasticNet(0.1))
    for impute in (single_imputation, multiple_imputation):
        with pytest.raises(ValueError, match="Column 0 has no observed value"):
            impute(problem, np.ones((1, 2)))
    with pytest.raises(ValueError, match="make fit_rows larger"):
        multiple_imputation(make_problem("log_loss", holes=0.5), X_TEST, fit_rows=1, random_state=0)


def test_the_share_of_what_is_attained():
    reported = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    attained = np.array([[-1.0, 1.0], [0.2, 0.4], [2.0, 3.0], [0.5, 0.5], [0.5, 0.5]])
    covered = share_covered(reported, attained)
    np.testing.assert_allclose(covered.share, [0.5, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(covered.exceeded, [True, False, True, False, True])


def test_imputations_cover_less_than_completions_attain():
    problem = make_problem("log_loss", holes=0.1)
    attained = attained_bounds(problem, solve(problem), X_TEST).bounds
    covered = share_covered(multiple_imputation(problem, X_TEST, 5, random_state=0).range(), attained)
    assert covered.exceeded.all()
    assert np.median(covered.share) < 0.5
    assert isinstance(single_imputation(problem, X_TEST), Imputation)
