"""Hypothesis looks for a small table, model and completion that break a bound, and shrinks what it finds."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from support.attacks import ATTACKED, Tally, attack
from support.cases import Case, intervals, train, with_intercept
from support.oracles.exact import exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import holds, rational, rational_rows

SEARCH = settings(
    max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
dyadic = st.integers(-8, 8).map(lambda k: k / 4.0)
scale = st.sampled_from([1.0, 1.0, 1.0, 1e-6, 1e-3, 1e3, 1e6])


@st.composite
def small_cases(draw, max_rows: int = 5, max_columns: int = 3, max_cells: int = 4) -> Case:
    """Draw tables of quarters, so that rows land exactly on kinks, with some columns rescaled."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))

    def grid(rows):
        return np.array(draw(st.lists(st.lists(dyadic, min_size=d, max_size=d), min_size=rows, max_size=rows)))

    scales = np.array(draw(st.lists(scale, min_size=d, max_size=d)))
    loss = LOSSES[draw(st.sampled_from(sorted(LOSSES)))]
    if fields(loss):
        (name,) = (field.name for field in fields(loss))
        loss = replace(loss, **{name: draw(st.sampled_from([0.5, 1.0, 0.25, 4.0, 0.1]))})
    label = st.sampled_from([-1.0, 1.0]) if loss.task == "classification" else dyadic
    y = np.array(draw(st.lists(label, min_size=n, max_size=n)))
    radius = np.full((n, d), np.nan)
    cells = st.tuples(st.integers(0, n - 1), st.integers(0, d - 1))
    for place in draw(st.lists(cells, min_size=1, max_size=max_cells, unique=True)):
        radius[place] = draw(st.sampled_from([0.25, 0.5, 1.0, 2.0, 0.0, 1e-12]))
    weight = draw(st.none() | st.lists(st.sampled_from([1.0, 0.5, 3.0, 1e-3]), min_size=n, max_size=n).map(np.array))
    lam = draw(st.sampled_from([1.0, 0.5, 0.25, 2.0, 0.1, 1e-3, 10.0]))
    kappa = draw(st.sampled_from([0.0, 0.0, 0.125, 0.5, 0.1]))
    matrix = intervals(grid(n) * scales, radius * scales)
    case = Case(matrix, y, weight, loss, ElasticNet(lam, kappa), grid(2) * scales)
    return with_intercept(case) if n > 1 and draw(st.booleans()) else case


def draw_model(data, case: Case):
    """Draw a trained model, or one with any weights and any dual point at all."""
    d = case.X_test.shape[1]
    solution = train(case.problem, max_iter=data.draw(st.sampled_from([40, 40, 1, 2])))
    weights = st.none() | st.lists(dyadic, min_size=d, max_size=d).map(np.array)
    w, dual_w = data.draw(weights), data.draw(weights)
    solution = replace(solution, dual_w=dual_w)
    return solution if w is None else replace(solution, w=w)


@settings(SEARCH, max_examples=60)
@given(small_cases(), st.data())
def test_no_attack_on_a_small_problem_breaks_a_bound(case, data):
    solution = draw_model(data, case)
    tally = Tally()
    attack(np.random.default_rng(0), case, solution, tally, rounds=1)
    assert tally.violations == []


@SEARCH
@given(small_cases(max_rows=4, max_columns=2), st.data())
def test_no_exact_completion_of_a_small_problem_breaks_a_bound(case, data):
    solution = draw_model(data, case)
    n = len(case.y)
    table = rational_rows(case.matrix.center_rows(slice(0, n)))
    in_row, columns, centers, radii = case.matrix.cells(slice(0, n))
    for i, j, center, radius in zip(in_row, columns, centers, radii, strict=True):
        position = data.draw(st.sampled_from([-4, 4, -4, 4, -3, -2, -1, 0, 1, 2, 3]), label="position, in quarters")
        table[i][j] = rational(center) + rational(radius) * position / 4
    minimise = exact_intercept_model if case.penalty.n_free else exact_model
    model = minimise(table, case.y, case.weight, case.loss, case.penalty.lam, case.penalty.kappa)
    for name, make in ATTACKED.items():
        bounds = make(case.problem, solution).score_bounds(case.X_test)
        for row, x in enumerate(case.X_test):
            assert bounds[row, 0] <= bounds[row, 1]
            assert holds(bounds[row], model.score(x)), (name, row)
