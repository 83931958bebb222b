"""Times of several jobs, taken in turn, so that noise of the machine affects all of them."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def medians(repeats: int, *jobs: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Run the jobs in turn, several times; return the median seconds of each, by the clock."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(repeats):
        for job, spent in zip(jobs, times, strict=True):
            start = clock()
            job()
            spent.append(clock() - start)
    return [float(np.median(spent)) for spent in times]
