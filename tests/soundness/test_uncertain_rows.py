"""Bounds of rows with holes of their own: no completion of training and test cells together breaks them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix
from ipub.certificates import bounds_of_uncertain_rows
from ipub.certificates import uncertain_rows as module
from ipub.losses import LOSSES
from ipub.tables.missing_category import Levels, MissingCategories
from support.attacks import ATTACKED, Tally, derivatives, place, retrain
from support.bounded_tables import corner_models, draw_table
from support.cases import FAMILIES, MODELS, Case, Generator, draw_case, draw_solution, vary_loss, with_intercept
from support.oracles.rationals import holds, rational

LOSS_NAMES = tuple(LOSSES)


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
        for tried in (0, 1, 3):
            found = bounds_of_uncertain_rows(certificate.score_bounds, center, cells, coef_bounds, most_tried=tried)
            bounds[f"{name}, {tried} tried"] = found
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
    d, rows = radius.shape[1], []
    for positions in (np.sign(model.w[:d]), -np.sign(model.w[:d]), rng.uniform(-1.0, 1.0, size=d)):
        X_test = center.copy()
        X_test[:, :d] += radius * positions
        for at in np.ndindex(radius.shape):
            if abs(rational(X_test[at]) - rational(center[at])) > rational(radius[at]):
                X_test[at] = center[at]
        rows.append(X_test)
    scores = retrain(replace(case, X_test=np.concatenate(rows)), table, start=model)
    tally.retrainings, tally.checks = tally.retrainings + 1, tally.checks + len(scores.lowest)
    for name, ends in bounds.items():
        low, high = np.tile(ends, (3, 1)).T
        wrong = (low > scores.highest) | (high < scores.lowest) | np.isnan(low) | np.isnan(high)
        tally.violations += [f"{name}, row {k}: {ends!r}, {scores!r}, {case!r}" for k in np.flatnonzero(wrong)]


def attack_boxes(seed: int, loss_name: str, problems: int) -> Tally:
    rng, tally = np.random.default_rng([seed, LOSS_NAMES.index(loss_name)]), Tally()
    for _ in range(problems):
        penalty = str(rng.choice(["l2", "elastic net"]))
        case = vary_loss(rng, draw_case(rng, str(rng.choice(list(FAMILIES))), loss_name, penalty))
        attack_rows(rng, with_intercept(case) if rng.random() < 0.5 else case, tally, rounds=1)
    return tally


@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_no_completion_of_training_and_test_cells_breaks_a_bound(loss_name, report_attack):
    tally = attack_boxes(0, loss_name, problems=4)
    report_attack(tally)
    assert tally.checks > 400
    assert tally.violations == []


@pytest.mark.share(3)
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
    "nothing added for undecided signs": ("bounds[uncertain, 1] + left_open[uncertain]", "bounds[uncertain, 1]"),
    "one end tried": ("for combination in range(n_combinations.max())", "for combination in range(1)"),
    "the same end for all that are tried": ("combination >> place & 1", "combination > 0"),
    "too little added": ("rest[tried] = 0.0", "rest[~(rises | falls)] = 0.0"),
    "the least weight": ("np.maximum(np.abs(low), np.abs(high))", "np.minimum(np.abs(low), np.abs(high))"),
}  # fmt: skip


def breaks_a_corner(function, tried: int) -> bool:
    """Whether bounds of boxes, from the exact ranges over a few models, miss a corner of a box."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        models = rng.normal(rng.choice([-2.0, 0.0, 2.0], size=4), 1.0, size=(5, 4))
        center, radius = rng.normal(size=(4, 4)), rng.uniform(0.0, 2.0, size=(4, 4))
        radius[0] = radius[1, :2] = 0.0
        i, j = np.nonzero(radius)
        coef_bounds = np.column_stack([models.min(axis=0), models.max(axis=0)])
        bounds = function(partial(_exact, models), center, (i, j, radius[i, j]), coef_bounds, most_tried=tried)
        corners = [_exact(models, center + radius * np.array(at)) for at in itertools.product((-1, 1), repeat=4)]
        lowest, highest = np.min(corners, axis=0)[:, 0], np.max(corners, axis=0)[:, 1]
        if tried == 4:
            np.testing.assert_allclose(bounds, np.column_stack([lowest, highest]))
        if (bounds[:, 0] > lowest + 1e-12).any() or (bounds[:, 1] < highest - 1e-12).any():
            return True
    return False


