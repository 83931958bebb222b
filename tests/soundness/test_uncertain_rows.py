"""Bounds of rows with holes of their own: no completion of training and test cells together breaks them."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix
from ipub.certificates import uncertain_row_bounds
from ipub.losses import LOSSES
from oracles.rationals import holds, rational
from soundness.attacks import ATTACKED, Tally, derivatives, place, retrain
from soundness.cases import FAMILIES, MODELS, Case, Generator, draw_case, draw_solution, vary_loss, with_intercept
from soundness.test_public_bounds import corner_models, draw_table

LOSS_NAMES = tuple(LOSSES)
module = sys.modules["ipub.certificates.uncertain_rows"]


def draw_boxes(rng: Generator, case: Case) -> np.ndarray:
    """Return radii for some cells of the test rows, as wide as the columns, or narrow; the last row has none."""
    m, d = case.X_test.shape[0], case.matrix.shape[1]
    size = np.abs(case.X_test[:, :d]).max(axis=0)
    radius = size * 10.0 ** rng.uniform(-3, 0.5, size=(m, 1)) * rng.uniform(0.0, 1.0, size=(m, d))
    radius[rng.random((m, d)) < 0.4] = 0.0
    radius[-1] = 0.0
    return radius


def attack_rows(rng: Generator, case: Case, tally: Tally, rounds: int = 2) -> None:
    """Attack the bounds of test boxes: aimed and random completions of both tables, retrained."""
    solution, radius = draw_solution(rng, case, str(rng.choice(MODELS))), draw_boxes(rng, case)
    d, center = case.matrix.shape[1], case.X_test
    i, j = np.nonzero(radius)
    cells = i, j, radius[i, j]
    bounds = {}
    for name, make in ATTACKED.items():
        certificate = make(case.problem, solution)
        coef_bounds = certificate.score_bounds(np.eye(center.shape[1]))
        bounds[name] = uncertain_row_bounds(certificate.score_bounds, center, cells, coef_bounds)
    middle = place(case.matrix, np.zeros(case.matrix.n_uncertain))
    reference = retrain(case, middle)
    for row, side in itertools.product(range(len(center)), (-1.0, 1.0)):
        table, here = middle, reference
        for _ in range(rounds):
            aim = center[row].copy()
            aim[:d] += side * radius[row] * np.sign(here.w[:d])
            effect = derivatives(rng, case, table, here, aim)
            table = place(case.matrix, np.where(rng.random(len(effect)) < 0.95, side * np.sign(effect), 0.0))
            here = retrain(case, table, start=here)
            _check(case, bounds, center, radius, rng, table, here, tally)
    for _ in range(rounds * len(center)):
        table = place(case.matrix, rng.uniform(-1.0, 1.0, size=case.matrix.n_uncertain))
        _check(case, bounds, center, radius, rng, table, retrain(case, table, start=reference), tally)


def _check(case, bounds, center, radius, rng, table, model, tally) -> None:
    """Check the best and the worst row inside each box for this model, and a random one, exactly."""
    d = radius.shape[1]
    for positions in (np.sign(model.w[:d]), -np.sign(model.w[:d]), rng.uniform(-1.0, 1.0, size=d)):
        X_test = center.copy()
        X_test[:, :d] = np.clip(center[:, :d] + radius * positions, center[:, :d] - radius, center[:, :d] + radius)
        outside = np.zeros(X_test.shape, dtype=bool)
        for place_ in np.ndindex(radius.shape):
            off = abs(rational(X_test[place_]) - rational(center[place_]))
            outside[place_] = off > rational(radius[place_])
        X_test[outside] = center[outside]
        scores = retrain(replace(case, X_test=X_test), table, start=model)
        tally.retrainings, tally.checks = tally.retrainings + 1, tally.checks + len(center)
        for name, ends in bounds.items():
            wrong = (ends[:, 0] > scores.highest) | (ends[:, 1] < scores.lowest) | np.isnan(ends).any(axis=1)
            tally.violations += [f"{name}, row {k}: {ends[k]!r}, {scores!r}, {case!r}" for k in np.flatnonzero(wrong)]


def attack_boxes(seed: int, loss_name: str, problems: int) -> Tally:
    rng, tally = np.random.default_rng([seed, LOSS_NAMES.index(loss_name)]), Tally()
    for _ in range(problems):
        penalty = str(rng.choice(["l2", "elastic net"]))
        case = vary_loss(rng, draw_case(rng, str(rng.choice(list(FAMILIES))), loss_name, penalty))
        attack_rows(rng, with_intercept(case) if rng.random() < 0.5 else case, tally, rounds=1)
    return tally


@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_no_completion_of_training_and_test_cells_breaks_a_bound(loss_name):
    tally = attack_boxes(0, loss_name, problems=6)
    assert tally.checks > 500
    assert tally.violations == []


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.3])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_published_bounds_of_rows_with_holes_hold_at_every_corner_exactly(loss_name, l1_ratio, fit_intercept):
    rng = np.random.default_rng([LOSS_NAMES.index(loss_name), int(10 * l1_ratio), 7])
    is_regression = LOSSES[loss_name].task == "regression"
    for _ in range(3):
        table, lower, upper = draw_table(rng)
        d = table.shape[1]
        kind = BoundedRegressor if is_regression else BoundedClassifier
        model = kind(loss_name, alpha=float(10.0 ** rng.uniform(-2, 1)), l1_ratio=l1_ratio, fit_intercept=fit_intercept)
        y = rng.normal(size=len(table)) if is_regression else np.where(np.arange(len(table)) % 2, 1.0, -1.0)
        weight = rng.choice([1.0, 2.5], size=len(table))
        model.fit(table, y, sample_weight=weight, X_lower=lower, X_upper=upper)
        low, high = np.sort(rng.normal(size=(2, 3, d)), axis=0)
        certain = rng.random((3, d)) < 0.3
        high[certain] = low[certain]
        rows = IntervalMatrix.from_bounds(low, high)
        bounds = model.predict_bounds(rows) if is_regression else model.decision_bounds(rows)
        for exact in corner_models(model, lower, upper, y, weight):
            for at in itertools.product((0, 1), repeat=d):
                corner = np.where(np.array(at) == 1, high, low)
                for ends, x in zip(bounds, corner, strict=True):
                    assert holds(ends, exact.score(np.append(x, 1.0) if fit_intercept else x))


ERRORS = {
    "the wrong end": ("rises, falls = low >= 0.0, high <= 0.0", "rises, falls = high <= 0.0, low >= 0.0"),
    "signs of the middle": ("rises, falls = low >= 0.0, high <= 0.0", "rises, falls = low + high > 0, low + high <= 0"),
    "nothing added for undecided signs": ("bounds[uncertain, 1] = up(above[:, 1] + loose[uncertain])",
                                          "bounds[uncertain, 1] = up(above[:, 1])"),
    "the least weight": ("np.maximum(np.abs(low), np.abs(high))", "np.minimum(np.abs(low), np.abs(high))"),
}  # fmt: skip


@pytest.mark.parametrize("error", ERRORS)
def test_planted_errors_are_caught(error, monkeypatch):
    source = Path(module.__file__).read_text(encoding="utf-8")
    right, wrong = ERRORS[error]
    assert source.count(right) == 1
    scope: dict[str, object] = {"__name__": "planted"}
    exec(compile(source.replace(right, wrong), "planted", "exec"), scope)
    monkeypatch.setitem(globals(), "uncertain_row_bounds", scope["uncertain_row_bounds"])
    assert any(attack_boxes(0, name, problems=6).violations for name in ("squared_error", "log_loss", "hinge"))


def test_the_end_of_a_cell_is_rounded_outward():
    """With a weight that is known, the bound holds exactly at the end of a cell, which is no float."""
    weight, middle, radius = 1.0, 1.0, 2.0**-60
    cells = np.array([0]), np.array([0]), np.array([radius])
    bounds = uncertain_row_bounds(
        lambda X: np.column_stack([X[:, 0], X[:, 0]]) * weight, np.array([[middle]]), cells, np.array([[weight] * 2])
    )
    assert rational(bounds[0, 1]) >= rational(middle) + rational(radius)
    assert rational(bounds[0, 0]) <= rational(middle) - rational(radius)


@pytest.mark.parametrize("coef", [(np.nan, np.nan), (-np.inf, np.inf), (-1e308, 1e308)])
def test_unbounded_weights_give_infinite_bounds_and_never_nan(coef):
    cells = np.array([0]), np.array([0]), np.array([1e10])
    bounds = uncertain_row_bounds(lambda X: np.zeros((len(X), 2)), np.zeros((2, 1)), cells, np.array([coef]))
    np.testing.assert_array_equal(bounds, [[-np.inf, np.inf], [0.0, 0.0]])
