"""Exact minimisers with an unpenalised intercept, the last coordinate; the other weights come first.

``Phi(w) = min_b P(w, b)`` is lam-strongly convex, and its gradient is that of P in w at the best b. So a point w,
an enclosure of its best b and a small gradient there say how close w is; and the best b of a model moves no more
than the scores do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from flint import arb, ctx, fmpq
from sklearn.exceptions import ConvergenceWarning

from ipub import IntervalMatrix
from ipub.losses import LOSSES, Loss
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, with_intercept_column
from support.oracles.curved import MeanLoss, newton
from support.oracles.exact import (
    PRECISION,
    ExactModel,
    _piecewise,
    _sign_patterns,
    _signs_hold,
    _solve,
    least_subgradient,
    proven_zeros,
    ranks_of_states,
)
from support.oracles.guesses import newton_guess
from support.oracles.losses import CurvedOracle, oracle_of
from support.oracles.rationals import as_float, ball_ends, exact_dot, rational, rational_rows, rationals
from support.oracles.shared import computed_once

Ends = tuple[arb, arb]


def hinge_ends(y: float, score: arb) -> Ends:
    """Return the least and the greatest subderivative of the hinge over a ball."""
    margin = y * score
    low, high = (-1 if not margin > 1 else 0), (0 if not margin < 1 else -1)
    return (arb(low), arb(high)) if y > 0 else (arb(-high), arb(-low))


def smooth_ends(slope: Callable[[float, arb], arb]) -> Callable[[float, arb], Ends]:
    """Return the same for a smooth loss: the derivative over a ball is itself a ball."""
    return lambda y, score: (slope(y, score),) * 2


def intercept_ball(
    ends: Callable[[float, arb], Ends], y: list[float], weight: list[arb], scores: list[arb], guess: arb
) -> arb:
    """Enclose a b for which 0 is a subderivative of ``sum_i weight_i l(y_i, score_i + b)``."""

    def total(b: arb) -> Ends:
        parts = [ends(label, score + b) for label, score in zip(y, scores, strict=True)]
        low = sum((s * part[0] for s, part in zip(weight, parts, strict=True)), arb(0))
        if all(part[0] is part[1] for part in parts):
            return low, low
        return low, sum((s * part[1] for s, part in zip(weight, parts, strict=True)), arb(0))

    starts: Iterable[arb]
    if ends is hinge_ends:
        kinks = (label - score for label, score in zip(y, scores, strict=True))
        starts = [*sorted(kinks, key=lambda b: abs(float(b - guess))), guess]
    else:
        starts = (find(total, guess) for find in (_newton, _bisected))
    for start in starts:
        distance = arb(2) ** (-3 * ctx.prec // 4) * (abs(start) + arb(2) ** -20)
        for _ in range(3):
            if total(start - distance)[1] <= 0 and total(start + distance)[0] >= 0:
                return arb(start.mid(), arb((distance + start.rad()).upper()))
            distance *= 2**20
    raise AssertionError("no intercept found")


def _newton(total: Callable[[arb], Ends], b: arb) -> arb:
    step = arb(2) ** (-ctx.prec // 3)
    for _ in range(6):
        here, there = total(b)[0], total(b + step)[0]
        if not there > here:
            break
        move = here * step / (there - here)
        b = (b - move).mid()
        # What is left is about this move times `step`, far less than the distance at which it is verified.
        if abs(move) <= arb(2) ** (-ctx.prec // 2) * (abs(b) + arb(2) ** -20):
            break
    return b


def _bisected(total: Callable[[arb], Ends], b: arb) -> arb:
    """Halve an interval between derivatives of different signs: Newton's method may not end where slopes jump."""
    b, reach = b.mid(), arb(2) ** -40
    while not (total(b - reach)[1] <= 0 and total(b + reach)[0] >= 0):
        reach *= 2
    low, high = (b - reach).mid(), (b + reach).mid()
    for _ in range(2 * ctx.prec):
        middle = ((low + high) / 2).mid()
        least, greatest = total(middle)
        if greatest <= 0:
            low = middle
        elif least >= 0:
            high = middle
        else:
            return middle
    return ((low + high) / 2).mid()


