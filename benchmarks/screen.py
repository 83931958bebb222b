"""The first screen of `ipub fit` on tables as people have them: does it say something useful, and how soon?

The classification tables of `useful`, each with its first split: the training rows are written to a CSV file, and
`ipub fit FILE --target COLUMN` runs in a process of its own, with what it chooses by itself. *Any filling*: the share
of the training rows it looks at whose class no filling changes. *Budget*: how many of the missing values may differ
from the filled-in ones, if the screen goes on to that, and *share*: for which part of the rows the class stays the same
then; *with*: what had to change for it. *Useful*: one of the shares is at least a half. *Levers*: how many others it
offers. Seconds are of the whole command and, all threads together, of the processor.

Options: `--tables NAME,...`, `--show` (print the screens too), `--fit OPTION` (another option of `ipub fit`, as
`--fit=--alpha=min`; may be repeated).
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.real_tables import SOURCES, Source
from benchmarks.useful import NOT_USED, parts

TARGET = "target"
COLUMNS = ("table", "missing", "any filling", "budget", "share", "with", "useful", "levers", "s", "CPU s")
CERTAIN = re.compile(r"(\d+) of (\d+) predictions \(\d+ %\) are certain")
BUDGET = re.compile(
    r"(?:With (?P<with>[^()]+) \(.*\), for|For) (?P<count>\d+) of (?P<n>\d+) predictions .* at most "
    r"(?P<cells>[\d,]+) of "
)


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    known = {source.name: source for source in SOURCES if source.positive and source.name not in NOT_USED}
    unknown = set(given.tables) - set(known)
    if unknown:
        raise SystemExit(f"Unknown table(s) {', '.join(sorted(unknown))}; there are {', '.join(known)}.")
    names = given.tables or list(known)
    lines = Lines(console, f"screen, first screen of ipub fit {' '.join(given.fit)}".rstrip(), *COLUMNS)
    useful = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in sorted(names, key=lambda name: name == "adult"):
            useful += lines.piece(name, partial(_measure, lines, known[name], Path(folder), given, console))
    lines.add("useful", *[""] * 5, f"{useful} of {len(names)}", "", "", "")


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks screen")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[], metavar="NAME,...")
    parser.add_argument("--show", action="store_true", help="print the screens as well")
    parser.add_argument("--fit", action="append", default=[], metavar="OPTION", help="another option of ipub fit")
    return parser.parse_args(options)


def _measure(lines: Lines, source: Source, folder: Path, given: argparse.Namespace, console: Console) -> bool:
    X, y, _ = parts(source, 0)
    X.assign(**{TARGET: ["yes" if each else "no" for each in y]}).to_csv(folder / "table.csv", index=False)
    command = [sys.executable, "-m", "ipub.app", "fit", "table.csv", "--target", TARGET, *given.fit]
    start, before = time.perf_counter(), _processor_seconds()
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True
    )
    seconds, of_processor = time.perf_counter() - start, _processor_seconds() - before
    if given.show:
        console.print(done.stdout, markup=False, highlight=False, soft_wrap=True)
    certain, budget = CERTAIN.search(done.stdout), BUDGET.search(done.stdout)
    any_filling = int(certain[1]) / int(certain[2]) if certain else 0.0
    share = int(budget["count"]) / int(budget["n"]) if budget else 0.0
    is_useful = max(any_filling, share) >= 0.5
    cells = [budget["cells"], f"{share:.2f}", budget["with"] or ""] if budget else ["", "", ""]
    levers = len(re.findall(r"^- ", done.stdout, re.MULTILINE))
    lines.add(
        source.name[:24].ljust(24),
        f"{int(X.isna().to_numpy().sum()):,}",
        f"{any_filling:.2f}",
        *cells,
        "yes" if is_useful else "no",
        f"{levers}",
        f"{seconds:.1f}",
        f"{of_processor:.1f}",
    )
    return is_useful


def _processor_seconds() -> float:
    """Return the processor time of the commands that ran so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
