"""The interval gradient and Hessian, against those of completions and models inside."""

import numpy as np
import pytest

from experiments.rivals import interval_sums
from experiments.rivals.interval_sums import IntervalSums, mean_slope
from ipub.losses import LOSSES
from ipub.numeric.rounding import down, up
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from ipub.rows import slices as blocks
from support.small_problems import make_problem

SMOOTH = [name for name, loss in LOSSES.items() if loss.is_smooth]


def slopes(problem, X, w, w2):
    """Return gradient and slopes of the mean loss from w to w2 on a complete table, written out again."""
    y, share = problem.rows.labels().y, problem.rows.labels().weight / problem.rows.labels().weight.sum()
    p, t = X @ w, X @ w2
    first, last = problem.loss.derivative(y, p), problem.loss.derivative(y, t)
    h = np.divide(last - first, t - p, out=problem.loss.curvature(y, p), where=np.abs(t - p) > 1e-6)
    return X.T @ (share * first), (X * (share * h)[:, None]).T @ X


@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize("loss", SMOOTH)
def test_gradients_and_slopes_of_completions_lie_inside(loss, whitened):
    rng = np.random.default_rng(1)
    problem = make_problem(loss, holes=0.1, n=40, d=4, weight=rng.uniform(0.5, 2.0, size=40))
    w = solve(problem).w
    basis = rng.normal(size=(4, 4)) if whitened else np.eye(4)
    reach = np.array([0.0, 0.1, 0.2, 1.0])
    sums = IntervalSums.over(problem, w, basis, reach)
    matrix = problem.rows.matrix
    for k in range(40):
        positions = rng.uniform(-1.0, 1.0, matrix.n_uncertain)
        X = matrix.completion(np.sign(positions) if k % 2 else positions)
        g, H = slopes(problem, X, w, w + basis @ (reach * rng.choice([-1.0, 1.0], size=4)))
        assert (np.abs(basis.T @ H @ basis - sums.matrix) <= sums.matrix_radius + 1e-9).all()
        center = sums.center + sums.shift
        assert (np.abs(basis.T @ g - center) <= sums.center_radius + sums.shift_radius + 1e-12).all()
    g, _ = slopes(problem, matrix.completion(np.zeros(matrix.n_uncertain)), w, w)
    assert (np.abs(basis.T @ g - sums.center) <= sums.center_radius + 1e-12).all()
    assert sums.center_radius.max() < 1e-10


def test_one_cell_of_a_squared_loss_is_exact():
    # One row with one cell: g = 2 (x w - y) x and H = 2 x^2, at the ends of the cell or inside it.
    problem = make_problem("squared_error", n=3, d=1, holes=0.0)
    matrix = problem.rows.matrix
    cell = type(matrix)(matrix.table, np.array([0, 1, 1, 1]), np.array([0]), np.array([0.2]), np.array([1.0]))
    problem = type(problem)(MemoryRows(cell, problem.rows.labels().y), problem.loss, problem.penalty)
    sums = IntervalSums.over(problem, np.array([0.7]), np.eye(1), np.zeros(1))
    found = []
    for position in np.linspace(-1.0, 1.0, 2001):
        g, H = slopes(problem, cell.completion([position]), np.array([0.7]), np.array([0.7]))
        found.append([g[0], H[0, 0]])
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    radius = sums.center_radius + sums.shift_radius
    assert (sums.center + sums.shift + radius)[0] == pytest.approx(high[0], rel=1e-6)
    assert (sums.matrix + sums.matrix_radius)[0, 0] == pytest.approx(high[1], rel=1e-6)
    # Where the least value is inside, a chord serves: no more than an eighth of the range is given away.
    assert low[1] - 0.125 * (high[1] - low[1]) <= (sums.matrix - sums.matrix_radius)[0, 0] <= low[1]
    assert low[0] - 0.125 * (high[0] - low[0]) <= (sums.center + sums.shift - radius)[0] <= low[0]


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_mean_slope_covers_completions_and_models(loss):
    rng = np.random.default_rng(2)
    problem = make_problem(loss, holes=0.1, n=40, d=4)
    low, high = mean_slope(problem, np.full(4, 0.1), np.array([0.0, 0.1, 0.2, 0.5]))
    for _ in range(40):
        X = problem.rows.matrix.completion(rng.choice([-1.0, 1.0], problem.rows.matrix.n_uncertain))
        w = 0.1 + np.array([0.0, 0.1, 0.2, 0.5]) * rng.choice([-1.0, 1.0], size=4)
        g, _ = slopes(problem, X, w, w)
        assert (down(low) <= g + 1e-12).all()
        assert (g - 1e-12 <= up(high)).all()


def test_blocks_of_rows_and_of_cells_change_nothing_but_rounding(monkeypatch):
    whole = make_problem("log_loss", holes=0.2)
    w, basis, reach = np.full(5, 0.3), np.eye(5) + 0.1, np.full(5, 0.2)
    expected = IntervalSums.over(whole, w, basis, reach)
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 50)
    monkeypatch.setattr(interval_sums, "AT_ONCE", 100)
    found = IntervalSums.over(make_problem("log_loss", holes=0.2), w, basis, reach)
    for name, value in vars(expected).items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-11)
