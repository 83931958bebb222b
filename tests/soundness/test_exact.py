"""Tiny problems: every vertex and a grid inside, minimised exactly; each bound is proven to hold.

Vertices are the exact rationals ``center ± radius``, which no float need equal. Nothing here has a tolerance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.certificates import certify_ball
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from support.cases import MODELS, Case, draw_solution, intervals, train, vary_loss, with_intercept
from support.exact_proofs import prove
from support.oracles.losses import oracle_of
from support.tiny_cases import TABLES, tiny_case

LOSS_NAMES = tuple(LOSSES)

each_extent = pytest.mark.parametrize(
    "every", [2, pytest.param(1, marks=pytest.mark.long)], ids=["every second problem", "every problem"]
)
"""Each combination looks at every second of its problems, and tables beside it at others; the long run looks at all."""


@pytest.mark.share(4)
@each_extent
@pytest.mark.parametrize("table_kind", TABLES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_hold_at_every_vertex_and_on_a_grid_exactly(loss_name, penalty, table_kind, every, report_proofs):
    number = TABLES.index(table_kind), LOSS_NAMES.index(loss_name), len(penalty)
    rng = np.random.default_rng(number)
    count = 0
    for cells in (1, 2, 3, 4)[number[0] % every :: every]:
        case = vary_loss(rng, tiny_case(rng, table_kind, loss_name, penalty, cells))
        models = rng.choice(MODELS, size=4 - every, replace=False)
        solutions = [train(case.problem), *(draw_solution(rng, case, model) for model in models)]
        made, failures = prove(case, solutions, inner={1: 7, 2: 3, 3: 1, 4: 0}[cells])
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.share(4)
@each_extent
@pytest.mark.parametrize("table_kind", TABLES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_with_an_intercept_hold_exactly(loss_name, penalty, table_kind, every, report_proofs):
    number = TABLES.index(table_kind), LOSS_NAMES.index(loss_name), len(penalty)
    rng = np.random.default_rng([5, *number])
    count = 0
    for cells in (0, 0, 1, 2, 3)[number[0] % every :: every]:
        case = with_intercept(tiny_case(rng, table_kind, loss_name, penalty, cells))
        models = rng.choice(MODELS, size=4 - every, replace=False)
        solutions = [train(case.problem), *(draw_solution(rng, case, model) for model in models)]
        made, failures = prove(case, solutions, inner={0: 0, 1: 5, 2: 1, 3: 0}[cells])
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.share(4)
@each_extent
@pytest.mark.parametrize("table_kind", TABLES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_without_missing_cells_bounds_contain_the_exact_optimum(loss_name, penalty, table_kind, every, report_proofs):
    # Here the width is all gap and rounding: a missing ulp shows.
    rng = np.random.default_rng([9, TABLES.index(table_kind), LOSS_NAMES.index(loss_name), len(penalty)])
    count = 0
    for _ in range(8 // every):
        case = vary_loss(rng, tiny_case(rng, table_kind, loss_name, penalty, cells=0))
        made, failures = prove(case, [train(case.problem), train(case.problem, tol=1e-6)], inner=0)
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.share(4)
@pytest.mark.parametrize("problems", [3, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("kind", ["table", "targets", "weights", "penalty"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", [name for name in LOSS_NAMES if oracle_of(LOSSES[name]).minimiser != "curved"])
def test_bounds_hold_exactly_at_extreme_sizes(loss_name, penalty, kind, intercept, problems, report_proofs):
    rng = np.random.default_rng([len(kind), LOSS_NAMES.index(loss_name), len(penalty), intercept])
    count = 0
    for _ in range(problems):
        case = tiny_case(rng, "normal", loss_name, penalty, cells=1)
        matrix, d = case.matrix, case.X_test.shape[1]
        if kind == "table":
            scale = 10.0 ** rng.choice([-140, -100, -20, 0, 20, 100, 140], size=d)
            cells = matrix.centers * scale[matrix.columns], matrix.radii * scale[matrix.columns]
            matrix = IntervalMatrix(matrix.table * scale, matrix.row_starts, matrix.columns, *cells)
            case = replace(case, matrix=matrix, X_test=case.X_test * scale)
        elif kind == "targets" and case.loss.task == "regression":
            case = replace(case, y=case.y * 10.0 ** rng.uniform(-140, 140))
        elif kind == "weights":
            case = replace(case, weight=10.0 ** (rng.choice([-70, 70]) + rng.uniform(-70, 70, size=len(case.y))))
        else:
            lam, kappa = 10.0 ** rng.uniform(-140, 140), case.penalty.kappa * 10.0 ** rng.uniform(-140, 140)
            case = replace(case, penalty=ElasticNet(lam, kappa))
        case = with_intercept(case) if intercept else case
        with np.errstate(all="ignore"):
            made, failures = prove(case, [train(case.problem), draw_solution(rng, case, "noisy")], inner=1)
        assert failures == []
        count += made
    report_proofs(count)


def test_the_rounding_of_a_gradient_that_loses_small_terms_is_counted(report_proofs):
    """From a model of zero, whose scores are exact, and with next to no curvature: the half-ball is attained.

    Each of the small terms is lost when it is added to the large one, far more than a row's own slope is off by.
    """
    table = np.full((4096, 1), 0.9 * 2.0**-53)
    table[0] = 1.0
    matrix = intervals(1e-12 * table, np.full_like(table, np.nan))
    case = Case(matrix, np.ones(4096), None, LOSSES["squared_error"], ElasticNet(1.0), np.ones((1, 1)))
    solution = replace(train(case.problem), w=np.zeros(1))
    count, failures = prove(case, [solution], inner=0, certificates={"ball": certify_ball})
    assert failures == []
    report_proofs(count)
