"""What row sums claim of a training problem: for every completion and every w in the ranges, a model or not.

Row sums (thm-row-sums) use of a model only that its force ``F = Lambda w + kappa s + sum_i m_i p_i x''_i`` is zero, or
the tilt. So ``y.w <= bound + u.F`` holds for every w, and bounds can be compared with points that no training finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from flint import arb, fmpq

from ipub.certificates import Certificate, ModelSet
from ipub.certificates.row_sums.bounds import RowSumBounds, prove_row_sums, ranges_at_w
from ipub.certificates.row_sums.ranges import COARSE, FINE, FINEST, Accuracy, Ranges, kernel_type
from ipub.certificates.row_sums.table import RowTable
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import dot_bounds
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from support.attacks import place
from support.cases import FAMILIES, Case, Generator, draw_case, intervals, vary_loss, with_intercept
from support.oracles.losses import SmoothOracle, oracle_of
from support.oracles.rationals import exact_dot, rational, rationals
from support.tiny_cases import TABLES, tiny_case, tiny_choices


class NoBounds(ModelSet):
    """What is known where no ranges close."""

    name = "nothing"

    def ends(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(X), -np.inf), np.full(len(X), np.inf)

    def without_training_rows(self) -> NoBounds:
        return self


@dataclass(frozen=True)
class Points(ModelSet):
    """Bounds of the scores of some vectors alone: exact ones, where products of few bits are floats."""

    W: np.ndarray
    is_exact: bool = False
    name: str = "points"

    def ends(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = (X @ self.W.T,) * 2 if self.is_exact else dot_bounds(X, self.W.T)
        return low.min(axis=1), high.max(axis=1)

    def without_training_rows(self) -> Points:
        return self

    def ranges(self, table: RowTable) -> Ranges:
        """Return the ranges of a table that these vectors have."""
        return Ranges.of(table, *self.ends(table.directions), on_path=False)


def row_sum_bounds(problem: Problem, solution: Solution, widths: np.ndarray | None = None) -> RowSumBounds | None:
    """Return bounds by row sums over ranges that prove themselves; None if there are none."""
    return prove_row_sums(ranges_at_w(problem, solution), widths).found


def certificate_of(part: ModelSet) -> Certificate:
    return Certificate(part.name, (part,), 0.0)


class RowSums:
    """Row sums as a certificate by themselves, which counts how often ranges closed."""

    def __init__(self) -> None:
        self.closed = 0

    def __call__(self, problem: Problem, solution: Solution) -> Certificate:
        found = row_sum_bounds(problem, solution)
        self.closed += found is not None
        return Certificate("row sums", (NoBounds() if found is None else found,), solution.gap)


def without_tilt(table: RowTable) -> RowTable:
    """Return the table with a gradient of zero: then the bounds are of ``y.w - u.F`` alone."""
    return replace(table, gradient_upper=np.zeros_like(table.gradient_upper))


def ranges_over(table: RowTable, W: np.ndarray, *, with_centers: bool = True) -> Ranges:
    """Return the least ranges that hold some vectors."""
    lower, upper = dot_bounds(table.directions, W.T)
    return Ranges.of(table, lower.min(axis=1), upper.max(axis=1), on_path=with_centers)


class Sums(NamedTuple):
    """Bounds of several directions, and the multipliers and lines that they belong to (`row_sum_kernel.h`)."""

    bound: np.ndarray
    u: np.ndarray
    z: np.ndarray
    zeta: np.ndarray
    line: np.ndarray


def sums_of(ranges: Ranges, Y: np.ndarray, advice: dict[str, Any] | None = None) -> Sums:
    """Return bounds with the multipliers that the kernel chooses, or is led to choose by other advice."""
    kernel = kernel_type()(**(ranges.kernel_fields | (advice or {})))
    return Sums(*kernel.upper_with_multipliers(np.ascontiguousarray(Y, dtype=float)))


ACCURACIES = (COARSE, FINE, FINEST, Accuracy(2, 3, 1, 0), Accuracy(5, 3, 3, 2), Accuracy(1, 7, 1, 0))
"""Pieces of variants are 3 or 7, all else is free."""

ADVICE = ("inverse", "w", "value_at_w", "slope_at_w", "first_label", "second_label", "chord", "grid")
"""Fields of the kernel that its proofs do not use."""


def random_sums(rng: Generator, ranges: Ranges, Y: np.ndarray) -> Sums:
    """Choose multipliers well, or led by advice that is wrong: bounds must hold whatever is chosen."""
    ranges = replace(ranges, accuracy=ACCURACIES[rng.integers(len(ACCURACIES))])
    return sums_of(ranges, Y, random_advice(rng, ranges) if rng.random() < 0.6 else {})


def random_advice(rng: Generator, ranges: Ranges) -> dict[str, Any]:
    """Return advice that is somewhat wrong, or altogether; u is then that of a curvature or not."""
    fields, size = ranges.kernel_fields, rng.choice([0.01, 0.3, 3.0])

    def moved(values: np.ndarray) -> np.ndarray:
        values = np.nan_to_num(np.asarray(values, dtype=float))
        return values + size * (np.abs(values).max(initial=0.0) + 1e-3) * rng.normal(size=values.shape)

    advice = {name: moved(fields[name]) for name in ADVICE}
    if rng.random() < 0.5:  # any of a row's lines
        per_width = np.asarray(fields["complete_per_width"])
        advice["complete_lower"] = moved(fields["complete_lower"])
        advice["complete_per_width"] = per_width * 10.0 ** rng.uniform(-1.0, 1.0, size=per_width.shape)
    if rng.random() < 0.3:  # lines of uncertain rows that bend the wrong way: the curvature has no factor
        scale = np.abs(advice["slope_at_w"]).max(initial=1.0)
        advice["grid_scale"] = np.zeros_like(fields["grid_scale"])
        advice["chord"] = advice["slope_at_w"] = np.full_like(advice["chord"], -10.0 * scale)
    advice["n_steps"] = int(rng.integers(0, 4))
    return advice


def completed_tables(rng: Generator, case: Case, count: int, *, with_centers: bool) -> Iterator[np.ndarray]:
    """Yield completions: vertices, interior points, mixed; with levels of missing categories, or all at the center."""
    missing = case.matrix.missing_categories
    counts = [len(missing.levels[k].columns) for k in missing.categories]
    for k in range(count):
        positions = rng.uniform(-1.0, 1.0, size=case.matrix.n_uncertain)
        is_end = rng.random(len(positions)) < (1.0, 0.5, 0.0)[k % 3]
        table = place(case.matrix, np.where(is_end, np.sign(positions), positions))
        if len(missing):
            missing.put(table, np.array([int(rng.integers(c)) for c in counts], dtype=np.intp))
        yield case.extended(table)
    if with_centers:
        yield case.extended(case.matrix.center_rows(slice(0, case.matrix.shape[0])))


def forces(case: Case, table: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return a subgradient of the objective of a completed table at each row of W, about."""
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    d = W.shape[1]
    slopes = case.loss.derivative(case.y, W @ table.T) * (weight / weight.sum())
    return slopes @ table + case.penalty.lam_vector(d) * W + case.penalty.kappa_vector(d) * np.sign(W)