@computed_once(ExactModel)
def exact_intercept_model(X, y, weight, loss: Loss | str, lam: float, kappa: float) -> ExactModel:
    """Minimise ``sum s_i loss(y_i, x_i.w + b) / sum s_i + lam/2 |w|^2 + kappa |w|_1`` exactly.

    Where several b are optimal, one of them is returned. A loss may be given by its name.
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
    return {"hinge": _hinge, "curved": _curved, "lines": _lines}[oracle.minimiser](*parts, guess, oracle)


def _float_minimiser(rows, labels, shares, lam, kappa, loss) -> np.ndarray:
    table = np.array([[as_float(entry) for entry in row] for row in rows])
    y, weight = np.array([as_float(v) for v in labels]), np.array([as_float(v) for v in shares])
    ones = np.ones((len(table), 1))
    quick = newton_guess(np.hstack([table, ones]), y, weight, loss, as_float(lam), as_float(kappa), n_free=1)
    if quick is not None:
        return quick
    data = with_intercept_column(MemoryRows(IntervalMatrix.from_bounds(table, table), y, weight))
    penalty = ElasticNet(as_float(lam), as_float(kappa), n_free=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(Problem(data, loss, penalty), tol=1e-8, max_iter=100).w


def _lines(rows, labels, shares, lam, kappa, guess, oracle) -> ExactModel:
    return _piecewise([[*row, fmpq(1)] for row in rows], labels, shares, lam, kappa, guess, oracle, n_free=1)


def _hinge(rows, labels, shares, lam, kappa, guess, oracle) -> ExactModel:
    """Try states of rows and signs of weights, as without intercept.

    The best intercepts form an interval whose ends put a row on the kink; there some pattern with at least one free
    row, and linearly independent ones, is optimal.
    """
    margins = [[label * entry for entry in [*row, fmpq(1)]] for row, label in zip(rows, labels, strict=True)]
    for state in _states(margins, guess):
        for signs in _sign_patterns(guess[:-1], kappa):
            w = _hinge_candidate(margins, shares, lam, kappa, state, signs)
            if w is not None:
                return ExactModel(w, fmpq(0))
    raise AssertionError("no pattern of rows and signs satisfies the optimality conditions")


def _states(margins, guess) -> Iterator[list[str]]:
    order = []
    for row in margins:
        margin = as_float(exact_dot(row, rationals(guess)))
        side = ("one", "zero") if margin < 1.0 else ("zero", "one")
        order.append(("free", *side) if abs(margin - 1.0) < 1e-3 else (side[0], "free", side[1]))
    for ranks in ranks_of_states(len(margins)):
        state = [options[rank] for options, rank in zip(order, ranks, strict=True)]
        if 1 <= state.count("free") <= len(guess):
            yield state


def _hinge_candidate(margins, shares, lam, kappa, state, signs) -> list[fmpq] | None:
    """Solve for the weights that are on, the intercept and the free duals; return the weights if they are optimal."""
    d = len(signs)
    on = [*(j for j in range(d) if signs[j]), d]
    free = [i for i, name in enumerate(state) if name == "free"]
    ones = [i for i, name in enumerate(state) if name == "one"]
    strength = [lam] * d + [fmpq(0)]
    matrix = [
        [strength[j] if j == k else fmpq(0) for k in on] + [-shares[i] * margins[i][j] for i in free] for j in on
    ] + [[margins[i][k] for k in on] + [fmpq(0)] * len(free) for i in free]
    right = [
        sum((shares[i] * margins[i][j] for i in ones), fmpq(0)) - (kappa * signs[j] if kappa != 0 and j < d else 0)
        for j in on
    ]
    solution = _solve(matrix, right + [fmpq(1)] * len(free))
    if solution is None:
        return None
    w = [fmpq(0)] * (d + 1)
    for j, value in zip(on, solution[: len(on)], strict=True):
        w[j] = value
    dual = [fmpq(name == "one") for name in state]
    for i, value in zip(free, solution[len(on) :], strict=True):
        dual[i] = value
    for margin, b in zip((exact_dot(row, w) for row in margins), dual, strict=True):
        if not 0 <= b <= 1 or (margin > 1 and b != 0) or (margin < 1 and b != 1):
            return None
    slope = [-sum(shares[i] * dual[i] * margins[i][j] for i in range(len(dual))) for j in range(d + 1)]
    return w if slope[d] == 0 and _signs_hold(w[:d], signs, slope[:d], lam, kappa) else None


def _curved(rows, labels, shares, lam, kappa, guess, oracle: CurvedOracle) -> ExactModel:
    """Newton's method in high precision, then the distance from the minimiser by the gradient of Phi."""
    with ctx.workprec(PRECISION):
        ones, d = [[*row, fmpq(1)] for row in rows], len(guess) - 1
        mean = MeanLoss([[arb(entry) for entry in row] for row in ones], labels, [arb(s) for s in shares], oracle)
        largest = max(sum((entry**2 for entry in row[:d]), arb(0)).sqrt().upper() for row in mean.table)
        for signs in _sign_patterns(guess[:d], kappa):
            l1 = [*(arb(kappa * sign) for sign in signs), arb(0)]
            *w, b = newton(mean, [arb(lam)] * d + [arb(0)], l1, [*signs, 1], guess)
            scores = [sum((x * value for x, value in zip(row[:d], w, strict=True)), arb(0)) for row in mean.table]
            try:
                b = intercept_ball(smooth_ends(oracle.slope_ball), labels, mean.weight, scores, b)
            except AssertionError:
                continue
            gradient = mean.gradient([*w, b])[:d]
            error = least_subgradient(gradient, arb(lam), arb(kappa), w) / arb(lam)
            both = ball_ends(arb.max(error, largest * error + b.rad()))[1]
            if both < fmpq(1, 2**80):
                model = ExactModel([ball_ends(value)[0] for value in [*w, b.mid()]], both)
                return replace(model, zeros=proven_zeros(ones, shares, model, gradient, kappa, oracle))
    raise AssertionError("no pattern of signs gives the minimiser to high precision")
