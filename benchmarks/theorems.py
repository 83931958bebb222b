"""What each theorem buys: bounds with all theorems, and with one of them left out.

Tables, splits and scaling as in `useful`, without adult, at the penalty of `alpha="1se"` and, where a line says so, at
alpha 1, where more is certain; lines with *b* and *a* are settings of `tightness`. A theorem is left out by replacing
the function that computes it, for the time of one measurement, by one that proves nothing or does it the plain way;
everything else runs as if the theorem were not there. *Width*: median over the test rows of the width without the
theorem over that with it. *Certain*: share of test rows whose class is the same for all fillings. *Time*: processor
time of fit and bounds, with one BLAS thread, without the theorem over with it, one run of each. Settings in which the
width changes by less than 1 % and no share changes are not shown. The last table has a line for each theorem and counts
all *settings*, those that *call it* at all, those in which bounds are *wider* or *narrower* without it, by 1 % or more;
medians are over those that call it, *certain* is the sum of their shares, *longest* the largest ratio of times.

Options: `--theorems NAME,...`, `--tables NAME,...`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.lines import Lines
from benchmarks.theorem_settings import (
    ABSENT_ROWS,
    BUDGETS,
    CONDITIONAL,
    DRAWN,
    ELASTIC,
    FILES,
    HINGE,
    HINGE_ELASTIC,
    HINGE_POINTWISE,
    LONG,
    LONG_ELASTIC,
    LONG_FILES,
    LONG_HINGE,
    LONG_HINGE_POINTWISE,
    LONG_POINTWISE,
    POINTWISE,
    SHORT_AND_NARROW,
    STRONG,
    TABLES,
    WRONG_LABELS,
    Fit,
    Long,
)
from benchmarks.tightness import width
from ipub.answers.certainty import is_certain
from ipub.certificates.row_sums.constant_derivatives import ConstantDerivativeRows
from ipub.certificates.row_sums.prove import Representatives
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.certificates.slopes.l1_signs import DecidedSigns, L1Signs
from ipub.certificates.tight import NOT_TRIED
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.base import Outcome
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.region import Region
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows.completions import WholeTable, whole_table
from ipub.tables.categories import TableEncoder
from ipub.tables.missing_category import NOTHING_MISSING, MissingCategories

WIDER = 1.01
COLUMNS = ("setting", "alpha", "width", "certain with", "without", "time")


@dataclass(frozen=True)
class Theorem:
    """A theorem that can be left out."""

    name: str
    labels: str
    """Its names in docs/theory."""
    instead: str
    """What happens without it."""
    replaced: Mapping[str, Callable[..., Any]]
    """Functions by their paths, and what stands in for each while the theorem is left out."""
    settings: tuple[Fit | Long, ...]


@contextmanager
def left_out(theorem: Theorem) -> Iterator[list[str]]:
    """Replace the functions of a theorem; what is given lists the path of one at each of its calls."""
    calls: list[str] = []

    def counted(path: str, instead: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(*args: Any, **options: Any) -> Any:
            calls.append(path)
            return instead(*args, **options)

        return replacement

    with ExitStack() as stack:
        for path, instead in theorem.replaced.items():
            stack.enter_context(patch(path, counted(path, instead)))
        yield calls


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _not_tried(*_: Any, **__: Any) -> Outcome[Any]:
    return NOT_TRIED


def _no(*_: Any) -> bool:
    return False


def _argument(place: int) -> Callable[..., Any]:
    """Return a function that gives back one of its arguments as it is."""

    def argument(*args: Any, **_: Any) -> Any:
        return args[place]

    return argument


def _no_ball(_: Problem, solution: Solution) -> Region:
    zero = np.zeros_like(solution.w)
    return Region("origin", zero, zero, np.inf)


def _all_rows(table: RowTable, *_: Any) -> Representatives:
    return Representatives.all_of(table)


def _no_constant_rows(problem: Problem, _: Certificate, most: int) -> tuple[ConstantDerivativeRows, WholeTable] | None:
    table = whole_table(problem.rows)
    nothing = ConstantDerivativeRows.nothing(problem.rows.n_features)
    return None if len(table.y) > most else (nothing, table)


def _as_intervals(_: TableEncoder, table: Array) -> tuple[Array, MissingCategories]:
    return table, NOTHING_MISSING


def _undecided(signs: L1Signs, bounds: SlopeBounds, _: ElasticNet) -> DecidedSigns:
    return DecidedSigns(signs, np.full(len(bounds.w), np.inf))


TIGHT, PER_ROW = "ipub.certificates.tight", "ipub.certificates.per_row.pointwise"
ROW_SUMS, SLOPES = "ipub.certificates.row_sums", "ipub.certificates.slopes"
KNOWN_RANGES = {f"{TIGHT}.row_sum_bounds_within": _nothing, f"{TIGHT}.row_sum_bounds_of_asked_rows": _nothing}
THEOREMS = (
    Theorem(
        "row sums",
        "thm-row-sums, thm-ranges",
        "slopes and balls alone",
        {f"{TIGHT}.ranges_at_w": _nothing, **KNOWN_RANGES},
        (*TABLES, *STRONG, *HINGE, *LONG, *LONG_HINGE),
    ),
    Theorem(
        "row sums over known ranges",
        "thm-row-sums at tau = 1",
        "row sums only where ranges prove themselves",
        KNOWN_RANGES,
        (*TABLES, *STRONG, *HINGE, *LONG, *LONG_HINGE),
    ),
    Theorem(
        "representatives",
        "lem-representatives",
        "every row and weight has a range of its own",
        {f"{ROW_SUMS}.prove.Representatives.choose": _all_rows},
        (*TABLES, *STRONG, *HINGE, *BUDGETS, *SHORT_AND_NARROW),
    ),
    Theorem(
        "constant derivatives",
        "lem-constant-derivative",
        "all rows are in the sums",
        {
            f"{ROW_SUMS}.table.sum_constant_rows": _no_constant_rows,
            f"{ROW_SUMS}.ranges.Ranges.without_constant_rows": _argument(0),
        },
        (*HINGE, *HINGE_POINTWISE, *LONG_HINGE),
    ),
    Theorem(
        "slopes",
        "thm-slopes",
        "row sums where they prove themselves, else balls alone",
        {f"{TIGHT}.attempt_slope_bounds": _not_tried, f"{TIGHT}.slope_bounds_within": _not_tried},
        (*TABLES, *STRONG, *HINGE, *LONG),
    ),
    Theorem(
        "sets of moves",
        "thm-move-set, thm-move-ellipsoid",
        "slopes over what the half-ball leaves",
        {f"{SLOPES}.attempt.prove_move_set": _not_tried},
        (*TABLES, *STRONG, *LONG),
    ),
    Theorem(
        "mean value",
        "thm-mean-value",
        "slopes without it",
        {f"{SLOPES}.assemble.mean_value_bounds": _nothing},
        (*TABLES, *STRONG, *LONG),
    ),
    Theorem(
        "column signs",
        "lem-column-signs",
        "one form for each column",
        {f"{SLOPES}.column_bounds.signed_columns": _nothing},
        (*FILES, *LONG_FILES),
    ),
    Theorem(
        "signs of l1 weights",
        "lem-l1-signs",
        "signs by limits of the moves alone",
        {f"{SLOPES}.attempt.decide_signs": _undecided},
        (*ELASTIC, *LONG_ELASTIC),
    ),
    Theorem(
        "half-ball",
        "thm-half-ball",
        "the origin, and slopes and row sums",
        {f"{TIGHT}.certify_ball": _argument(2)},
        (*TABLES, *STRONG, *HINGE, *ELASTIC, *LONG),
    ),
    Theorem(
        "origin",
        "thm-origin",
        "no ball around zero",
        {f"{TIGHT}.around_zero": _no_ball, "ipub.certificates.origin.around_zero": _no_ball},
        (*TABLES, *STRONG, *HINGE, *LONG),
    ),
    Theorem(
        "narrower bracket",
        "thm-intercept-bracket",
        "the bracket of the origin, not narrowed by the half-ball",
        {"ipub.certificates.ball.narrow_bracket": _argument(3)},
        (*TABLES, *STRONG, *HINGE),
    ),
    Theorem("sphere", "thm-sphere", "the half-ball alone", {f"{TIGHT}._has_sphere": _no}, HINGE_ELASTIC),
    Theorem(
        "ruled-out scores",
        "thm-ruled-out",
        "trends and tilted half-balls alone",
        {f"{PER_ROW}.narrow_by_ruling_out": _argument(2)},
        (*POINTWISE, *HINGE_POINTWISE),
    ),
    Theorem(
        "trends",
        "thm-trends",
        "ruled-out scores alone",
        {f"{PER_ROW}.Stage.of": _nothing},
        (*POINTWISE, *LONG_POINTWISE),
    ),
    Theorem(
        "tilted half-balls",
        "thm-tilted",
        "ruled-out scores alone",
        {f"{PER_ROW}.has_tilts": _no},
        (*HINGE_POINTWISE, *LONG_HINGE_POINTWISE),
    ),
    Theorem(
        "two labels",
        "lem-two-labels",
        "slopes and balls alone where labels may be wrong",
        {f"{ROW_SUMS}.table.label_pair": _nothing},
        WRONG_LABELS,
    ),
    Theorem(
        "levels",
        "lem-levels, lem-levels-product",
        "a missing category as an interval in each of its columns",
        {"ipub.tables.categories.TableEncoder.with_missing_categories": _as_intervals},
        TABLES,
    ),
    Theorem(
        "one matrix",
        "lem-one-matrix",
        "each draw by all theorems for any filling",
        {"ipub.training.draws.certify_where_little_differs": _nothing},
        DRAWN,
    ),
    Theorem(
        "budgets",
        "lem-budget",
        "the bounds of any filling",
        {"ipub.training.filled.bounds_around_filling": _not_tried},
        BUDGETS,
    ),
    Theorem(
        "absent rows",
        "lem-absent-row",
        "no bounds where rows may be absent",
        {"ipub.training.filled.bounds_around_filling": _not_tried},
        ABSENT_ROWS,
    ),
    Theorem(
        "conditional intervals",
        "thm-conformal",
        "one interval for all missing values of a column",
        {"ipub.tables.conditional_intervals.ConditionalIntervals.applied": _argument(1)},
        CONDITIONAL,
    ),
    Theorem(
        "supports",
        "thm-supports",
        "what slopes and balls keep without rows",
        {"ipub.training.without_rows.generic_directions": _nothing},
        FILES,
    ),
)


# --- what is measured ------------------------------------------------------------------------------------------------


class Figures(NamedTuple):
    """What leaving out a theorem does in one setting."""

    width: float
    certain: float
    certain_without: float
    time: float

    @property
    def is_changed(self) -> bool:
        """Whether the width changes by 1 %, or which predictions are certain."""
        return not 1.0 / WIDER < self.width < WIDER or abs(self.certain - self.certain_without) > 0.0


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    summary = []
    for theorem in THEOREMS:
        if given.theorems and theorem.name not in given.theorems:
            continue
        lines = Lines(console, f"without {theorem.name} ({theorem.labels}): {theorem.instead}", *COLUMNS)
        settings = [each for each in theorem.settings if not given.tables or each.source in given.tables]
        found = [lines.piece(each.name, partial(_measure, lines, theorem, each)) for each in settings]
        reached = [Figures(*each) for each in found if each is not None]
        if reached:
            summary.append((theorem, len(settings), reached))
        elif not given.tables:
            raise SystemExit(f"No setting calls {' or '.join(theorem.replaced)}: nothing was left out.")
    titles = (
        "settings",
        "call it",
        "wider",
        "narrower",
        "width, median",
        "largest",
        "certain with",
        "without",
        "time, median",
        "longest",
    )
    lines = Lines(console, "all theorems", "without", *titles)
    for theorem, n_settings, reached in summary:
        lines.add(theorem.name.ljust(max(len(each.name) for each in THEOREMS)), *_sums(n_settings, reached))


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks theorems")
    for name, known in (("theorems", {each.name for each in THEOREMS}), ("tables", _sources())):
        parser.add_argument(f"--{name}", type=partial(_names, known), default=[], metavar="NAME,...")
    return parser.parse_args(options)


def _sources() -> set[str]:
    return {setting.source for theorem in THEOREMS for setting in theorem.settings}


def _names(known: set[str], text: str) -> list[str]:
    names = text.split(",")
    unknown = set(names) - known
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return names


def _measure(lines: Lines, theorem: Theorem, setting: Fit | Long) -> Figures | None:
    """Measure one setting; None if what stands in for the theorem is never called in it."""
    job, clock = setting.job(), time.process_time
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        start = clock()
        with left_out(theorem) as calls:
            wider = job.bounds()
        if not calls:
            return None
        middle = clock()
        narrower = job.bounds()
        seconds = clock() - middle, middle - start
    found = _figures(narrower, wider, seconds, setting.is_of_classes)
    if found.is_changed:
        shares = [_shown(each) for each in (found.certain, found.certain_without)]
        lines.add(setting.name.ljust(48), f"{job.alpha:.2g}", f"{found.width:.3f}", *shares, f"{found.time:.2f}")
    return found


def _figures(bounds: Array, without: Array, seconds: tuple[float, float], is_classes: bool) -> Figures:
    before, after = width(bounds), width(without)
    counts = np.isfinite(before) & (before > 0.0)
    ratio = float(np.median(after[counts] / before[counts])) if counts.any() else np.nan
    first, second = (float(is_certain(each).mean()) if is_classes else np.nan for each in (bounds, without))
    return Figures(ratio, first, second, seconds[1] / seconds[0])


def _sums(n_settings: int, reached: Sequence[Figures]) -> list[str]:
    widths, times = [each.width for each in reached], [each.time for each in reached]
    certain = [np.nansum([each[k] for each in reached]) for k in (1, 2)]
    wider, narrower = sum(each >= WIDER for each in widths), sum(each <= 1.0 / WIDER for each in widths)
    counts = [n_settings, len(reached), wider, narrower]
    return [
        *(f"{each}" for each in counts),
        f"{np.nanmedian(widths):.3f}",
        f"{np.nanmax(widths):.3f}",
        *(f"{each:.2f}" for each in certain),
        f"{np.median(times):.2f}",
        f"{max(times):.2f}",
    ]


def _shown(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.2f}"