def exact_force(case: Case, table: np.ndarray, w: np.ndarray) -> list[arb]:
    """Enclose the subgradient of the objective of a completed table at w, for a loss with a derivative."""
    oracle, exact_w = oracle_of(case.loss), rationals(w)
    assert isinstance(oracle, SmoothOracle)
    weight = rationals(np.ones(len(case.y)) if case.weight is None else case.weight)
    lam, kappa = (vector.tolist() for vector in (case.penalty.lam_vector(len(w)), case.penalty.kappa_vector(len(w))))
    total = [arb(lam[j]) * arb(w[j]) + arb(kappa[j]) * int(np.sign(w[j])) for j in range(len(w))]
    share = sum(weight, fmpq(0))
    for x, y, each in zip(table.tolist(), case.y.tolist(), weight, strict=True):
        slope = oracle.slope_ball(y, arb(exact_dot(rationals(x), exact_w))) * arb(each / share)
        total = [part + slope * arb(value) for part, value in zip(total, x, strict=True)]
    return total


def exact_score(y: np.ndarray, w: np.ndarray) -> arb:
    return arb(exact_dot(rationals(y), [rational(value) for value in w]))


def draw(rng: np.random.Generator, number: int, loss_name: str, penalty: str) -> Case:
    """Draw a problem: a few rows, missing categories, or one of the odd families, with an intercept or not."""
    if number % 3 == 0:
        case = tiny_case(rng, str(rng.choice(TABLES)), loss_name, penalty, int(rng.integers(1, 5)))
    elif number % 3 == 1:
        case = tiny_choices(rng, loss_name, penalty, bool(rng.integers(2)))
    else:
        case = draw_case(rng, str(rng.choice(list(FAMILIES))), loss_name, penalty)
    case = vary_loss(rng, case)
    return with_intercept(case) if rng.random() < 0.5 else case


def directions(case: Case) -> np.ndarray:
    rows = case.extended(case.matrix.center_rows(slice(0, 2)))
    return np.vstack([case.X_test, rows, -case.X_test, -rows])


def point_case(rng: np.random.Generator, number: int, loss_name: str, penalty: str) -> Case:
    """Rows whose uncertain cells have next to no width."""
    n, d = int(rng.integers(3, 30)), int(rng.integers(1, 5))
    table, radius = rng.normal(size=(n, d)), np.full((n, d), np.nan)
    scale = 10.0 ** (rng.choice([-6.0, 0.0, 6.0], size=d) if number % 2 else np.zeros(d))
    radius[rng.random((n, d)) < rng.choice([0.1, 0.9])] = 1e-300
    radius[0, 0] = 1e-300
    loss = LOSSES[loss_name]
    y = rng.normal(size=n) if loss.task == "regression" else rng.choice([-1.0, 1.0], size=n)
    kappa = 0.0 if penalty == "l2" else 0.01
    penalty_of = ElasticNet(10.0 ** rng.uniform(-4.0, 0.5), kappa)
    weight = rng.choice([0.1, 1.0, 3.0], size=n)
    case = Case(intervals(table * scale, radius), y, weight, loss, penalty_of, rng.normal(size=(2, d)) / scale)
    return with_intercept(case) if number % 3 == 0 else case
