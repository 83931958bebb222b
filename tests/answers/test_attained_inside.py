"""The search inside intervals: it finds worst places that are no ends, and never leaves the certified bounds."""

from __future__ import annotations

import numpy as np
import pytest

from ipub import BoundedClassifier
from ipub.answers.attained import attained_bounds, inside, search_fillings
from ipub.answers.attained.first_order import inverse_times
from ipub.answers.attained.retraining import gathered
from ipub.answers.attained.search import Best, Search
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, engine_of
from ipub.rows.completions import side_by_side
from ipub.tables.interval_matrix import IntervalMatrix

GRID = np.linspace(-1.0, 1.0, 21)


def two_cells(loss: str, seed: int, lam: float = 0.05) -> tuple[Problem, np.ndarray]:
    """Draw eight rows of two columns, with a wide interval in each column, and a test row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    y = X[:, 0] + rng.normal(size=8)
    y = np.where(y > 0.0, 1.0, -1.0) if LOSSES[loss].task == "classification" else y
    radii = np.zeros_like(X)
    radii[0, 0] = radii[1, 1] = 2.0
    rows = MemoryRows(IntervalMatrix.from_bounds(X - radii, X + radii), y)
    return Problem(rows, LOSSES[loss], ElasticNet(lam)), rng.normal(size=(1, 2))


def trained(problem: Problem, positions: np.ndarray) -> np.ndarray:
    """Return the model of a completion."""
    engine = engine_of(problem.rows)
    assert isinstance(engine, MemoryRows)
    table = engine.matrix.completion(positions)
    rows = MemoryRows(IntervalMatrix.from_bounds(table, table), problem.rows.labels().y)
    return solve(Problem(rows, problem.loss, problem.penalty), tol=1e-12).w


@pytest.mark.parametrize(
    ("loss", "seed"),
    [("log_loss", 1), ("log_loss", 2), ("squared_error", 0), ("squared_error", 3), ("huber", 1), ("squared_hinge", 1)],
)
def test_a_worst_place_inside_the_intervals_is_found(loss, seed):
    problem, X = two_cells(loss, seed)
    scores = np.array([[(X @ trained(problem, np.array([a, b])))[0] for b in GRID] for a in GRID])
    ends = scores[np.ix_([0, -1], [0, -1])]
    found = attained_bounds(problem, solve(problem), X, keep_completions=True)
    (low, high), width = found.bounds[0], np.ptp(scores)
    assert np.ptp(scores) >= 1.01 * np.ptp(ends), "the example has its worst place inside"
    assert low <= scores.min() + 0.01 * width
    assert high >= scores.max() - 0.01 * width
    assert found.inside.any()
    for end, score in zip(found.completions[0], (low, high), strict=True):
        assert (np.abs(end.positions) <= 1.0).all()
        assert abs((X @ trained(problem, end.positions))[0] - score) <= 1e-7
    for certify in CERTIFICATES.values():
        certified = certify(problem, solve(problem)).score_bounds(X)[0]
        assert certified[0] <= low
        assert high <= certified[1]


@pytest.mark.parametrize("loss", ["log_loss", "squared_error", "huber"])
def test_slopes_in_the_cells_are_those_of_retrained_models(loss):
    problem, X = two_cells(loss, 4, lam=0.2)
    search, here, step = Search(problem, solve(problem)), np.array([[0.3, -0.2]], dtype=np.float32), 1e-4
    w = trained(problem, here[0])
    rows = side_by_side(problem.rows, search.layout, here)
    (hessians,) = rows.reduce(inside.completion_hessians, problem.loss, 0.0, w[:, None])
    u = inverse_times(problem, hessians[0] / problem.rows.total_weight, w, X[0])
    slopes = gathered(rows, inside.cell_slopes, problem.loss, 0.0, w[:, None], u[:, None], np.ones(1))[0][:, 0]
    for cell, slope in enumerate(slopes / problem.rows.total_weight):
        moves = step * np.eye(2)[cell]
        change = X @ (trained(problem, here[0] + moves) - trained(problem, here[0] - moves))
        assert abs(change[0] / (2.0 * step) - slope) <= 1e-3 * np.abs(slopes).max()


def test_the_number_of_retrainings_is_limited(monkeypatch):
    problem, X = two_cells("log_loss", 1)
    search = Search(problem, solve(problem))
    best, counted = Best(X, np.zeros_like(X), search.layout.center), []
    for _ in search.steps(best):
        pass
    together = search.retraining.together
    monkeypatch.setattr(
        search.retraining, "together", lambda *given: (counted.append(len(given[0])), together(*given))[1]
    )
    inside.search_inside(search, best)
    assert 0 < sum(counted) <= 2 * (3 * inside.MOST_STEPS + 1)


def test_missing_categories_and_unknown_labels_are_searched_within_the_certified_bounds():
    rng = np.random.default_rng(0)
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"size": rng.normal(size=60), "kind": rng.choice(["a", "b", "c"], 60)})
    y = np.where(X["size"] + (X["kind"] == "a") + rng.normal(size=60) > 0.3, 1.0, 0.0)
    X.loc[:7, "kind"], X.loc[5:12, "size"], y[20] = None, np.nan, np.nan
    model = BoundedClassifier(alpha=0.02, unknown_labels=True).fit(X, y)
    bounds, attained = model.decision_bounds(X[30:34]), model.attained_bounds(X[30:34])
    assert (bounds[:, 0] <= attained[:, 0]).all()
    assert (attained[:, 0] < attained[:, 1]).all()
    assert (attained[:, 1] <= bounds[:, 1]).all()
    assert search_fillings(model.training_, model.training_.table.uncertain_rows(X[30:34])).inside.any()


def test_verbose_says_how_often_places_inside_were_better(capsys):
    X, y = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]]), [0, 0, 1, 1]
    model = BoundedClassifier(verbose=1, intervals={1: (0.5, 1.5)}).fit(X, y)
    model.attained_bounds(X[:1])
    assert "of 2 ends" in capsys.readouterr().out
