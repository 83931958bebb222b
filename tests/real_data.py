"""Real tables that several test modules share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@cache
def load_default(n_train: int = 27_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X_train, y_train, X_test, y_test of the credit card clients, scaled to [0, 1], labels -1 and +1.

    28 columns: 20 numbers, SEX, EDUCATION (the undocumented 0, 5 and 6 are 4, "other") and MARRIAGE (0 is 3)
    one-hot. Each column is clipped at its 0.5 and 99.5 percentiles in the training part, then min-max scaled.
    """
    table = pq.read_table(DATA / "default.parquet")
    columns = {name: table.column(name).to_numpy().astype(float) for name in table.column_names}
    y = np.where(columns.pop("default") == 1.0, 1.0, -1.0)
    education, marriage = columns.pop("EDUCATION"), columns.pop("MARRIAGE")
    education[np.isin(education, [0.0, 5.0, 6.0])] = 4.0
    marriage[marriage == 0.0] = 3.0
    columns |= {f"EDUCATION_{k}": education == k for k in (1, 2, 3, 4)}
    columns |= {f"MARRIAGE_{k}": marriage == k for k in (1, 2, 3)}
    X = np.column_stack([column.astype(float) for column in columns.values()])
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train:]
    low, high = np.percentile(X[train], [0.5, 99.5], axis=0)
    binary = np.isin(X, [0.0, 1.0]).all(axis=0)  # a rare dummy would be clipped away
    low, high = np.where(binary, 0.0, low), np.where(binary, 1.0, high)
    X = (np.clip(X, low, high) - low) / (high - low)
    for part in (X, y):
        part.flags.writeable = False
    return X[train], y[train], X[test], y[test]
