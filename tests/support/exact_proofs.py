"""Bounds compared with the exact minimisers of completions. Nothing here has a tolerance."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from flint import fmpq

from ipub import IntervalMatrix
from support.attacks import ATTACKED
from support.cases import Case
from support.certificates_once import parts_computed_once
from support.oracles.exact import exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import holds, rational, rational_rows

each_penalty = pytest.mark.parametrize("penalty", ["l2", "elastic net"])
each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])


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
    missing_categories = matrix.missing_categories
    levels = [missing_categories.levels[k].columns for k in missing_categories.categories]
    combinations = list(itertools.product(*(range(len(columns)) for columns in levels)))
    return [_with_levels(table, missing_categories.rows, levels, chosen) for table in tables for chosen in combinations]


def _with_levels(table: list[list[fmpq]], rows, levels, chosen) -> list[list[fmpq]]:
    table = [list(row) for row in table]
    for i, columns, level in zip(rows, levels, chosen, strict=True):
        for k, column in enumerate(columns):
            table[i][column] = fmpq(int(k == level))
    return table


def prove(case: Case, solutions: list, inner: int, certificates: dict | None = None) -> tuple[int, list[str]]:
    """Compare every bound with every exact minimiser; return how many, and those that are not proven."""
    problem = case.problem
    with parts_computed_once() as once:
        bounds = {
            (name, k): once(make)(problem, solution).score_bounds(case.X_test)
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


def assert_proven(checks: list[tuple[int, list[str]]], report_proofs: Callable[[int], None]) -> None:
    assert [wrong for _, found in checks for wrong in found] == []
    count = sum(made for made, _ in checks)
    assert count > 0
    report_proofs(count)
