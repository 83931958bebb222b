"""Exact values of losses and penalties, and the floats at which outward rounding is put to the test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from flint import arb, ctx, fmpq

from ipub.losses import Loss
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import dot_bounds, midpoint_and_radius, norm_upper, sum_error, sum_upper
from support.oracles.losses import Exact, oracle_of
from support.oracles.rationals import exact_dot, rational, rationals

PRECISION = 1200
"""Bits enough for 1 - b at subnormal b."""
EDGES = [0.0, 5e-324, 1e-310, 2.3e-308, 1e-300, 1e-200, 1e-100, 1e-30, 1e-17, 1.1e-16, 1e-10, 1e-3, 0.1, 0.5]
SIZES = [*EDGES, 1.0 - 2.0**-53, 1.0, 1.0 + 2.0**-52, 1.5, 3.0, 20.0, 36.0, 37.5, 100.0, 709.0, 745.2, 800.0, 1e5]


def scores(rng: np.random.Generator, huge: bool = False) -> np.ndarray:
    """Return scores of every size and both signs."""
    drawn = np.concatenate([rng.normal(size=150) * 3, 10.0 ** rng.uniform(-20, 3, size=100), rng.uniform(-40, 40, 100)])
    positive = np.concatenate([SIZES, drawn, [1e16, 1e100, 1e140] if huge else []])
    return np.unique(np.concatenate([positive, -positive]))


def duals(rng: np.random.Generator, loss: Loss) -> np.ndarray:
    """Return numbers in the domain of the conjugate and its ends; both ends of [0, 1] in detail."""
    low, high = oracle_of(loss).domain
    if (low, high) != (0.0, 1.0):
        drawn = scores(rng) * (high if np.isfinite(high) else 1.0)
        drawn = np.append(drawn if low < 0.0 else np.abs(drawn), [end for end in (low, high) if np.isfinite(end)])
        return drawn[(low <= drawn) & (drawn <= high)]
    small = [size for size in EDGES if size <= 0.5]
    near_one = [1.0 - 2.0**-k for k in (1, 2, 10, 30, 52, 53)]
    drawn = np.concatenate(
        [rng.uniform(size=100), 10.0 ** rng.uniform(-30, 0, size=50), 1 - 10.0 ** rng.uniform(-16, 0, 50)]
    )
    return np.unique(np.concatenate([small, near_one, [1.0], drawn]))


def targets(rng: np.random.Generator, loss: Loss) -> list[float]:
    return [-1.0, 1.0] if loss.task == "classification" else [0.0, 1.0, -3.5, 1e-8, 1e6, float(rng.normal())]


def exact_residual(loss: Loss, y: float, t: float, a: float) -> Exact:
    oracle = oracle_of(loss)
    value, conjugate = oracle.value(y, t), oracle.conjugate(y, a)
    product = rational(a) * rational(t)
    return value + conjugate + (product if isinstance(value, fmpq) else arb(product))


def is_above(bound: float, exact: Exact) -> bool:
    """Say whether ``bound >= exact`` is proven."""
    if np.isnan(bound) or bound == -np.inf:
        return False
    return bound == np.inf or bool((rational(bound) if isinstance(exact, fmpq) else arb(float(bound))) >= exact)


def is_below(bound: float, exact: Exact) -> bool:
    return is_above(-bound, -exact)


def wrong_values(loss: Loss) -> Iterator[str]:
    """Yield every score at which `value_upper` is not proven to be above the value."""
    rng = np.random.default_rng(1)
    t = scores(rng, huge=True)
    for y in targets(rng, loss):
        yield from _not_above(
            loss.value_upper(np.full_like(t, y), t), lambda k, y=y: oracle_of(loss).value(y, t[k]), "value"
        )


def wrong_conjugates(loss: Loss) -> Iterator[str]:
    rng = np.random.default_rng(2)
    for y in targets(rng, loss):
        a = duals(rng, loss) * (y if loss.task == "classification" else 1.0)
        bounds = loss.conjugate_upper(np.full_like(a, y), a)
        yield from _not_above(bounds, lambda k, y=y, a=a: oracle_of(loss).conjugate(y, a[k]), "conjugate")


def wrong_residuals(loss: Loss) -> Iterator[str]:
    """Pairs at random, and pairs where the dual is the rounded derivative, so that everything cancels."""
    rng = np.random.default_rng(3)
    for y in targets(rng, loss):
        t = scores(rng)
        b = duals(rng, loss) * (y if loss.task == "classification" else 1.0)
        for a in (rng.choice(b, size=len(t)), -loss.derivative(np.full_like(t, y), t)):
            bounds = loss.residual_upper(np.full_like(t, y), t, a)
            yield from _not_above(bounds, lambda k, y=y, t=t, a=a: exact_residual(loss, y, t[k], a[k]), "residual")


def wrong_residuals_between(loss: Loss) -> Iterator[str]:
    """Yield every short interval of scores with a residual above `residual_upper_between`, at one of its ends.

    The dual is the rounded derivative at a score nearby. Rows are given at once: all near, and near and far together.
    """
    rng = np.random.default_rng(10)
    short, any_ = [1e-10, 1e-9, 3e-9], [0.0, 1e-12, 1e-9, 1e-3, 2.0]
    for y, widths in itertools.product(targets(rng, loss), ((short, short), ([0.0], short), (any_, any_))):
        t = np.concatenate([rng.normal(size=30), kinks(loss, y), [y, 0.0]])
        back, move = (rng.choice(each, size=len(t)) for each in widths)
        lower, upper, label = t - back, t + move, np.full_like(t, y)
        a = -loss.derivative(label, t)
        bounds = loss.residual_upper_between(label, lower, upper, a)
        for ends in (lower, upper):
            yield from _not_above(
                bounds, lambda k, y=y, t=ends, a=a: exact_residual(loss, y, t[k], a[k]), "residual between"
            )


def wrong_near(loss: Loss) -> Iterator[str]:
    """Yield every short interval of scores with a derivative outside `derivative_midpoint_and_radius`."""
    rng = np.random.default_rng(11)
    for y in targets(rng, loss):
        t = np.concatenate([rng.normal(size=100) * 3.0, kinks(loss, y), [y, 0.0, 40.0, -40.0]])
        lower = t - rng.choice([0.0, 1e-15, 1e-9, 0.1, 1.0], size=len(t))
        upper = t + rng.choice([0.0, 1e-15, 1e-9, 0.1, 1.0], size=len(t))
        c, e = loss.derivative_midpoint_and_radius(np.full_like(t, y), lower, upper)
        with ctx.workprec(PRECISION):
            for k, at in itertools.product(range(len(t)), (lower, t, upper)):
                for slope in oracle_of(loss).slopes(y, at[k]):
                    if not (is_above(e[k], slope - rational(c[k])) and is_above(e[k], rational(c[k]) - slope)):
                        yield f"slope {slope} of {loss.name} is not within {e[k]!r} of {c[k]!r}"


def wrong_slopes(loss: Loss) -> Iterator[str]:
    """Yield every interval of scores with a derivative outside `derivative_range`, at its ends or inside."""
    rng = np.random.default_rng(4)
    for y in targets(rng, loss):
        t = scores(rng)
        for lower, upper in ((t, t), (t[:-1], t[1:]), tuple(np.sort(rng.choice(t, size=(2, 300)), axis=0))):
            low, high = loss.derivative_range(np.full_like(lower, y), lower, upper)
            with ctx.workprec(PRECISION):
                for k in range(len(lower)):
                    middle = 0.5 * lower[k] + 0.5 * upper[k]
                    for slope in [s for at in (lower[k], middle, upper[k]) for s in oracle_of(loss).slopes(y, at)]:
                        if not (is_below(low[k], slope) and is_above(high[k], slope)):
                            yield f"slope {slope} of {loss.name} outside [{low[k]!r}, {high[k]!r}]"


def wrong_curvatures(loss: Loss) -> Iterator[str]:
    """Yield every interval with a secant of the derivative, between its ends or inside, outside `curvature_range`."""
    rng = np.random.default_rng(6)
    for y in targets(rng, loss):
        near = kinks(loss, y)
        t = np.unique(np.concatenate([scores(rng), near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf)]))
        for lower, upper in ((t[:-1], t[1:]), tuple(np.sort(rng.choice(t, size=(2, 400)), axis=0))):
            low, high = loss.curvature_range(np.full_like(lower, y), lower, upper)
            with ctx.workprec(PRECISION):
                for k in np.flatnonzero(lower < upper):
                    ends = rational(lower[k]), rational(upper[k])
                    within = [ends[0] + (ends[1] - ends[0]) * fmpq(part, 1000) for part in (0, 1, 300, 999, 1000)]
                    slopes = [oracle_of(loss).slopes(y, point) for point in within]
                    for i, j in itertools.combinations(range(len(within)), 2):
                        length = within[j] - within[i]
                        least = (min(slopes[j]) - max(slopes[i])) / length
                        most = (max(slopes[j]) - min(slopes[i])) / length
                        if not (is_below(low[k], most) and is_above(high[k], least)):
                            yield f"secant {least} to {most} of {loss.name} outside [{low[k]!r}, {high[k]!r}]"


def wrong_secants(loss: Loss) -> Iterator[str]:
    """Yield every secant of the derivative that starts in an interval, goes no farther, and is not in its range."""
    rng = np.random.default_rng(7)
    for y in targets(rng, loss):
        t = np.concatenate([rng.normal(size=20) * 10.0 ** rng.uniform(-3.0, 1.5, size=20), kinks(loss, y), [y, 0.0]])
        lower, upper = np.sort(rng.choice(t, size=(2, 60)), axis=0)
        upper = np.where(rng.random(60) < 0.3, lower, upper)
        move = rng.choice([0.0, 1e-300, 1e-9, 1e-4, 0.002, 0.1, 1.0, 7.0, 300.0], size=60)
        low, high = loss.secant_range(np.full(60, y), lower, upper, move)
        if not (loss.is_smooth or np.isfinite(high).any()):
            continue
        with ctx.workprec(PRECISION):
            for k, start in itertools.product(range(60), (fmpq(0), fmpq(1, 3), fmpq(1))):
                first = rational(lower[k]) + start * (rational(upper[k]) - rational(lower[k]))
                for share in (fmpq(-1), fmpq(-1, 2), fmpq(1, 1000), fmpq(1)):
                    last = first + share * rational(move[k])
                    if first == last:
                        continue
                    ends = oracle_of(loss).slopes(y, first), oracle_of(loss).slopes(y, last)
                    slopes = [(b - a) / (last - first) for a in ends[0] for b in ends[1]]
                    if not all(is_below(low[k], slope) and is_above(high[k], slope) for slope in slopes):
                        yield f"secant of {loss.name} from {lower[k]}, {upper[k]} over {move[k]}: [{low[k]}, {high[k]}]"


def wrong_lines(loss: Loss) -> Iterator[str]:
    """Yield every score at which a derivative is off a line laid through its jump by more than is said."""
    rng = np.random.default_rng(8)
    for y in (-1.0, 1.0):
        t = np.concatenate([rng.normal(size=40) * 10.0 ** rng.uniform(-9.0, 3.0, size=40), np.full(5, y), [1e150]])
        lower, upper = np.sort(rng.choice(t, size=(2, 150)), axis=0)
        lower[::10], upper[::15] = -np.inf, np.inf
        score = rng.choice(t, size=150)
        c, h, e = loss.derivative_line(np.full(150, y), score, lower, upper)
        for k in range(150):
            first, last = rational(np.maximum(lower[k], -1e6)), rational(np.minimum(upper[k], 1e6))
            points = [first + (last - first) * fmpq(part, 8) for part in range(9)] if first <= last else []
            points += [rational(y)] if first <= rational(y) <= last else []
            for point, slope in [(p, s) for p in points for s in oracle_of(loss).slopes(y, p)]:
                line = rational(c[k]) + rational(h[k]) * (point - rational(score[k]))
                if not (h[k] >= 0.0 and abs(line - slope) <= rational(e[k])):
                    yield f"line {c[k]}, {h[k]}, {e[k]} of {loss.name} on [{lower[k]}, {upper[k]}], score {score[k]}"


def kinks(loss: Loss, y: float) -> np.ndarray:
    """Return floats at or next to the scores where the slope of the derivative of the loss changes."""
    return np.array([int(kink.p) / int(kink.q) for kink in oracle_of(loss).kinks(y)])


def wrong_penalties(penalty: ElasticNet) -> Iterator[str]:
    rng = np.random.default_rng(5)
    w = scores(rng, huge=True)
    lam, kappa = rational(penalty.lam), rational(penalty.kappa)
    with np.errstate(over="ignore"):
        yield from _not_above(
            penalty.value_upper(w), lambda k: lam / 2 * rational(w[k]) ** 2 + kappa * abs(rational(w[k])), "penalty"
        )
        yield from _not_above(
            penalty.conjugate_upper(w),
            lambda k: max(abs(rational(w[k])) - kappa, fmpq(0)) ** 2 / (2 * lam),
            "conjugate",
        )
    for weights in (np.zeros(300), rng.choice(w[np.abs(w) < 1e6], size=300)):
        lower, upper = np.sort(rng.choice(w[np.abs(w) < 1e6], size=(2, 300)), axis=0)
        low, high = penalty.subgradient_range(weights, lower, upper)
        for k in range(300):
            for slope in (rational(lower[k]), rational(upper[k]), (rational(lower[k]) + rational(upper[k])) / 2):
                exact = exact_subgradient(penalty, weights[k], slope)
                if not (is_below(low[k], exact) and is_above(high[k], exact)):
                    yield f"subgradient {exact} at {weights[k]!r} outside [{low[k]!r}, {high[k]!r}]"


def exact_subgradient(penalty: ElasticNet, w: float, slope: fmpq) -> fmpq:
    """Return ``slope + lam w + kappa sign(w)``, or soft-thresholding at zero."""
    kappa, sign = rational(penalty.kappa), int(np.sign(w))
    if sign:
        return slope + rational(penalty.lam) * rational(w) + kappa * sign
    return fmpq(0) if abs(slope) <= kappa else slope - kappa if slope > 0 else slope + kappa


def _not_above(bounds: np.ndarray, exact, what: str) -> Iterator[str]:
    with ctx.workprec(PRECISION):
        for k, bound in enumerate(bounds):
            value = exact(k)
            if not is_above(bound, value):
                yield f"{what} {value} above {bound!r}"


def draw_cancelling(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and a vector whose products nearly cancel."""
    scale = 10.0 ** rng.uniform(-8, 8, size=d)
    rows, vector = rng.normal(size=(5, d)) * scale, rng.normal(size=d) / scale
    rows[:, -1] = -(rows[:, :-1] @ vector[:-1]) / vector[-1]
    return rows, vector


