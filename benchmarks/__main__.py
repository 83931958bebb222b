"""Run benchmarks: ``python -m benchmarks NAME...``, or the quick ones.

``python -m benchmarks page`` runs all of them and writes ``docs/benchmarks.md``; interrupted, it continues where it
stopped. ``python -m benchmarks page NAME...`` runs some of them and keeps the others on the page.
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
    "screen",
    "small",
    "budgets",
    "supports",
    "adversaries",
    "passes",
    "walk",
)
PAGE = "page"
NOT_ON_PAGE = ("device", "widths")
WITH_OPTIONS = (
    "pointwise",
    "useful",
    "screen",
    "draws",
    "small",
    "widths",
    "budgets",
    "supports",
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
    given, options = parser.parse_known_args()
    has_page = given.names[:1] == [PAGE]
    names = given.names[1:] if has_page else given.names
    unknown = set(names) - set(ALL) - (set() if has_page else set(NOT_ON_PAGE))
    if unknown:
        sys.exit(f"Unknown benchmark(s) {', '.join(sorted(unknown))}; there are {', '.join(ALL)}.")
    if options and not (len(names) == 1 and names[0] in WITH_OPTIONS):
        sys.exit(f"Unknown option(s) {' '.join(options)}: only {' and '.join(WITH_OPTIONS)} have, if they run alone.")
    screen = Screen(width=None if sys.stdout.isatty() else 120)
    screen.print(machine("threads as by default"))
    if has_page:
        write_page(screen, names or ALL, ALL, given.output)
        return
    for name in names or QUICK:
        importlib.import_module(f"benchmarks.{name}").run(screen, *([options] if options else []))


if __name__ == "__main__":
    main()
