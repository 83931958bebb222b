"""Training by products with the Hessian finds what training with its matrix finds."""

from dataclasses import replace

import numpy as np
import pytest

from ipub.losses import LOSSES
from ipub.problem.objective import HessianProducts
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, with_intercept_column
from support.small_problems import make_problem


class WithoutMatrices(MemoryRows):
    """Rows of which no matrix of all pairs of columns is made."""

    allows_matrices = False


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("n_free", [0, 1])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_both_find_the_same_model(loss_name, n_free, l1_ratio):
    problem = make_problem(loss_name, l1_ratio, d=12)
    wide = replace(problem, rows=WithoutMatrices(problem.rows.matrix, problem.rows.y))
    if n_free:
        penalty = replace(problem.penalty, n_free=1)
        problem, wide = (
            replace(each, rows=with_intercept_column(each.rows), penalty=penalty) for each in (problem, wide)
        )
    expected, found = solve(problem), solve(wide)
    assert found.converged
    np.testing.assert_allclose(found.w, expected.w, rtol=0.0, atol=1e-9 if problem.loss.is_smooth else 1e-4)
    assert isinstance(wide.evaluate(found.w, problem.loss.smoothed(0.1)).hessian, HessianProducts)


def test_products_are_those_of_the_matrix():
    problem = make_problem("log_loss", d=6)
    wide = replace(problem, rows=WithoutMatrices(problem.rows.matrix, problem.rows.y))
    w, v = np.random.default_rng(0).normal(size=(2, 6))
    matrix, products = (each.evaluate(w, each.loss).hessian for each in (problem, wide))
    np.testing.assert_allclose(products @ v, matrix @ v, rtol=1e-12)
    np.testing.assert_allclose(products.diagonal, np.diag(matrix), rtol=1e-12)
