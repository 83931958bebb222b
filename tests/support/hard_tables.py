"""Tables that are hard on row sums: next to no penalty, kinks, odd scales, bad models, a column that is all missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.solvers import Solution
from support.cases import Case, Generator, intervals, train, with_intercept
from support.oracles.losses import oracle_of
from support.oracles.rationals import as_float

Hard = tuple[Case, Solution]


def simple_case(rng: Generator, loss_name: str, n: int, alpha: float = 0.1) -> Case:
    """Rows of two overlapping classes, or targets with noise; two uncertain cells."""
    table, radius = rng.normal(size=(n, 2)), np.full((n, 2), np.nan)
    score = table @ [1.0, -0.5] + rng.normal(size=n)
    y = score if LOSSES[loss_name].task == "regression" else np.where(score > 0.0, 1.0, -1.0)
    radius[0, 0], radius[1, 1] = rng.uniform(0.1, 0.6, size=2)
    return Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(alpha), rng.normal(size=(3, 2)))


def trained(case: Case, tol: float = 1e-14) -> Hard:
    return case, train(case.problem, tol=tol)


def next_to_no_penalty(rng: Generator, loss_name: str, n: int = 14) -> Hard:
    return trained(simple_case(rng, loss_name, n, alpha=1e-8))


def next_to_no_penalty_and_an_intercept(rng: Generator, loss_name: str, n: int = 14) -> Hard:
    return trained(with_intercept(simple_case(rng, loss_name, n, alpha=1e-8)))


def a_column_that_is_all_missing(rng: Generator, loss_name: str) -> Hard:
    case = simple_case(rng, loss_name, n=5)
    radius = np.full((5, 2), np.nan)
    radius[:, 0] = 0.05
    return trained(replace(case, matrix=intervals(case.matrix.center_rows(slice(0, 5)), radius)))


def a_badly_trained_model(rng: Generator, loss_name: str, n: int = 14) -> Hard:
    return trained(with_intercept(simple_case(rng, loss_name, n, alpha=0.3)), tol=0.3)


def scaled(rng: Generator, loss_name: str, n: int, scale: list[float]) -> Hard:
    case = simple_case(rng, loss_name, n)
    center, radius = case.matrix.center_rows(slice(0, n)), np.full((n, 2), np.nan)
    in_row, columns, _, radii = case.matrix.cells(slice(0, n))
    radius[in_row, columns] = radii
    case = replace(case, matrix=intervals(center * scale, radius * scale), X_test=case.X_test * scale)
    return trained(with_intercept(case) if rng.random() < 0.5 else case)


def a_huge_column(rng: Generator, loss_name: str, n: int = 14) -> Hard:
    return scaled(rng, loss_name, n, [1e8, 1.0])


def a_tiny_column(rng: Generator, loss_name: str, n: int = 14) -> Hard:
    return scaled(rng, loss_name, n, [1.0, 1e-8])


def a_huge_and_a_tiny_column(rng: Generator, loss_name: str, n: int = 14) -> Hard:
    return scaled(rng, loss_name, n, [1e8, 1e-8])


def rows_at_the_kink(rng: Generator, loss_name: str) -> Hard:
    """Rows whose score at w is where the slope of the derivative jumps, two of them with an uncertain cell."""
    plain = simple_case(rng, loss_name, n=20, alpha=1.0)
    case, w = plain, train(plain.problem).w
    ends = [(y, as_float(kink)) for y in (-1.0, 1.0) for kink in oracle_of(plain.loss).kinks(y)]
    for _ in range(4):  # the rows move w, and w the rows
        more = [[score / w[0], 0.0] for _, score in ends]
        table, radius = np.vstack([plain.matrix.center_rows(slice(0, 20)), more]), np.full((20 + len(more), 2), np.nan)
        radius[20, 1], radius[-1, 0] = 0.1, 0.03
        weight = np.append(np.ones(20), np.full(len(more), 0.01))
        labels = np.append(plain.y, [y for y, _ in ends])
        case, at = replace(plain, matrix=intervals(table, radius), y=labels, weight=weight), w
        w = train(case.problem).w
    return case, replace(train(case.problem), w=at)
