"""Fit on a table with holes and bounds of the test rows, against one plain fit of scikit-learn on the filled table.

The plain fit is the fastest of lbfgs and newton-cholesky at their default tolerance, with as many threads as BLAS takes
and with one, which on a busy machine may be many times faster. LIBLINEAR is the paper's solver.
Interval Newton (whitened) is certified as well. Multiple imputation has no guarantee: its width is the range of its
predictions. Logistic loss, lambda 0.1, no intercept, 1 % of the cells missing at random, each in the middle half of its
column. All is timed in turn, in one run: medians, but of the large table LIBLINEAR and the rivals once; the rivals with
BLAS on one thread, which they like best. "Width" is the median, over the test rows, of the length of the score's
interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.holed import Holed, default, like_higgs
from benchmarks.lines import Lines
from benchmarks.tightness import width
from benchmarks.timing import medians
from experiments import methods
from ipub.numeric.rounding import Array

LONGEST = len("plain fit, newton-cholesky, one thread")
FASTER_THAN_LIBLINEAR = 5.0
IMPUTATIONS = 5


@dataclass(frozen=True)
class Way:
    """A way to bound test rows: how it is called, what it does, and its target in plain fits."""

    name: str
    bounds: Callable[[Holed], Array]
    target: float | None = None
    against_liblinear: float | None = None


def run(console: Console) -> None:
    sphere, tight = partial(_bounds, "sphere", False), partial(_bounds, "tight", False)
    ours = [
        Way("sphere", sphere, 1.0, FASTER_THAN_LIBLINEAR),
        Way("tight, grouped", partial(_bounds, "tight", True), 3.0, FASTER_THAN_LIBLINEAR),
    ]
    _measure(console, like_higgs(), ours, 3, 1)
    ours = [
        Way("sphere", sphere),
        Way("tight", tight, 5.0),
        Way("tight, grouped", partial(_bounds, "tight", True), 5.0),
    ]
    _measure(console, default(), ours, 7, 3)


RIVALS = (
    Way("INewton, whitened", lambda table: methods.newton_bounds(table.problem(), table.X_test, "whitened")[0]),
    Way(
        f"{IMPUTATIONS} imputations, no guarantee",
        lambda table: methods.imputed_again(table.problem(), table.X_test, IMPUTATIONS, 0).range(),
    ),
)


def _bounds(certificate: str, in_groups: bool, table: Holed) -> Array:
    clf = table.bounded(certificate)
    if in_groups:
        clf.certificate_ = clf.certificate_.without_training_rows()
    return clf.decision_bounds(table.X_test)


def _measure(console: Console, table: Holed, ours: list[Way], repeats: int, rival_repeats: int) -> None:
    title = f"{table.size}: fit and bounds of {len(table.X_test):,} rows; medians of {repeats}"
    lines = Lines(console, title, "what", "s", "plain fits", "target", "LIBLINEAR / it", "target", "width")
    widths: dict[str, float] = {}

    def bound(way: Way) -> None:
        widths[way.name] = float(np.median(width(way.bounds(table))))

    fits = table.plain_fits()
    spent = medians(repeats, *fits.values(), *(partial(bound, way) for way in ours))
    plain = min(spent[: len(fits)])
    (liblinear,) = medians(rival_repeats, partial(table.plain, "liblinear"))
    for name, seconds in zip((*fits, "liblinear"), (*spent[: len(fits)], liblinear), strict=True):
        lines.add(f"plain fit, {name}".ljust(LONGEST), _shown(seconds), f"{seconds / plain:.2f} ", *4 * ["-"])
    for way, seconds in zip(ours, spent[len(fits) :], strict=True):
        lines.add(way.name, *_cells(way, seconds, plain, liblinear), f"{widths[way.name]:.3e}")
    with threadpool_limits(1, user_api="blas"):
        spent = medians(rival_repeats, *(partial(bound, way) for way in RIVALS))
    for way, seconds in zip(RIVALS, spent, strict=True):
        lines.add(way.name, *_cells(way, seconds, plain, liblinear), f"{widths[way.name]:.3e}")


def _cells(way: Way, seconds: float, plain: float, liblinear: float) -> tuple[str, ...]:
    """Show a time as a multiple of the plain fit and as a part of LIBLINEAR's; what misses its target has a mark."""
    ratio, faster = seconds / plain, liblinear / seconds
    misses = [
        way.target is not None and ratio > way.target,
        way.against_liblinear is not None and faster < way.against_liblinear,
    ]
    return (
        _shown(seconds),
        f"{ratio:.2f}{'!' if misses[0] else ' '}",
        "-" if way.target is None else f"<= {way.target:g}",
        f"{faster:.2f}{'!' if misses[1] else ' '}",
        "-" if way.against_liblinear is None else f">= {way.against_liblinear:g}",
    )


def _shown(seconds: float) -> str:
    return f"{seconds:.3f}"
