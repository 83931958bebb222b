"""What the rounding analysis assumes of a device's arithmetic (fp-device), checked on hard arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ipub.numeric.rounding import EPS, check_arithmetic
from ipub.rows.device import DeviceArray, Library
from ipub.rows.device.sums import PIECE, sum_height
from ipub.rows.ops import sum_by_index, weighted_gram

MOST_ULPS = 2.0
"""Units in the last place that exp, log, log1p and hypot may be off by."""

DIGITS = 60
ARGUMENTS = 3_000


class Check(NamedTuple):
    """An assumption, what was found, and what is allowed."""

    name: str
    found: str
    allowed: str
    holds: bool


def checks(library: Library) -> Iterator[Check]:
    """Check every assumption on one device."""
    rng = np.random.default_rng(0)

    def there(values: Any) -> DeviceArray:
        return DeviceArray(library.array(values), library)

    check_arithmetic(there(np.ones(1)))
    yield Check("to nearest, gradual underflow", "yes", "yes", True)
    yield from _operations(there, rng)
    for name, function, arguments in _elementary(rng):
        worst = _worst_ulps(np.asarray(getattr(np, name)(there(arguments))), arguments, function)
        most = 1.0 if name == "sqrt" else MOST_ULPS
        yield Check(f"{name}, {len(arguments):,} arguments", f"{worst:.3f} ulp", f"{most:g} ulp", worst <= most)
    yield from _sums(there, rng)
    yield from _repeats(there, rng)


def _operations(there: Callable[[Any], DeviceArray], rng: np.random.Generator) -> Iterator[Check]:
    """Compare single operations with those of the processor, which are IEEE: equal to the last bit."""
    a = _any_floats(rng, 200_000)
    b = _any_floats(rng, 200_000)
    # Sums that are ties or nearly, and results that underflow.
    near = rng.choice([1.0, -1.0], len(a)) * np.abs(a) * EPS * rng.choice([0.25, 0.5, 0.75, 1.0, 1.5], len(a))
    with np.errstate(all="ignore"):
        pairs = {
            "+": (a + near, lambda x, y: x + y, (a, near)),
            "-": (a - b, lambda x, y: x - y, (a, b)),
            "*": (a * b, lambda x, y: x * y, (a, b)),
            "/": (a / b, lambda x, y: x / y, (a, b)),
        }
        for name, (expected, operation, arguments) in pairs.items():
            found = np.asarray(operation(*(there(each) for each in arguments)))
            different = np.count_nonzero((found != expected) & ~(np.isnan(found) & np.isnan(expected)))
            yield Check(f"{name}, {len(a):,} pairs", f"{different} differ from IEEE", "0", different == 0)


def _any_floats(rng: np.random.Generator, n: int) -> Any:
    """Return floats of all sizes, subnormal ones too."""
    bits = rng.integers(0, 1 << 63, n, dtype=np.uint64) * np.uint64(2) + rng.integers(0, 2, n).astype(np.uint64)
    values = bits.view(np.float64)
    return np.where(np.isfinite(values), values, 1.0)


def _elementary(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[Decimal], Decimal], Any]]:
    """Yield functions with arguments near what is hard: 0, 1, multiples of log 2, ends of the range."""
    n = ARGUMENTS
    halves = (rng.integers(-1000, 1000, n) + 0.5) * math.log(2.0)
    small = rng.choice([-1.0, 1.0], n) * 2.0 ** -rng.uniform(0.0, 60.0, n)
    yield "exp", Decimal.exp, np.concatenate([rng.uniform(-708.0, 709.0, n), halves, small, rng.normal(size=n)])
    near_one = 1.0 + small
    anything = np.abs(_any_floats(rng, 4 * n))
    yield "sqrt", Decimal.sqrt, anything[anything > 1e-290]
    positive = np.abs(np.concatenate([2.0 ** rng.uniform(-1020.0, 1020.0, n), near_one, rng.uniform(0.5, 2.0, n)]))
    yield "log", Decimal.ln, positive[(positive > 0.0) & (positive != 1.0)]
    yield "log1p", lambda x: (1 + x).ln(), np.concatenate([np.abs(small), rng.uniform(0.0, 1.0, n), 0.999 * small])


def _worst_ulps(found: Any, arguments: Any, function: Callable[[Decimal], Decimal]) -> float:
    worst = 0.0
    with localcontext() as context:
        context.prec = DIGITS
        for value, x in zip(found.tolist(), arguments.tolist(), strict=True):
            exact = function(Decimal(x))
            unit = Decimal(math.ulp(float(exact)))
            worst = max(worst, float(abs(Decimal(value) - exact) / unit))
    return worst


def _sums(there: Callable[[Any], DeviceArray], rng: np.random.Generator) -> Iterator[Check]:
    """Compare sums and products of matrices that cancel with exact ones: within what any order can lose (fp-sums)."""
    n = 2 * PIECE + 1234
    values = rng.normal(size=n) * 10.0 ** rng.uniform(-8.0, 8.0, n)
    values[n // 2 :] = -values[: n - n // 2] * (1.0 + 4.0 * EPS * rng.integers(-3, 4, n - n // 2))
    exact = float(sum(map(Fraction, values.tolist())))
    yield _within("sum", float(there(values).sum()), exact, float(np.abs(values).sum()), sum_height(n))
    index = rng.integers(0, 3, n)
    parts = np.asarray(sum_by_index(there(index), there(values), 3))
    exact = float(sum(map(Fraction, values[index == 1].tolist())))
    yield _within("sum by index", float(parts[1]), exact, float(np.abs(values[index == 1]).sum()), sum_height(n))
    left, right = values, rng.normal(size=(n, 3))
    found = np.asarray(there(left) @ there(right))
    exact = float(sum(Fraction(a) * Fraction(b) for a, b in zip(left.tolist(), right[:, 1].tolist(), strict=True)))
    yield _within("product", float(found[1]), exact, float(np.abs(left) @ np.abs(right[:, 1])), sum_height(n) + 1)
    rows = rng.normal(size=(40, 700)) * 10.0 ** rng.uniform(-8.0, 8.0, (40, 700))
    found = np.asarray(there(rows) @ there(rows.T.copy()))
    worst = 0.0
    for i, j in ((0, 1), (3, 17), (20, 39), (5, 5)):
        exact = float(sum(Fraction(a) * Fraction(b) for a, b in zip(rows[i].tolist(), rows[j].tolist(), strict=True)))
        worst = max(worst, abs(found[i, j] - exact) / (701 * EPS * float(np.abs(rows[i]) @ np.abs(rows[j]))))
    yield Check("product of matrices", f"{worst:.1e} of fp-sums", "1", worst <= 1.0)


def _within(name: str, found: float, exact: float, size: float, roundings: int) -> Check:
    share = abs(found - exact) / (roundings * EPS * size)
    return Check(name, f"{share:.1e} of fp-sums", "1", share <= 1.0)


def _repeats(there: Callable[[Any], DeviceArray], rng: np.random.Generator) -> Iterator[Check]:
    """Compute sums several times: the same bits."""
    n = 1 << 20
    rows, values, index = there(rng.normal(size=(n, 29))), there(rng.normal(size=n)), rng.integers(0, 28, n)
    kernels = {
        "product": lambda: values @ rows,
        "weighted Gram": lambda: weighted_gram(rows, values),
        "sum": lambda: values.sum(),
        "sum by index": lambda: sum_by_index(there(index), values, 28),
    }
    for name, kernel in kernels.items():
        results = {np.asarray(kernel()).tobytes() for _ in range(10)}
        yield Check(f"{name}, 10 times", f"{len(results)} result(s)", "1", len(results) == 1)