def _exact(models: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.column_stack([(X @ models.T).min(axis=1), (X @ models.T).max(axis=1)])


@pytest.mark.parametrize("tried", [0, 1, 2, 3, 4])
def test_trying_ends_holds_at_all_corners_and_is_exact_if_it_tries_all(tried):
    assert not breaks_a_corner(bounds_of_uncertain_rows, tried)


@pytest.mark.parametrize("error", ERRORS)
def test_planted_errors_are_caught(error):
    source = Path(module.__file__).read_text(encoding="utf-8")
    right, wrong = ERRORS[error]
    assert source.count(right) == 1
    scope: dict[str, object] = {"__name__": "planted"}
    exec(compile(source.replace(right, wrong), "planted", "exec"), scope)
    assert any(breaks_a_corner(scope["bounds_of_uncertain_rows"], tried) for tried in (1, 3))


def test_the_end_of_a_cell_is_rounded_outward():
    """With a weight that is known, the bound holds exactly at the end of a cell, which is no float."""
    weight, middle, radius = 1.0, 1.0, 2.0**-60
    cells = np.array([0]), np.array([0]), np.array([radius])
    bounds = bounds_of_uncertain_rows(
        lambda X: np.column_stack([X[:, 0], X[:, 0]]) * weight, np.array([[middle]]), cells, np.array([[weight] * 2])
    )
    assert rational(bounds[0, 1]) >= rational(middle) + rational(radius)
    assert rational(bounds[0, 0]) <= rational(middle) - rational(radius)


def test_the_end_of_a_cell_is_rounded_outward_where_the_score_cancels():
    """All that is left of the score is what rounding would take from the end of the cell."""
    cells = np.array([0]), np.array([0]), np.array([2.0**-60])
    bounds = bounds_of_uncertain_rows(
        lambda X: np.column_stack([X.sum(axis=1)] * 2), np.array([[1.0, -1.0]]), cells, np.ones((2, 2))
    )
    assert bounds[0, 1] >= 2.0**-60
    assert bounds[0, 0] <= -(2.0**-60)


@pytest.mark.parametrize("seed", range(5))
def test_more_combinations_of_levels_than_are_looked_at_lie_in_a_box_that_holds_them_all(seed, monkeypatch):
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 1)
    models = np.random.default_rng(seed).normal([0.0, 3.0, -3.0, 0.5, -0.5], 1.0, size=(3, 5))
    levels = [Levels(np.arange(3)), Levels(np.arange(3, 5))]
    choices = MissingCategories.of(np.array([[True, True]]), levels)
    center = np.zeros((1, 5))
    choices.put(center)
    coef_bounds = np.column_stack([models.min(axis=0), models.max(axis=0)])
    none = np.zeros(0, dtype=np.intp)
    bounds = bounds_of_uncertain_rows(partial(_exact, models), center, (none, none, np.zeros(0)), coef_bounds, choices)
    for chosen in itertools.product(range(3), range(2)):
        filled = center.copy()
        choices.put(filled, np.array(chosen))
        low, high = _exact(models, filled)[0]
        assert bounds[0, 0] <= low + 1e-12
        assert bounds[0, 1] >= high - 1e-12


def three_categories(seed: int) -> tuple[np.ndarray, MissingCategories, np.ndarray, np.ndarray]:
    """Return models, three categories of which rows miss none to three, their rows, and bounds of the weights."""
    rng = np.random.default_rng(seed)
    models = rng.normal(size=(3, 9))
    missing = np.array([[True, True, True], [False, False, False], [False, True, True], [True, False, False]])
    choices = MissingCategories.of(missing, [Levels(np.arange(3)), Levels(np.arange(3, 5)), Levels(np.arange(5, 8))])
    center = np.zeros((4, 9))
    center[:, 8] = 1.0
    center[1:3, 0] = center[1, 3] = center[1, 6] = center[3, 4] = center[3, 5] = 1.0
    return models, choices, center, np.column_stack([models.min(axis=0), models.max(axis=0)])[:8]


def every_completion(choices: MissingCategories, center: np.ndarray):
    """Yield the rows with every combination of levels."""
    for chosen in itertools.product(*(range(len(choices.levels[c].columns)) for c in choices.categories)):
        filled = center.copy()
        choices.put(filled, np.array(chosen))
        yield filled


@pytest.mark.parametrize("seed", range(5))
def test_levels_that_are_not_combined_are_held_all_the_same(seed):
    models, choices, center, coef_bounds = three_categories(seed)
    none = np.zeros(0, dtype=np.intp)
    given = partial(_exact, models), center, (none, none, np.zeros(0)), coef_bounds, choices
    combined, added = (bounds_of_uncertain_rows(*given, combines_levels=each) for each in (True, False))
    np.testing.assert_allclose(added[[1, 3]], combined[[1, 3]], rtol=1e-12)
    for filled in every_completion(choices, center):
        ends = _exact(models, filled)
        assert (added[:, 0] <= ends[:, 0]).all()
        assert (added[:, 1] >= ends[:, 1]).all()
    assert (np.ptp(added, axis=1) <= 3.0 * np.ptp(combined, axis=1)).all()


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 100.0, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_rough_bounds_say_which_levels_to_look_at_and_change_nothing(seed, spread):
    models, choices, center, coef_bounds = three_categories(seed)
    rng, looked_at, none = np.random.default_rng(seed), [], np.zeros(0, dtype=np.intp)

    def bounds_of(rows):
        looked_at.append(len(rows))
        return _exact(models, rows)

    def rough(rows):
        return _exact(models, rows) + spread * rng.random((len(rows), 1)) * [-1.0, 1.0]

    given = center, (none, none, np.zeros(0)), coef_bounds, choices
    plain = bounds_of_uncertain_rows(bounds_of, *given)
    with np.errstate(invalid="ignore"):
        found = bounds_of_uncertain_rows(bounds_of, *given, rough_bounds_of=rough)
    np.testing.assert_array_equal(found, plain)
    if spread == 0.0:
        assert sum(looked_at[1:]) < looked_at[0]


@pytest.mark.parametrize("coef", [(np.nan, np.nan), (-np.inf, np.inf), (-1e308, 1e308)])
def test_unbounded_weights_give_infinite_bounds_and_never_nan(coef):
    cells = np.array([0]), np.array([0]), np.array([1e10])
    bounds = bounds_of_uncertain_rows(
        lambda X: np.zeros((len(X), 2)), np.zeros((2, 1)), cells, np.array([coef]), most_tried=0
    )
    np.testing.assert_array_equal(bounds, [[-np.inf, np.inf], [0.0, 0.0]])