def wrong_products() -> list[str]:
    rng, wrong = np.random.default_rng(6), []
    for d in [2, 3, 5, 17, 100] * 6:
        rows, vector = draw_cancelling(rng, d)
        low, high = dot_bounds(rows, vector)
        error = sum_error(np.abs(rows) @ np.abs(vector), d + 1)
        total = sum_upper(np.abs(rows) @ np.abs(vector), d + 1)
        norms = norm_upper(rows)
        for k, row in enumerate(rows):
            exact = exact_dot(rationals(row), rationals(vector))
            absolute = exact_dot(rationals(np.abs(row)), rationals(np.abs(vector)))
            if not (is_below(low[k], exact) and is_above(high[k], exact)):
                wrong.append(f"product {low[k]!r} {high[k]!r}")
            if not is_above(error[k], abs(rational(rows[k] @ vector) - exact)):
                wrong.append("error of a product")
            if not is_above(total[k], absolute):
                wrong.append("sum of absolute products")
            if rational(norms[k]) ** 2 < exact_dot(rationals(row), rationals(row)):
                wrong.append("norm")
    return wrong


def wrong_midpoints() -> list[str]:
    rng, wrong = np.random.default_rng(9), []
    ends = np.concatenate(
        [rng.normal(size=(400, 2)) * 10.0 ** rng.uniform(-300, 140, size=(400, 1)), rng.normal(size=(400, 2))]
    )
    near = rng.normal(size=300)
    ends = np.concatenate(
        [ends, np.column_stack([near, np.nextafter(near, np.inf)]), [[0.0, 5e-324], [-5e-324, 5e-324]]]
    )
    lower, upper = np.sort(ends, axis=1).T
    for low, high, middle, radius in zip(lower, upper, *midpoint_and_radius(lower, upper), strict=True):
        reach: fmpq = rational(radius)
        if rational(middle) - reach > rational(low) or rational(middle) + reach < rational(high):
            wrong.append(f"[{low!r}, {high!r}] is not inside {middle!r} ± {radius!r}")
    return wrong
