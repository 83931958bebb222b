"""Real tables for tests. They lie beside the repository; in CI they must be there."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

from benchmarks.real_data import DATA, load


@cache
def load_default() -> tuple[np.ndarray, np.ndarray]:
    """Return the training part of the credit card clients, 27,000 x 28, and labels -1 and +1."""
    if not DATA.exists() and not os.environ.get("CI"):
        pytest.skip(f"the real data are not at {DATA}")
    X, y, _ = load("default")
    for part in (X, y):
        part.flags.writeable = False
    return X, y
