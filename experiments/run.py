"""All experiments in one run, which can be interrupted and continued where it stopped."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from experiments import measure, methods
from experiments.figures import check_matplotlib, save_histograms
from experiments.page import About, write_page
from experiments.prepare import Prepared, higgs_shaped, real
from experiments.results import METHODS, SettingResult, TableResult, slug
from experiments.settings import DEEP, GRID, Setting
from experiments.sources import HIGGS, SOURCES, Source, load, load_local
from experiments.store import Measured, Store
from ipub import __version__
from ipub.app.files.atomic import whole_file
from ipub.app.files.tables import TableError
from ipub.app.screen import err, new_table, note, out, say

FORMAT = 1
"""Version of the measurements, increased when their meaning changes, so that older ones are not used."""
LARGE = 500_000
"""Training rows from which fewer test rows are searched and imputation is repeated less often."""


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    grid : tuple of Setting
    most : pair of int or None
        At most so many training and test rows.
    n_attained, n_attained_large : int
        Test rows that are searched for what is attained, and how many in a large table.
    imputations, imputations_large, imputations_deep : tuple of int
        How often holes are imputed: in every setting, in those of a large table, and beside these in `DEEP`.
    """

    grid: tuple[Setting, ...] = GRID
    most: tuple[int, int] | None = None
    n_attained: int = 200
    n_attained_large: int = 20
    imputations: tuple[int, ...] = (5, 20)
    imputations_large: tuple[int, ...] = (5,)
    imputations_deep: tuple[int, ...] = (100,)


FULL = Plan()
QUICK = Plan((DEEP, replace(DEEP, lam=1.0)), most=(2_000, 200), n_attained=20, imputations=(5,), imputations_deep=())


def reproduce(names: Sequence[str], data_dir: Path | None, output: Path, *, quick: bool = False) -> Path:
    """Measure, and write the page.

    Parameters
    ----------
    names : sequence of str
        Data sets, by the paper's names; all if empty.
    data_dir : Path or None
        Where their files are looked for first.
    output : Path
        Folder for ``results.md`` and ``results/``, made if it does not exist. Finished measurements are kept in
        ``results/cells`` and not repeated.
    quick : bool
        Whether tables are cut to a few rows.

    Returns
    -------
    Path
        The page.
    """
    check_matplotlib()
    unknown = [name for name in names if name not in SOURCES]
    if unknown:
        raise TableError(f"There is no data set {unknown[0]!r} in the paper: it has {', '.join(SOURCES)}.")
    if data_dir is not None and not data_dir.is_dir():
        raise TableError(f"The folder {data_dir} does not exist (--data-dir).")
    plan = QUICK if quick else FULL
    chosen = [SOURCES[name] for name in dict.fromkeys(names)] or list(SOURCES.values())
    tables: list[Callable[[], Prepared]] = []
    missing: list[str] = []
    for source in chosen:
        try:
            tables += _tables(source, data_dir, plan, quick)
        except TableError as error:
            missing.append(str(error))
    if missing:
        raise TableError("\n".join(missing))
    figures = output / "results"
    run = _Run(plan, Store(figures / "cells"), len(tables))
    results = []
    # Tables are narrow: threads of BLAS only wait for each other, and those over blocks of rows do the work.
    with run, threadpool_limits(1, user_api="blas"):
        for prepare in tables:
            results.append(run.measure(prepare()))
            _show(results[-1])
    run.tell()
    for result in results:
        save_histograms(result, figures / f"{result.slug}.png")
    page = output / "results.md"
    options = [*(["--quick"] if quick else []), *(f"--dataset {name}" for name in names)]
    words = " ".join(["python -m experiments", *options])
    about = About(
        command=words + (" --data-dir DIR" if data_dir is not None else ""),
        machines=_told(results, "machine"),
        dates=_told(results, "date"),
        version=__version__,
        is_quick=quick,
        figures=figures.name,
    )
    with whole_file(page) as file:
        file.write(write_page(results, about).encode())
    return page


