"""Exact minimisers: ball arithmetic for losses with derivatives of all orders, rationals for all others.

A float solver only guesses which signs and which pieces of the loss are right. The optimality conditions
are then solved and verified exactly; where the guess is wrong, every other pattern is tried.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat
from sklearn.exceptions import ConvergenceWarning

from ipub import IntervalMatrix
from ipub.losses import LOSSES, Loss
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows
from support.oracles.curved import MeanLoss, newton
from support.oracles.guesses import newton_guess
from support.oracles.losses import CurvedOracle, LineOracle, oracle_of
from support.oracles.rationals import Enclosure, as_float, ball_ends, exact_dot, rational, rational_rows, rationals
from support.oracles.shared import computed_once

T = TypeVar("T")
PRECISION = 320
"""Bits of the ball arithmetic."""


@dataclass(frozen=True)
class ExactModel:
    """The minimiser: each weight within `error` (zero for rational ones) of that of the rational point `w`."""

    w: list[fmpq]
    error: fmpq
    zeros: frozenset[int] = frozenset()
    """Weights that are zero exactly."""

    def score(self, x: Sequence[float]) -> Enclosure:
        """Enclose x.w between two rationals (equal ones where the minimiser is known exactly)."""
        row = rationals(x)
        value = exact_dot(row, self.w)
        # |x|_1 >= |x|_2
        reach = self.error * sum((abs(entry) for j, entry in enumerate(row) if j not in self.zeros), fmpq(0))
        return value - reach, value + reach

    def weight(self, j: int) -> Enclosure:
        """Enclose a weight."""
        return self.score([float(j == k) for k in range(len(self.w))])


@computed_once(ExactModel)
def exact_model(X, y, weight, loss: Loss | str, lam: float, kappa: float) -> ExactModel:
    """Minimise ``sum s_i loss(y_i, x_i.w) / sum s_i + lam/2 |w|^2 + kappa |w|_1`` exactly.

    A loss may be given by its name. Entries are floats or rationals; floats stand for the exact rationals they are.
    """
    loss = LOSSES[loss] if isinstance(loss, str) else loss
    oracle = oracle_of(loss)
    rows, labels = rational_rows(X), rationals(y)
    shares = rationals(np.ones(len(labels)) if weight is None else weight)
    total = sum(shares, fmpq(0))
    kept = [i for i, share in enumerate(shares) if share != 0]
    rows, labels, shares = ([part[i] for i in kept] for part in (rows, labels, shares))
    shares = [share / total for share in shares]
    parts = (rows, labels, shares, rational(lam), rational(kappa))
    guess = _float_minimiser(*parts, loss)
    return {"hinge": _hinge, "curved": _curved, "lines": _piecewise}[oracle.minimiser](*parts, guess, oracle)


def exact_scores(X, y, weight, loss: Loss | str, lam: float, kappa: float, X_test) -> list[Enclosure]:
    """Enclose the score of every test row under the exact minimiser."""
    model = exact_model(X, y, weight, loss, lam, kappa)
    return [model.score(x) for x in X_test]


def _float_minimiser(rows, labels, shares, lam, kappa, loss) -> np.ndarray:
    table = np.array([[as_float(entry) for entry in row] for row in rows])
    y, weight = np.array([as_float(v) for v in labels]), np.array([as_float(v) for v in shares])
    quick = newton_guess(table, y, weight, loss, as_float(lam), as_float(kappa))
    if quick is not None:
        return quick
    penalty = ElasticNet(as_float(lam), as_float(kappa))
    problem = Problem(MemoryRows(IntervalMatrix.from_bounds(table, table), y, weight), loss, penalty)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(problem, tol=1e-8, max_iter=20).w


def _sign_patterns(w: np.ndarray, kappa: fmpq) -> Iterator[tuple[int, ...]]:
    """Yield signs of the coordinates, the float guess first; without an l1 term every coordinate is free."""
    if kappa == 0:
        yield (1,) * len(w)
        return
    guess = tuple(int(sign) for sign in np.sign(w))
    yield from _by_changes(guess, [(-1, 0, 1)] * len(w))


def _by_changes(guess: Sequence[T], options: Sequence[Sequence[T]]) -> Iterator[tuple[T, ...]]:
    """Yield every choice of one option each: the guess, then those that differ from it in one place, in two, ..."""
    others = [[option for option in all_ if option != at] for at, all_ in zip(guess, options, strict=True)]
    for count in range(len(guess) + 1):
        for places in itertools.combinations(range(len(guess)), count):
            for changes in itertools.product(*(others[place] for place in places)):
                chosen = list(guess)
                for place, change in zip(places, changes, strict=True):
                    chosen[place] = change
                yield tuple(chosen)


def _solve(matrix: list[list[fmpq]], right: list[fmpq]) -> list[fmpq] | None:
    if not right:
        return []
    try:
        solution = fmpq_mat(matrix).solve(fmpq_mat([[value] for value in right]))
    except ZeroDivisionError:
        return None
    return [solution[k, 0] for k in range(len(right))]


def _signs_hold(w, signs, slope, lam, kappa) -> bool:
    """Verify ``0 in slope + lam w + kappa d|w|_1`` and the signs, exactly."""
    for value, sign, gradient in zip(w, signs, slope, strict=True):
        if kappa == 0:
            if gradient + lam * value != 0:
                return False
        elif sign == 0:
            if value != 0 or abs(gradient) > kappa:
                return False
        elif sign * value < 0 or gradient + lam * value + sign * kappa != 0:
            return False
    return True


def _piecewise(rows, labels, shares, lam, kappa, guess, oracle: LineOracle, n_free=0) -> ExactModel:
    """Try pieces of the derivative, one for each row, and signs of weights; the float guess first.

    The last `n_free` weights are not penalised. One of them, with a column of ones, has a system that is singular if
    no row lies on its line; but then some best value of it puts a row on the end of its line.
    """
    lines = [oracle.line(label) for label in labels]
    d = len(guess)
    strength = [lam] * (d - n_free) + [fmpq(0)] * n_free
    guessed = [line.piece(exact_dot(row, rationals(guess))) for row, line in zip(rows, lines, strict=True)]
    for names in _by_changes(guessed, [list(line.pieces) for line in lines]):
        pieces = [line.pieces[name] for line, name in zip(lines, names, strict=True)]
        for signs in _sign_patterns(guess[: d - n_free], kappa):
            w = _piecewise_candidate(rows, shares, strength, kappa, pieces, signs)
            if w is None:
                continue
            slopes = [line.slope(exact_dot(row, w)) for row, line in zip(rows, lines, strict=True)]
            gradient = [sum(s * p * row[j] for s, p, row in zip(shares, slopes, rows, strict=True)) for j in range(d)]
            is_level = all(slope == 0 for slope in gradient[d - n_free :])
            if is_level and _signs_hold(w[: d - n_free], signs, gradient[: d - n_free], lam, kappa):
                return ExactModel(w, fmpq(0))
    raise AssertionError("no pattern of pieces and signs satisfies the optimality conditions")


def _piecewise_candidate(rows, shares, strength, kappa, pieces, signs) -> list[fmpq] | None:
    """Solve the linear system that the optimum obeys if every row lies on its piece."""
    free = range(len(signs), len(strength))
    on = [*(j for j, sign in enumerate(signs) if sign), *free]
    steep = [share * growth for share, (_, growth) in zip(shares, pieces, strict=True)]
    flat = [share * level for share, (level, _) in zip(shares, pieces, strict=True)]
    matrix = [
        [sum((h * row[j] * row[k] for h, row in zip(steep, rows, strict=True)), strength[j] * int(j == k)) for k in on]
        for j in on
    ]
    l1 = [*(kappa * sign for sign in signs), *(fmpq(0) for _ in free)]
    right = [-sum((p * row[j] for p, row in zip(flat, rows, strict=True)), l1[j]) for j in on]
    solution = _solve(matrix, right)
    if solution is None:
        return None
    w = [fmpq(0)] * len(strength)
    for j, value in zip(on, solution, strict=True):
        w[j] = value
    return w


def _hinge(rows, labels, shares, lam, kappa, guess, oracle) -> ExactModel:
    """Try states of rows (dual 0, dual 1, or free on the kink) and signs of weights.

    Some pattern with linearly independent free rows is optimal (a vertex of the set of dual solutions), so
    patterns with a singular system may be skipped.
    """
    margins = [[label * entry for entry in row] for row, label in zip(rows, labels, strict=True)]
    guessed = [as_float(exact_dot(row, rationals(guess))) for row in margins]
    order = [_states_by_likelihood(margin) for margin in guessed]
    for ranks in ranks_of_states(len(rows)):
        state = [options[rank] for options, rank in zip(order, ranks, strict=True)]
        if state.count("free") > len(guess):
            continue
        for signs in _sign_patterns(guess, kappa):
            w = _hinge_candidate(margins, shares, lam, kappa, state, signs)
            if w is not None:
                return ExactModel(w, fmpq(0))
    raise AssertionError("no pattern of rows and signs satisfies the optimality conditions")


@functools.cache
def ranks_of_states(n: int) -> list[tuple[int, ...]]:
    """Return a rank of 0, 1 or 2 for each of n rows, in all ways: the likeliest for most rows first."""
    return sorted(itertools.product(range(3), repeat=n), key=sum)


def _states_by_likelihood(margin: float) -> tuple[str, str, str]:
    side = ("one", "zero") if margin < 1.0 else ("zero", "one")
    return ("free", *side) if abs(margin - 1.0) < 1e-3 else (side[0], "free", side[1])


def _hinge_candidate(margins, shares, lam, kappa, state, signs) -> list[fmpq] | None:
    """Solve for the weights that are on and the duals that are free; return the weights if all conditions hold."""
    d = len(signs)
    on = [j for j in range(d) if signs[j]]
    free = [i for i, name in enumerate(state) if name == "free"]
    ones = [i for i, name in enumerate(state) if name == "one"]
    matrix = [[lam if j == k else fmpq(0) for k in on] + [-shares[i] * margins[i][j] for i in free] for j in on] + [
        [margins[i][k] for k in on] + [fmpq(0)] * len(free) for i in free
    ]
    right = [
        sum((shares[i] * margins[i][j] for i in ones), fmpq(0)) - (kappa * signs[j] if kappa != 0 else 0) for j in on
    ]
    solution = _solve(matrix, right + [fmpq(1)] * len(free))
    if solution is None:
        return None
    w = [fmpq(0)] * d
    for j, value in zip(on, solution[: len(on)], strict=True):
        w[j] = value
    dual = [fmpq(name == "one") for name in state]
    for i, value in zip(free, solution[len(on) :], strict=True):
        dual[i] = value
    for margin, b in zip((exact_dot(row, w) for row in margins), dual, strict=True):
        if not 0 <= b <= 1 or (margin > 1 and b != 0) or (margin < 1 and b != 1):
            return None
    slope = [-sum(shares[i] * dual[i] * margins[i][j] for i in range(len(dual))) for j in range(d)]
    return w if _signs_hold(w, signs, slope, lam, kappa) else None


def _curved(rows, labels, shares, lam, kappa, guess, oracle: CurvedOracle) -> ExactModel:
    """Newton's method in high precision, then |w - w*| <= |subgradient| / lam in ball arithmetic."""
    with ctx.workprec(PRECISION):
        mean = MeanLoss([[arb(entry) for entry in row] for row in rows], labels, [arb(s) for s in shares], oracle)
        # An error that moves no score beside 1 and is nothing beside the slope at zero over lam: for weights of zero.
        largest = max(abs(entry) for row in rows for entry in row)
        nothing = min(largest / lam, 1 / largest) / 2**200 if largest != 0 else fmpq(0)
        best = None
        for signs in _sign_patterns(guess, kappa):
            w = newton(mean, [arb(lam)] * len(signs), [arb(kappa * sign) for sign in signs], signs, guess)
            error = ball_ends(least_subgradient(mean.gradient(w), arb(lam), arb(kappa), w) / arb(lam))[1]
            if best is None or error < best.error:
                best = ExactModel([ball_ends(entry)[0] for entry in w], error)
            size = max(abs(value) for value in best.w)
            if best.error <= max(size / 2**150, nothing):
                gradient = mean.gradient([arb(value) for value in best.w])
                return replace(best, zeros=proven_zeros(rows, shares, best, gradient, kappa, oracle))
    raise AssertionError("no pattern of signs gives the minimiser to high precision")


def proven_zeros(
    rows, shares, model: ExactModel, gradient: Sequence[arb], kappa: fmpq, oracle: CurvedOracle
) -> frozenset[int]:
    """Return the weights at which the slope of the mean loss stays below kappa wherever the minimiser is."""
    moves = [sum((abs(entry) for entry in row), fmpq(0)) * model.error * oracle.steepest for row in rows]
    zeros = set()
    for j, slope in enumerate(gradient):
        change = sum((s * abs(row[j]) * move for s, row, move in zip(shares, rows, moves, strict=True)), fmpq(0))
        if model.w[j] == 0 and abs(slope) + arb(change) < arb(kappa):
            zeros.add(j)
    return frozenset(zeros)


def least_subgradient(gradient: Sequence[arb], lam: arb, kappa: arb, w: Sequence[arb]) -> arb:
    """Bound the norm of the least subgradient of the objective from above."""
    squares = arb(0)
    for slope, value in zip(gradient, w, strict=True):
        if kappa.is_zero() or not value.is_zero():
            part = slope + lam * value + kappa * (1 if value > 0 else -1)
        else:
            part = arb.max(abs(slope) - kappa, arb(0))
        squares += part * part
    return arb(squares.upper()).sqrt()
