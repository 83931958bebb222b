"""Run benchmarks: ``python -m benchmarks NAME...``, or the quick ones.

``python -m benchmarks page`` runs all of them and writes ``docs/benchmarks.md``. What is finished is kept in
``build/benchmarks``, of long ones table by table: interrupted, it continues where it stopped, as long as the code is
the same, and with ``--resume`` also if it has changed. ``python -m benchmarks page NAME...`` runs some of them and
keeps the others on the page. A name with an option, as ``"useful --penalty 1se"``, is in quotes.
What follows the name of a single benchmark and begins with ``--`` are its options, if it has any.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks.lines import Screen
from benchmarks.page import ROOT, write_page
from experiments.run import machine

QUICK = ("tightness", "cost", "sphere_cost")
ALL = (
    "speed",
    "adversaries_draws",
    "draws",
    "memory",
    "growth",
    "parquet",
    "dask",
    "sparse",
    "quantiles",
    "path",
    "cost",
    "processor",
    "first_fit",
    "many_rows",
    "long_tables",
    "sphere_cost",
    "tightness",
    "pointwise",
    "rivals",
    "real_tables",
    "useful",
    "useful --penalty 1se",
    "theorems",
    "screen",
    "small --attained",
    "budgets",
    "supports",
    "metric_ranges",
    "influence",
    "resolving",
    "questions",
    "adversaries",
    "passes",
    "walk",
    "report",
)
PAGE = "page"
NOT_ON_PAGE = ("device", "widths")
WITH_OPTIONS = (
    "theorems",
    "pointwise",
    "useful",
    "screen",
    "draws",
    "small",
    "widths",
    "budgets",
    "questions",
    "supports",
    "metric_ranges",
    "resolving",
    "parquet",
    "dask",
    "sparse",
    "device",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{PAGE}, or any of {', '.join(ALL + NOT_ON_PAGE)}")
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "docs" / "benchmarks.md", help="where the page goes"
    )
    parser.add_argument("--resume", action="store_true", help="what was measured with other code is not measured again")
    given, options = parser.parse_known_args()
    has_page = given.names[:1] == [PAGE]
    names = given.names[1:] if has_page else given.names
    known = set(ALL) if has_page else {name.split()[0] for name in ALL} | set(NOT_ON_PAGE)
    unknown = set(names) - known
    if unknown:
        sys.exit(f"Unknown benchmark(s) {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}.")
    if options and not (len(names) == 1 and names[0].split()[0] in WITH_OPTIONS):
        sys.exit(f"Unknown option(s) {' '.join(options)}: only {' and '.join(WITH_OPTIONS)} have, if they run alone.")
    screen = Screen(width=None if sys.stdout.isatty() else 120)
    screen.print(machine("threads as by default"))
    if has_page:
        write_page(screen, names or ALL, ALL, given.output, options, given.resume)
        return
    for name in names or QUICK:
        importlib.import_module(f"benchmarks.{name}").run(screen, *([options] if options else []))


if __name__ == "__main__":
    main()
