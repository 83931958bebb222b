"""Uncertain labels: bounds hold for every class and every target, proven against exact minimisers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates import certify_ball, certify_origin, certify_slopes, certify_sphere, certify_tight
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.promises.base import UncertainLabels
from ipub.rows import MemoryRows, with_intercept_column, with_label_uncertainty
from ipub.tables.label_uncertainty import LabelUncertainty
from support.cases import Case, intervals, train, vary_loss, with_intercept
from support.certificates_once import parts_computed_once
from support.exact_proofs import exact_completions
from support.oracles.exact import exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import holds
from support.tiny_cases import tiny_case
from support.uncertain_labels import doubtful

LOSS_NAMES = tuple(LOSSES)
CERTIFIED: dict[str, Callable] = {
    "origin": certify_origin,
    "sphere": certify_sphere,
    "ball": certify_ball,
    "slope": certify_slopes,
    "tight": certify_tight,
    "grouped": lambda problem, solution: certify_slopes(problem, solution).without_training_rows(),
}
TABLES = ("integers", "normal", "weights")


def prove(rng: np.random.Generator, case: Case, names: Sequence[str] = ()) -> tuple[int, list[str]]:
    case = replace(case, y=np.round(case.y, 3) if case.loss.task == "regression" else case.y)
    case = replace(case, y=np.ldexp(np.round(np.ldexp(case.y, 10)), -10))
    problem, labels = doubtful(rng, case)
    solution = train(problem)
    with parts_computed_once() as once:
        made = {name: once(CERTIFIED[name])(problem, solution) for name in names or CERTIFIED}
        bounds = {name: certificate.score_bounds(case.X_test) for name, certificate in made.items()}
    minimise = exact_intercept_model if case.penalty.n_free else exact_model
    count, failures = 0, []
    for y in labels:
        if case.penalty.n_free and case.loss.task == "classification" and abs(y.sum()) == len(y):
            continue  # of one class: no minimiser
        for table in exact_completions(case.matrix, inner=0):
            model = minimise(table, y, case.weight, case.loss, case.penalty.lam, case.penalty.kappa)
            for row, x in enumerate(case.X_test):
                exact = model.score(x)
                for name, ends in bounds.items():
                    count += 1
                    if not holds(ends[row], exact):
                        failures.append(f"{name}, row {row}: {ends[row]} but exactly {exact}; {case!r}")
    return count, failures


@pytest.mark.share(3)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_hold_whatever_the_labels_are(loss_name, penalty, intercept, report_proofs):
    rng = np.random.default_rng([17, LOSS_NAMES.index(loss_name), len(penalty), intercept])
    count = 0
    for k in range(8):
        case = vary_loss(rng, tiny_case(rng, TABLES[k % 3], loss_name, penalty, cells=k % 3))
        case = with_intercept(case) if intercept else case
        made, failures = prove(rng, case)
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.parametrize("part", ["ball", "slope"])
@pytest.mark.parametrize("loss_name", ["squared_error", "log_loss"])
@pytest.mark.parametrize("factor", [0.0, 0.5])
def test_less_doubt_than_there_is_is_caught(factor, loss_name, part, monkeypatch):
    honest = UncertainLabels.derivative_change
    monkeypatch.setattr(UncertainLabels, "derivative_change", lambda *args: factor * honest(*args))
    rng = np.random.default_rng(3)
    for _ in range(60):
        if prove(rng, tiny_case(rng, "normal", loss_name, "l2", cells=0), [part])[1]:
            return
    pytest.fail("no bound is violated")


@pytest.mark.parametrize("trained", [True, False], ids=["trained", "zero"])
@pytest.mark.parametrize("n", [1, 3])
def test_every_region_of_the_ball_by_itself_holds_where_nothing_curves(n, trained):
    """Far more penalty than curvature, and no cells: the spread of the rows is all there is, and is attained."""
    rng = np.random.default_rng(n)
    table, y = 1e-3 * np.outer(rng.normal(size=n), [0.6, -0.8]), rng.normal(size=n)
    radius = rng.uniform(0.5, 1.0, size=n)
    case = Case(intervals(table, np.full((n, 2), np.nan)), y, None, LOSSES["squared_error"], ElasticNet(1.0), table)
    rows = MemoryRows(case.matrix, y, label_uncertainty=LabelUncertainty(radius, np.zeros(n)))
    problem = Problem(rows, case.loss, case.penalty)
    solution = train(problem)
    solution = solution if trained else replace(solution, w=np.zeros(2))
    regions, nearly_outside = certify_ball(problem, solution).parts, 0
    for signs in itertools.product((-1.0, 1.0), repeat=n):
        target = y + np.array(signs) * radius
        w = np.linalg.solve(2.0 * table.T @ table / n + np.eye(2), 2.0 * table.T @ target / n)
        for region in regions:
            beyond = np.linalg.norm(np.maximum(np.abs(w - region.center) - region.box, 0.0))
            assert beyond <= region.radius * (1.0 + 1e-9)
            nearly_outside += beyond > 0.999 * region.radius
    assert nearly_outside > 0


@pytest.mark.parametrize("loss_name", ["squared_error", "huber"])
def test_the_ball_around_zero_counts_both_ends_of_a_target(loss_name):
    rng = np.random.default_rng(5)
    table, y, radius = rng.normal(size=(6, 2)), rng.normal(size=6), rng.uniform(0.0, 2.0, size=6)
    rows = MemoryRows(
        intervals(table, np.full((6, 2), np.nan)), y, label_uncertainty=LabelUncertainty(radius, np.zeros(6))
    )
    problem = Problem(rows, LOSSES[loss_name], ElasticNet(0.5))
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=6)))
    at_zero = LOSSES[loss_name].value(y + signs * radius, np.zeros(6)).mean(axis=1).max()
    (region,) = certify_origin(problem, train(problem)).parts
    np.testing.assert_allclose(0.5 * region.radius**2, at_zero, rtol=1e-12)


def test_the_ball_around_zero_counts_both_classes_of_a_row():
    """Most rows are of one class, so the best constant is far from zero, and bad for a heavy row of the other one."""
    table, loss = np.random.default_rng(6).normal(size=(9, 2)), LOSSES["log_loss"]
    y, weight = np.array([1.0, *-np.ones(7), 1.0]), np.array([*np.ones(8), 4.0])
    twice, share = np.append(np.arange(9), 8), np.append(np.zeros(8), [1.0, 1.0])
    matrix = intervals(table, np.full((9, 2), np.nan)).take(twice)
    entered = MemoryRows(matrix, np.append(y, -1.0), weight[twice] * np.where(share > 0.0, 0.5, 1.0))
    rows = with_intercept_column(with_label_uncertainty(entered, LabelUncertainty(np.zeros(10), share)))
    problem = Problem(rows, loss, ElasticNet(0.5, n_free=1))
    (region,) = certify_origin(problem, train(problem)).parts
    for label in (-1.0, 1.0):
        values = weight @ loss.value(np.append(y[:8], label)[:, None], np.linspace(-3.0, 3.0, 301)) / weight.sum()
        assert 0.5 * region.radius**2 >= values.min()