def today() -> str:
    """Return today's date, as it is stored with measurements."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")


def _told(results: Sequence[TableResult], what: str) -> tuple[str, ...]:
    """Return, of all measurements, the different machines or dates, in order."""
    cells = [cell for result in results for each in result.settings for cell in each.cells]
    return tuple(sorted({cell.figures[what] for cell in cells}))


def _show(result: TableResult) -> None:
    """Print the main figures of a table."""
    say(f"\n{result.name}, {result.shape[0]:,} training rows: median length of the probability's interval;", "bold")
    say("INewton in the weights (w.) and whitened; time ratio is that of sphere and whitened INewton")
    table = new_table("lambda", "b", "a", "sphere", "INewton w.", "whitened", "tight", "attained", "time ratio")
    for each in result.settings:
        setting = (f"{value:g}" for value in asdict(each.setting).values())
        medians = (f"{np.median(each.lengths(name)):.2e}" for name in (*METHODS, "attained"))
        table.add_row(*setting, *medians, f"{each.seconds('sphere') / each.seconds('inewton'):.1e}")
    out.print(table)


def machine(threads: str = "BLAS on one thread") -> str:
    """Describe the machine, and how many threads libraries may use, in a line."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        models = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = ""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = f", {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB of memory"
    libraries = f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    return f"{name}, {cores} cores{memory}, {platform.system()}; {libraries}, {threads}"


def _tables(source: Source, data_dir: Path | None, plan: Plan, quick: bool) -> list[Callable[[], Prepared]]:
    """Find the data of a source; return functions that prepare its tables, called one after the other.

    The paper's HIGGS is so large that part of it cannot stand for it: then a synthetic table of its size runs beside
    the part. A quick run does not download gigabytes: without a file, there is the synthetic table alone.
    """
    if quick and source.name == HIGGS.name and load_local(source, data_dir) is None:
        say(f"{source.name}: no file, and a quick run does not download {source.size}; a synthetic table stands for it")
        return [lambda: higgs_shaped(None, plan.most)]
    found = load(source, data_dir, err)
    say(f"{source.name}: {found.table.num_rows:,} of {source.n_rows:,} rows, from {found.file}")
    tables = [lambda: real(found, plan.most)]
    if source.name == HIGGS.name and not found.is_whole and not quick:
        tables.append(lambda: higgs_shaped(found, plan.most))
    return tables


class _Run:
    """The measurements of a run: unfinished ones are made, with progress."""

    def __init__(self, plan: Plan, store: Store, n_tables: int) -> None:
        self.plan, self.store = plan, store
        self.n_kept = self.n_made = 0
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=err, transient=True)
        self._all = self.progress.add_task("All measurements", total=3 * n_tables * len(plan.grid))
        self._now = self.progress.add_task("", total=1.0, visible=False)

    def __enter__(self) -> None:
        self.progress.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.progress.stop()
        if kind is not None:
            note(
                f"Stopped. {self.n_kept + self.n_made} finished measurements are kept in {self.store.folder}: the same "
                "command continues from there."
            )

    def tell(self) -> None:
        """Say what was measured now, and what had been measured before."""
        say(f"{self.n_made} measurements made, {self.n_kept} taken from an earlier run ({self.store.folder})")

    def measure(self, table: Prepared) -> TableResult:
        """Measure a table in all settings."""
        identity = table.fingerprint
        is_large = len(table.X) >= LARGE
        n_attained = self.plan.n_attained_large if is_large else self.plan.n_attained
        imputations = self.plan.imputations_large if is_large else self.plan.imputations
        results = []
        for setting in self.plan.grid:
            repeats = imputations + (self.plan.imputations_deep if setting == DEEP and not is_large else ())
            jobs: dict[str, tuple[dict[str, object], Callable[[], Measured]]] = {
                "bounds": ({}, partial(measure.measure_bounds, table, setting)),
                "attained": (
                    {"rows": n_attained},
                    partial(measure.measure_attained, table, setting, n_attained, self._share),
                ),
                "imputation": (
                    {"rows": n_attained, "imputations": repeats, "fitted on": methods.FIT_ROWS},
                    partial(measure.measure_imputation, table, setting, n_attained, repeats, self._share),
                ),
            }
            parts = {}
            for kind, (options, job) in jobs.items():
                key = {"format": FORMAT, "version": __version__, "data": identity, **asdict(setting), **options}
                parts[kind] = self._measured(f"{slug(table.name)}_{setting.name}_{kind}", key, job)
            results.append(SettingResult(setting, **parts))
        shape = (*table.X.shape, len(table.X_test))
        return TableResult(table.name, table.paper_name, table.words, (shape[0], shape[2], shape[1]), results)

    def _measured(self, name: str, key: dict[str, object], job: Callable[[], Measured]) -> Measured:
        found = self.store.get(name, key)
        if found is not None:
            self.n_kept += 1
        else:
            self.progress.update(self._now, description=name, completed=0.0, visible=True)
            made = job()
            found = Measured({**made.figures, "machine": machine(), "date": today()}, made.arrays)
            self.store.put(name, key, found)
            self.n_made += 1
        self.progress.advance(self._all)
        return found

    def _share(self, share: float) -> None:
        self.progress.update(self._now, completed=share)
