"""A run of all experiments on tiny tables; started as a program, it is killed in the middle."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from experiments import measure, run
from experiments.sources import DRIVE, HIGGS
from support import stand_ins
from support.small_sources import counts, default_frame, default_source, drive_frame, higgs_frame

DATA = Path("data")
GRID = run.GRID[:2]
PLAN = run.Plan(GRID, most=(60, 12), n_attained=3, imputations=(5,), imputations_deep=(7,))


def prepare(monkeypatch):
    """Put tiny data sets into a folder, and make a run take them; HIGGS is there in part."""
    DATA.mkdir(exist_ok=True)
    default, drive, higgs = default_frame(), drive_frame(), higgs_frame()
    default.to_parquet(DATA / "default.parquet")
    drive.to_parquet(DATA / "drive.parquet")
    higgs.to_parquet(DATA / "higgs_51k.parquet")
    sources = {
        "default": default_source(default),
        "drive": replace(DRIVE, classes=counts(drive["class"])),
        "HIGGS": replace(HIGGS, partial={"higgs_51k.parquet": counts(higgs["label"])}, url="http://127.0.0.1:9/h.zip"),
    }
    monkeypatch.setattr(run, "SOURCES", sources)
    monkeypatch.setattr(run, "FULL", PLAN)
    monkeypatch.setattr(run, "QUICK", replace(PLAN, most=(40, 8)))
    monkeypatch.setattr(measure, "REPEATS", 1)
    stand_ins.use(monkeypatch)


class _Always:
    """Sets attributes for good."""

    setattr = staticmethod(setattr)


def main(n_measurements: int) -> None:
    """Run, and be killed at one of the measurements, before it is finished."""
    prepare(_Always)
    whole, seen = measure.measure_attained, []

    def killed(*args):
        seen.append(None)
        if len(seen) == n_measurements:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(*args)

    measure.measure_attained = killed
    run.reproduce(["default", "drive"], DATA, Path("out"))


if __name__ == "__main__":
    main(int(sys.argv[1]))
