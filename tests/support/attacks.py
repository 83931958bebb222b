"""Attackers: completions chosen to break a bound, retrained, with the retrained model's own certified error.

A check is one retrained completion against one test row. Its only tolerance is the retrained model's
distance from the exact minimiser, proven in ball arithmetic; there is no other slack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from flint import arb, arb_mat, ctx

from ipub import IntervalMatrix
from ipub.certificates import CERTIFICATES, Certificate, certify_origin
from ipub.losses import Loss
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from support.cases import (
    FAMILIES,
    MODELS,
    Case,
    Generator,
    draw_case,
    draw_solution,
    train,
    vary_loss,
    with_intercept,
)
from support.certificates_once import parts_computed_once
from support.oracles.active_set import HingePair, hinge_pair, hinge_pair_like
from support.oracles.intercept import hinge_ends, intercept_ball, smooth_ends
from support.oracles.losses import SmoothOracle, oracle_of
from support.oracles.rationals import rational

ATTACKED: dict[str, Callable[[Problem, Solution], Certificate]] = {**CERTIFICATES, "origin": certify_origin}
del ATTACKED["pointwise"]  # another name for "tight"
PRECISION = 160
"""Bits of the ball arithmetic that proves the error of a retrained model."""


@dataclass
class Tally:
    """What an attack did, and every bound that it broke."""

    checks: int = 0
    retrainings: int = 0
    adversarial_checks: int = 0
    adversarial_retrainings: int = 0
    aimed_checks: int = 0
    """Checks of the very row and side that the completion was chosen for."""
    sharp_checks: int = 0
    """Checks whose tolerance is below a hundredth of the width of the tight bound."""
    violations: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, int]:
        parts = {name: value for name, value in vars(self).items() if name != "violations"}
        return {**parts, "violations": len(self.violations)}


@dataclass(frozen=True)
class Completion:
    """A completed table, and what it was chosen for: (test row, side), or None for a random one."""

    table: np.ndarray
    aim: tuple[int, int] | None = None


@dataclass(frozen=True)
class Retrained:
    """A model of one completion: the scores of the exact minimiser lie within these floats."""

    w: np.ndarray
    slopes: np.ndarray
    """The derivative of the loss at each row (for the hinge: the negated dual)."""
    lowest: np.ndarray
    highest: np.ndarray


def place(matrix: IntervalMatrix, positions: np.ndarray) -> np.ndarray:
    """Return the completion at ``center + positions * radius``, each cell provably inside its interval."""
    table = matrix.completion(positions)
    in_row, columns, centers, radii = matrix.cells(slice(0, matrix.shape[0]))
    for i, j, center, radius in zip(in_row, columns, centers, radii, strict=True):
        if abs(rational(table[i, j]) - rational(center)) > rational(radius):
            table[i, j] = center
    return table


def retrain(case: Case, table: np.ndarray, start: Retrained | None = None) -> Retrained:
    """Train on a completed table and enclose the scores of the exact minimiser."""
    with ctx.workprec(PRECISION):
        method = _retrain_hinge if oracle_of(case.loss).minimiser == "hinge" else _retrain_smooth
        w, slopes, error = method(case, table, start)
        scores = arb_mat(case.X_test.tolist()) * arb_mat([[value] for value in w])
        lowest, highest, d = [], [], table.shape[1]
        # The best intercept moves no more than the scores of the rows do.
        longest = max(_norm(row).upper() for row in table.tolist()) if case.penalty.n_free else arb(0)
        for k, x in enumerate(case.X_test.tolist()):
            reach = _norm(x[:d]) * error
            if case.penalty.n_free:
                reach += abs(arb(x[d])) * longest * error
            lowest.append(np.nextafter(float((scores[k, 0] - reach).lower()), -np.inf))
            highest.append(np.nextafter(float((scores[k, 0] + reach).upper()), np.inf))
    return Retrained(np.array([float(value) for value in w]), slopes, np.array(lowest), np.array(highest))


def _norm(vector: list[float]) -> arb:
    return sum((arb(value) ** 2 for value in vector), arb(0)).sqrt()


def best_intercept(case: Case, table: np.ndarray, w: list[arb]) -> arb:
    """Enclose a best intercept for the other weights, which come first; the last number is a guess."""
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    scores = arb_mat(table.tolist()) * arb_mat([[value] for value in w[:-1]])
    oracle = oracle_of(case.loss)
    ends = smooth_ends(oracle.slope_ball) if isinstance(oracle, SmoothOracle) else hinge_ends
    labels, shares = case.y.tolist(), [arb(s) for s in weight.tolist()]
    return intercept_ball(ends, labels, shares, [scores[i, 0] for i in range(len(labels))], w[-1])


def _retrain_smooth(case: Case, table: np.ndarray, start: Retrained | None) -> tuple[list[arb], np.ndarray, arb]:
    problem = case.problem_on(IntervalMatrix.from_bounds(table, table))
    solution = train(problem, start=None if start is None else start.w)
    w = [arb(value) for value in solution.w.tolist()]
    if case.penalty.n_free:
        w[-1] = best_intercept(case, table, w)
    slopes = case.loss.derivative(case.y, case.extended(table) @ solution.w)
    return w, slopes, certified_error(case, table, w, [arb(0)] * len(case.y))


def _retrain_hinge(case: Case, table: np.ndarray, start: Retrained | None) -> tuple[list[arb], np.ndarray, arb]:
    """Solve the optimality conditions; where that fails take the solver, whose error is the root of its gap."""
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    penalty = case.penalty
    b = np.ones(len(case.y)) if start is None else -start.slopes * case.y
    if penalty.n_free:
        problem = case.problem_on(IntervalMatrix.from_bounds(table, table))
        solution = train(problem, start=None if start is None else start.w)
        b = np.clip(np.concatenate([solution.dual_point(block) for block in problem.rows.blocks()]) * case.y, 0.0, 1.0)
        pair = hinge_pair_like(table, case.y, weight / weight.sum(), penalty.lam, penalty.kappa, b, solution.w)
    else:
        pair = hinge_pair(table, case.y, weight / weight.sum(), penalty.lam, penalty.kappa, b)
    error = None if pair is None else certified_error(case, table, pair.w, pair.b)
    if error is None or not error < 1e-6 * max([1e-3, *(abs(float(value)) for value in pair.w)]):
        problem = case.problem_on(IntervalMatrix.from_bounds(table, table))
        solution = train(problem, tol=1e-10, start=None if start is None else start.w)
        b = np.clip(np.concatenate([solution.dual_point(block) for block in problem.rows.blocks()]) * case.y, 0.0, 1.0)
        solved = HingePair([arb(value) for value in solution.w.tolist()], [arb(value) for value in b.tolist()])
        solved_error = certified_error(case, table, solved.w, solved.b)
        if error is None or solved_error < error:
            pair, error = solved, solved_error
    if penalty.n_free:
        pair = replace(pair, w=[*pair.w[:-1], best_intercept(case, table, pair.w)])
    return pair.w, -case.y * np.array([float(value) for value in pair.b]), error


def certified_error(case: Case, table: np.ndarray, w: list[arb], dual: list[arb]) -> arb:
    """Bound |w - exact minimiser|: least subgradient over lam if smooth, else thm-sphere with zero radii.

    An intercept is left out of the norm; for a smooth loss it must be a best one for the other weights.
    `dual` matters for the hinge only: numbers in [0, 1], one a row.
    """
    weight = np.ones(len(case.y)) if case.weight is None else case.weight
    total = sum((arb(s) for s in weight.tolist()), arb(0))
    rows = arb_mat(case.extended(table).tolist())
    scores = rows * arb_mat([[value] for value in w])
    slopes, residual = [], arb(0)
    for i, (y, s) in enumerate(zip(case.y.tolist(), weight.tolist(), strict=True)):
        slope, paid = _slope(case.loss, y, scores[i, 0], dual[i])
        slopes.append(slope * s / total)
        residual += paid * s / total
    gradient = rows.transpose() * arb_mat([[slope] for slope in slopes])
    lam, kappa = arb(case.penalty.lam), arb(case.penalty.kappa)
    squares = arb(0)
    for j, value in enumerate(w[: table.shape[1]]):
        if value.is_zero():
            part = arb.max(abs(gradient[j, 0]) - kappa, arb(0))
        else:
            part = gradient[j, 0] + lam * value + (kappa if value > 0 else -kappa)
        squares += part * part
    norm = arb(squares.upper()).sqrt()
    if case.loss.is_smooth:
        return arb((norm / lam).upper())
    if case.penalty.n_free:
        # Both classes are there, so no best intercept is farther from zero than 1 and the largest score.
        intercept_limit = abs(w[-1]) + 1 + max(_norm(row).upper() for row in table.tolist()) / lam.sqrt()
        residual += abs(gradient[table.shape[1], 0]) * intercept_limit
    root = ((norm / (2 * lam)) ** 2 + arb(residual.upper()) / lam).sqrt()
    return arb((norm / (2 * lam) + root).upper())


def _slope(loss: Loss, y: float, score: arb, b: arb) -> tuple[arb, arb]:
    """Return a negated dual coordinate and its Fenchel-Young residual, which is zero where the loss is smooth."""
    oracle = oracle_of(loss)
    if isinstance(oracle, SmoothOracle):
        return oracle.slope_ball(y, score), arb(0)
    z = 1 - y * score
    return -b * y, arb.max(z * (1 - b), -b * z)


def derivatives(rng: Generator, case: Case, table: np.ndarray, model: Retrained, x: np.ndarray) -> np.ndarray:
    """Return d(x.w) / d(cell) for every uncertain cell, at the model of a completed table.

    ``-(s_i / sum s) [psi_i u_j + psi'_i (x_i.u) w_j]`` with ``u = H^-1 x``, on the support of w if there is an
    l1 term. For the hinge the curvature is that of a smoothed hinge of a random width.
    """
    w, y, slope = model.w, case.y, model.slopes
    share = np.ones(len(y)) if case.weight is None else case.weight
    share = share / share.sum()
    table = case.extended(table)
    score = table @ w
    smooth = case.loss if case.loss.is_smooth else case.loss.smoothed(10.0 ** rng.uniform(-4, 0))
    curvature = smooth.curvature(y, score)
    on = np.flatnonzero((w != 0.0) | (case.penalty.kappa_vector(len(w)) == 0.0))
    u = np.zeros_like(w)
    if len(on):
        part = table[:, on]
        hessian = (part * (share * curvature)[:, None]).T @ part + np.diag(case.penalty.lam_vector(len(w))[on])
        u[on] = np.linalg.lstsq(hessian, x[on], rcond=None)[0]
    in_row, columns, _, _ = case.matrix.cells(slice(0, len(y)))
    effect = slope[in_row] * u[columns] + (curvature * (table @ u))[in_row] * w[columns]
    return -share[in_row] * effect


def random_completions(rng: Generator, case: Case, count: int) -> Iterator[Completion]:
    """Yield uniformly random completions and random vertices in turn."""
    for k in range(count):
        positions = rng.uniform(-1.0, 1.0, size=case.matrix.n_uncertain)
        yield Completion(place(case.matrix, positions if k % 2 else np.sign(positions)))


def attack(
    rng: Generator,
    case: Case,
    solution: Solution,
    tally: Tally,
    rounds: int = 2,
    certificates: dict[str, Callable[[Problem, Solution], Certificate]] | None = None,
) -> None:
    """Attack every certificate of a solution: as many random completions as aimed ones, all rows checked."""
    problem = case.problem
    with parts_computed_once() as once:
        bounds = {
            name: once(make)(problem, solution).score_bounds(case.X_test)
            for name, make in (certificates or ATTACKED).items()
        }
    for name, ends in bounds.items():
        if not (ends[:, 0] <= ends[:, 1]).all():
            tally.violations.append(f"{name}: lower above upper")
    center = place(case.matrix, np.zeros(case.matrix.n_uncertain))
    reference = retrain(case, center)
    _check(case, bounds, Completion(center), reference, tally)
    for row, x in enumerate(case.X_test):
        for side in (-1, 1):
            table, here = center, reference
            for _ in range(rounds):
                effect = derivatives(rng, case, table, here, x)
                flat = rng.choice([-1.0, 1.0], size=len(effect))
                table = place(case.matrix, np.where(effect == 0.0, flat, np.sign(effect) * side))
                here = retrain(case, table, start=here)
                _check(case, bounds, Completion(table, (row, side)), here, tally)
    for completion in random_completions(rng, case, 2 * rounds * len(case.X_test) - 1):
        _check(case, bounds, completion, retrain(case, completion.table, start=reference), tally)


def _check(case: Case, bounds: dict[str, np.ndarray], completion: Completion, model: Retrained, tally: Tally) -> None:
    m = len(case.X_test)
    tally.retrainings += 1
    tally.checks += m
    if completion.aim is not None:
        tally.adversarial_retrainings += 1
        tally.adversarial_checks += m
        tally.aimed_checks += 1
    if "tight" in bounds:
        width = bounds["tight"][:, 1] - bounds["tight"][:, 0]
        tally.sharp_checks += int(((model.highest - model.lowest) / 2.0 < 0.01 * width).sum())
    for name, ends in bounds.items():
        outside = (ends[:, 0] > model.highest) | (ends[:, 1] < model.lowest) | np.isnan(ends).any(axis=1)
        for k in np.flatnonzero(outside):
            tally.violations.append(
                f"{name}, test row {k}: bound [{ends[k, 0]!r}, {ends[k, 1]!r}], a completion has its exact score in "
                f"[{model.lowest[k]!r}, {model.highest[k]!r}]; case {case!r}, completion {completion.table.tolist()}"
            )


def attack_family(
    seed: int, family: str, loss_name: str, penalty: str, problems: int, rounds: int = 2, intercept: bool = False
) -> Tally:
    """Attack several problems of a family, each with another kind of model."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family), len(loss_name), len(penalty)])
    tally = Tally()
    for _ in range(problems):
        case = vary_loss(rng, draw_case(rng, family, loss_name, penalty))
        case = with_intercept(case) if intercept else case
        solution = draw_solution(rng, case, str(rng.choice(MODELS)))
        attack(rng, case, solution, tally, rounds)
    return tally
