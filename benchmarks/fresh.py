"""One fit in a process of its own: its time, and by how much the memory of the process grows meanwhile.

The process loads the table, fits a few rows of it, so that all code is loaded, and then fits the table. What is counted
is the highest resident memory (VmHWM, which starts anew in every process) less what was resident before `fit`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ipub import BoundedClassifier
from ipub.numeric.rounding import Array

LAMBDA = 0.1
FEW_ROWS = 300
PARTS = ("X", "y", "ranges")


@dataclass(frozen=True)
class Fit:
    """What a fit took: seconds, bytes of the table, growth of the resident memory at its peak and what stayed of it."""

    seconds: float
    table: int
    peak: int
    kept: int


@contextmanager
def on_disk(X: Array, y: Array, ranges: Array) -> Iterator[Path]:
    """Write a table where other processes find it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, part in zip(PARTS, (X, y, ranges), strict=True):
            np.save(Path(folder) / f"{name}.npy", part)
        yield Path(folder)


def fit_in_fresh_process(folder: Path, certificate: str) -> Fit:
    """Fit the table in a folder."""
    command = [sys.executable, "-m", "benchmarks.fresh", str(folder), certificate]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Fit(**json.loads(done.stdout))


def main() -> None:
    folder, certificate = Path(sys.argv[1]), sys.argv[2]
    X, y, ranges = (np.load(folder / f"{name}.npy") for name in PARTS)
    clf = BoundedClassifier(alpha=LAMBDA, fit_intercept=False, certificate=certificate, intervals=ranges)
    few = np.r_[np.flatnonzero(y < 0)[:FEW_ROWS], np.flatnonzero(y > 0)[:FEW_ROWS]]
    _ = clf.fit(X[few], y[few]).certificate_
    before = resident("VmRSS")
    start = time.perf_counter()
    _ = clf.fit(X, y).certificate_
    seconds = time.perf_counter() - start
    peak, after = resident("VmHWM"), resident("VmRSS")
    print(json.dumps({"seconds": seconds, "table": X.nbytes, "peak": peak - before, "kept": after - before}))


def resident(what: str) -> int:
    """Return bytes, as Linux counts them."""
    status = Path("/proc/self/status")
    if not status.is_file():
        raise SystemExit("Memory is measured with /proc/self/status, which only Linux has.")
    line = next(line for line in status.read_text().splitlines() if line.startswith(f"{what}:"))
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    main()
