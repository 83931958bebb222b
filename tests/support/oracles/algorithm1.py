"""Algorithm 1 of the paper, transcribed line by line: plain loops, the paper's names, no vectorisation.

The row weights ``s_i / sum s`` stand where the paper has 1/n, which they equal when all weights are 1. A loss is its
exact oracle, rounded to floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from support.oracles.losses import LossOracle, oracle_of
from support.oracles.rationals import as_float


def penalty_value(w: float, lam: float, kappa: float) -> float:
    return lam / 2.0 * w * w + kappa * abs(w)


def penalty_conjugate(q: float, lam: float, kappa: float) -> float:
    excess = abs(q) - kappa
    return excess * excess / (2.0 * lam) if excess > 0.0 else 0.0


def algorithm1_delta(
    x_lower: Sequence[Sequence[float]],
    x_upper: Sequence[Sequence[float]],
    x: Sequence[Sequence[float]],
    y: Sequence[float],
    s: Sequence[float],
    loss: LossOracle,
    lam: float,
    kappa: float,
    w: Sequence[float],
    alpha: Sequence[float],
) -> float:
    """Return the Delta of Algorithm 1, which takes (w, alpha) to be optimal and so has no duality gap."""
    n, d = len(x), len(w)
    total = math.fsum(s)
    delta = 0.0
    for i in range(n):
        p = 0.0
        for j in range(d):
            p += w[j] * x[i][j]
        p_minus = p
        p_plus = p
        for j in range(d):
            if x_lower[i][j] == x_upper[i][j]:
                continue
            p_minus += (w[j] * x_lower[i][j] if w[j] > 0.0 else w[j] * x_upper[i][j]) - w[j] * x[i][j]
            p_plus += (w[j] * x_upper[i][j] if w[j] > 0.0 else w[j] * x_lower[i][j]) - w[j] * x[i][j]
        worst = max(as_float(loss.value(y[i], p_minus)), as_float(loss.value(y[i], p_plus)))
        delta += s[i] / total * (worst - as_float(loss.value(y[i], p)))
    for j in range(d):
        q = 0.0
        for i in range(n):
            q += s[i] / total * alpha[i] * x[i][j]
        q_minus = q
        q_plus = q
        for i in range(n):
            if x_lower[i][j] == x_upper[i][j]:
                continue
            share = s[i] / total * alpha[i]
            q_minus += (share * x_lower[i][j] if alpha[i] > 0.0 else share * x_upper[i][j]) - share * x[i][j]
            q_plus += (share * x_upper[i][j] if alpha[i] > 0.0 else share * x_lower[i][j]) - share * x[i][j]
        worst = max(penalty_conjugate(q_minus, lam, kappa), penalty_conjugate(q_plus, lam, kappa))
        delta += worst - penalty_conjugate(q, lam, kappa)
    return delta


def duality_gap(
    x: Sequence[Sequence[float]],
    y: Sequence[float],
    s: Sequence[float],
    loss: LossOracle,
    lam: float,
    kappa: float,
    w: Sequence[float],
    alpha: Sequence[float],
) -> float:
    """Return ``P(w) - D(alpha)`` at the center, term by term."""
    n, d = len(x), len(w)
    total = math.fsum(s)
    primal = 0.0
    dual = 0.0
    for i in range(n):
        p = 0.0
        for j in range(d):
            p += w[j] * x[i][j]
        primal += s[i] / total * as_float(loss.value(y[i], p))
        dual -= s[i] / total * as_float(loss.conjugate(y[i], alpha[i]))
    for j in range(d):
        q = 0.0
        for i in range(n):
            q += s[i] / total * alpha[i] * x[i][j]
        primal += penalty_value(w[j], lam, kappa)
        dual -= penalty_conjugate(q, lam, kappa)
    return primal - dual


def loop_gap(case, solution) -> tuple[float, float]:
    """Return Delta of Algorithm 1 and the duality gap, from plain loops."""
    n = len(case.y)
    center = case.matrix.center_rows(slice(0, n))
    radius = case.matrix.radius.toarray()
    weight = np.ones(n) if case.weight is None else case.weight
    # The same dual point to the last bit: a narrowly smoothed hinge magnifies the rounding of a score.
    alpha = solution.dual_point(next(case.problem.rows.blocks()))
    model = (
        case.y.tolist(), weight.tolist(), oracle_of(case.loss), case.penalty.lam, case.penalty.kappa,
        solution.w.tolist(), alpha.tolist(),
    )  # fmt: skip
    delta = algorithm1_delta((center - radius).tolist(), (center + radius).tolist(), center.tolist(), *model)
    return delta, duality_gap(center.tolist(), *model)
