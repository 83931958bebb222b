"""Tiny problems: every vertex and a grid inside, minimised exactly; each bound is proven to hold.

Vertices are the exact rationals ``center ± radius``, which no float need equal. Nothing here has a tolerance.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq

from ipub import IntervalMatrix
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from oracles.exact import exact_model
from oracles.intercept import exact_intercept_model
from oracles.rationals import holds, rational, rational_rows
from soundness.attacks import ATTACKED
from soundness.cases import MODELS, Case, draw_solution, intervals, train, vary_loss, with_intercept

LOSS_NAMES = tuple(LOSSES)
TABLES = ("integers", "normal", "tiny scale", "huge scale", "mixed scales", "thin intervals", "weights")


def tiny_case(rng: np.random.Generator, table_kind: str, loss_name: str, penalty: str, cells: int) -> Case:
    n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    integers = table_kind == "integers"
    table = rng.integers(-2, 3, size=(n, d)).astype(float) if integers else rng.normal(size=(n, d))
    X_test = rng.integers(-2, 3, size=(3, d)).astype(float) if integers else rng.normal(size=(3, d))
    radius = np.full((n, d), np.nan)
    for place in rng.choice(n * d, size=min(cells, n * d), replace=False):
        radius.flat[place] = rng.choice([0.25, 0.5, 1.0]) if integers else abs(rng.normal())
    if table_kind == "thin intervals":
        radius *= rng.choice([1e-14, 1e-9, 1e-5])
    exponents = {"tiny scale": -6.0, "huge scale": 6.0, "mixed scales": rng.choice([-6.0, 0.0, 6.0], size=d)}
    scale = 10.0 ** np.broadcast_to(exponents.get(table_kind, 0.0), (d,))
    lam = float(rng.choice([0.25, 0.5, 1.0, 2.0])) if integers else 10.0 ** rng.uniform(-4, 1)
    loss = LOSSES[loss_name]
    if loss.task == "regression":
        y = rng.integers(-2, 3, size=n).astype(float) if integers else rng.normal(size=n)
    else:
        y = rng.choice([-1.0, 1.0], size=n)
    slope = float(np.abs((table * scale).T @ y).max()) / n
    kappa = 0.0 if penalty == "l2" else (0.125 if integers else (slope or 1.0) * 10.0 ** rng.uniform(-2, 0))
    weight = rng.choice([0.5, 1.0, 3.0, 1e-3], size=n) if table_kind == "weights" else None
    matrix = intervals(table * scale, radius * scale)
    return Case(matrix, y, weight, loss, ElasticNet(lam, kappa), X_test * scale)


def exact_completions(matrix: IntervalMatrix, inner: int) -> list[list[list[fmpq]]]:
    """Return every vertex, and `inner` points between the ends of each cell, as tables of rationals.

    With every combination of levels of missing categories.
    """
    n = matrix.shape[0]
    in_row, columns, centers, radii = matrix.cells(slice(0, n))
    grid = [fmpq(-1), fmpq(1), *(fmpq(2 * k, inner + 1) - 1 for k in range(1, inner + 1))]
    tables = []
    for positions in itertools.product(grid, repeat=matrix.n_uncertain):
        table = rational_rows(matrix.center_rows(slice(0, n)))
        for i, j, center, radius, position in zip(in_row, columns, centers, radii, positions, strict=True):
            table[i][j] = rational(center) + position * rational(radius)
        tables.append(table)
    choices = matrix.choices
    levels = [choices.levels[k].columns for k in choices.categories]
    combinations = list(itertools.product(*(range(len(columns)) for columns in levels)))
    return [_with_levels(table, choices.rows, levels, chosen) for table in tables for chosen in combinations]


def _with_levels(table: list[list[fmpq]], rows, levels, chosen) -> list[list[fmpq]]:
    table = [list(row) for row in table]
    for i, columns, level in zip(rows, levels, chosen, strict=True):
        for k, column in enumerate(columns):
            table[i][column] = fmpq(int(k == level))
    return table


def prove(case: Case, solutions: list, inner: int, certificates: dict | None = None) -> tuple[int, list[str]]:
    """Compare every bound with every exact minimiser; return how many, and those that are not proven."""
    bounds = {
        (name, k): make(case.problem, solution).score_bounds(case.X_test)
        for name, make in (certificates or ATTACKED).items()
        for k, solution in enumerate(solutions)
    }
    count, failures = 0, []
    for table in exact_completions(case.matrix, inner):
        minimise = exact_intercept_model if case.penalty.n_free else exact_model
        model = minimise(table, case.y, case.weight, case.loss, case.penalty.lam, case.penalty.kappa)
        for row, x in enumerate(case.X_test):
            exact = model.score(x)
            for key, ends in bounds.items():
                count += 1
                if not holds(ends[row], exact):
                    failures.append(f"{key}, row {row}: {ends[row]} but exactly {exact}; {case!r}, {solutions}")
    return count, failures


@pytest.mark.parametrize("table_kind", TABLES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_hold_at_every_vertex_and_on_a_grid_exactly(loss_name, penalty, table_kind, report_proofs):
    rng = np.random.default_rng([TABLES.index(table_kind), LOSS_NAMES.index(loss_name), len(penalty)])
    count = 0
    for cells in (1, 2, 3, 4):
        case = vary_loss(rng, tiny_case(rng, table_kind, loss_name, penalty, cells))
        models = rng.choice(MODELS, size=3, replace=False)
        solutions = [train(case.problem), *(draw_solution(rng, case, model) for model in models)]
        made, failures = prove(case, solutions, inner={1: 7, 2: 3, 3: 1, 4: 0}[cells])
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.parametrize("table_kind", TABLES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_with_an_intercept_hold_exactly(loss_name, penalty, table_kind, report_proofs):
    rng = np.random.default_rng([5, TABLES.index(table_kind), LOSS_NAMES.index(loss_name), len(penalty)])
    count = 0
    for cells in (0, 0, 1, 2, 3):
        case = with_intercept(tiny_case(rng, table_kind, loss_name, penalty, cells))
        models = rng.choice(MODELS, size=3, replace=False)
        solutions = [train(case.problem), *(draw_solution(rng, case, model) for model in models)]
        made, failures = prove(case, solutions, inner={0: 0, 1: 5, 2: 1, 3: 0}[cells])
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.parametrize("table_kind", TABLES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_without_missing_cells_the_bounds_contain_the_exact_optimum(loss_name, penalty, table_kind, report_proofs):
    # Here the width is all gap and rounding: a missing ulp shows.
    rng = np.random.default_rng([9, TABLES.index(table_kind), LOSS_NAMES.index(loss_name), len(penalty)])
    count = 0
    for _ in range(8):
        case = vary_loss(rng, tiny_case(rng, table_kind, loss_name, penalty, cells=0))
        made, failures = prove(case, [train(case.problem), train(case.problem, tol=1e-6)], inner=0)
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("kind", ["table", "targets", "weights", "penalty"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", [name for name in LOSS_NAMES if name != "log_loss"])
def test_bounds_hold_exactly_at_extreme_sizes(loss_name, penalty, kind, intercept, report_proofs):
    rng = np.random.default_rng([len(kind), LOSS_NAMES.index(loss_name), len(penalty)])
    count = 0
    for _ in range(12):
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
