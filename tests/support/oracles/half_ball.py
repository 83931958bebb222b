"""thm-half-ball in plain loops, for one choice of the rows that adapt."""

from __future__ import annotations

import math


def half_ball(center, radii, y, weight, loss, lam, kappa, w, alpha, price):
    """Return two regions (center, box, radius): the rows' spread as a box, and as a ball."""
    n, d = len(center), len(w)
    total = math.fsum(weight)
    eps = row_norm = 0.0
    gradient, cell_box, row_box = [0.0] * d, [0.0] * d, [0.0] * d
    for i in range(n):
        score = sum(center[i][j] * w[j] for j in range(d))
        move = sum(radii[i][j] * abs(w[j]) for j in range(d))
        ends = [score - move, score + move]
        residual = max(loss.value(y[i], t) + loss.conjugate(y[i], alpha[i]) + alpha[i] * t for t in ends)
        low, high = loss.derivative(y[i], ends[0]), loss.derivative(y[i], ends[1])
        norm = math.sqrt(sum(x * x for x in center[i]))
        change = max(abs(low + alpha[i]), abs(high + alpha[i]))
        if change <= 1e-8 * abs(alpha[i]) or residual > price * change * norm:
            slope, spread = (low + high) / 2, (high - low) / 2
        else:
            slope, spread = -alpha[i], 0.0
            eps += weight[i] / total * residual
        row_norm += weight[i] / total * spread * norm
        for j in range(d):
            gradient[j] += weight[i] / total * slope * center[i][j]
            cell_box[j] += weight[i] / total * (abs(slope) + spread) * radii[i][j]
            row_box[j] += weight[i] / total * spread * abs(center[i][j])
    regions, norms = [], []
    for box, ball in (([c + r for c, r in zip(cell_box, row_box, strict=True)], 0.0), (cell_box, row_norm)):
        lows = [_subgradient(gradient[j] - box[j], w[j], lam, kappa) for j in range(d)]
        highs = [_subgradient(gradient[j] + box[j], w[j], lam, kappa) for j in range(d)]
        norms.append(math.sqrt(sum(max(abs(a), abs(b)) ** 2 for a, b in zip(lows, highs, strict=True))) + ball)
        middle = [w[j] - (lows[j] + highs[j]) / (4 * lam) for j in range(d)]
        half = [(highs[j] - lows[j]) / (4 * lam) for j in range(d)]
        regions.append((middle, half, ball / (2 * lam)))
    root = math.sqrt(min(norms) ** 2 / (4 * lam**2) + eps / lam)
    return [(middle, half, root + extra) for middle, half, extra in regions]


def _subgradient(gradient, weight, lam, kappa):
    if weight != 0.0 or kappa == 0.0:
        return gradient + lam * weight + kappa * math.copysign(1.0, weight) * (weight != 0.0)
    return math.copysign(max(abs(gradient) - kappa, 0.0), gradient)
