"""How long a fresh process waits: for imports, and for a first fit beyond what a second one takes.

Each line is the median of five processes, those of all lines in turn: the import of scikit-learn, that of
`BoundedClassifier` after it, then a fit with bounds of 50 rows, twice. Without loops it is as if there had been no
compiler when the package was installed. The second table is of whole processes that do one small thing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from statistics import median

from rich.console import Console

from benchmarks.lines import Lines
from benchmarks.real_data import DATA

PROCESSES = 5
TARGET = 1.5
"""Seconds that a first fit may take beyond a second one."""

BUILT_IN, TABLE = "built-in table", "mammographic_masses"

LOADERS = {
    BUILT_IN: "from ipub.datasets import load_mammographic_masses\nX, y = load_mammographic_masses()",
    "the same, a DataFrame": f"""
import pandas as pd
X = pd.read_parquet({str(DATA / f"{TABLE}.parquet")!r})
y = X.pop("severity").to_numpy()""",
}

WITHOUT_LOOPS = """
import sys
sys.modules.update(dict.fromkeys(["ipub.numeric.compiled.kernels", "ipub.numeric.compiled.row_sum_loops"]))"""

CODE = """
import json, time
times = [time.perf_counter()]
import sklearn.base
times.append(time.perf_counter())
from ipub import BoundedClassifier
times.append(time.perf_counter())
{load}
for _ in range(2):
    start = time.perf_counter()
    BoundedClassifier(scale="standard").fit(X[50:], y[50:]).predict_proba_bounds(X[:50])
    times.append(time.perf_counter() - start)
print(json.dumps([times[1] - times[0], times[2] - times[1], *times[3:]]))
"""

SMALL = {
    "import ipub": ["-c", "import ipub"],
    "ipub --version": ["-m", "ipub.app", "--version"],
    "ipub --help": ["-m", "ipub.app", "--help"],
    "ipub fit --help": ["-m", "ipub.app", "fit", "--help"],
}


def run(console: Console) -> None:
    jobs = {
        f"{name}, {how}": f"{before}{CODE.format(load=load)}"
        for name, load in LOADERS.items()
        if name == BUILT_IN or (DATA / f"{TABLE}.parquet").exists()
        for how, before in (("loops in C", ""), ("no loops", WITHOUT_LOOPS))
    }
    found = [{name: json.loads(_output("-c", code)) for name, code in jobs.items()} for _ in range(PROCESSES)]
    lines = Lines(
        console,
        f"A first fit, medians of {PROCESSES} processes",
        "what".ljust(34),
        "import scikit-learn s",
        "import ipub s",
        "first fit s",
        "second fit s",
        "first - second s",
        "target",
    )
    for name in jobs:
        times = [round[name] for round in found]
        waited = median(first - second for *_, first, second in times)
        cells = [f"{median(each):.3f}" for each in zip(*times, strict=True)]
        lines.add(name, *cells, f"{waited:.3f}{'!' if waited > TARGET else ''}", f"<= {TARGET:g}")
    lines = Lines(console, f"Whole processes, medians of {PROCESSES}", "what".ljust(16), "s")
    seconds = [{name: _seconds(*arguments) for name, arguments in SMALL.items()} for _ in range(PROCESSES)]
    for name in SMALL:
        lines.add(name, f"{median(each[name] for each in seconds):.3f}")


def _output(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def _seconds(*arguments: str) -> float:
    start = time.perf_counter()
    _output(*arguments)
    return time.perf_counter() - start
