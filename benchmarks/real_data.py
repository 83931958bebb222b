"""Real data sets, prepared as in the paper's Appendix B."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import IntervalMatrix

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def load(name: str, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return training table, labels -1/+1 and test table: 90/10 split, clipped, min-max scaled."""
    if not DATA.exists():
        raise SystemExit(f"The real data sets are not at {DATA}: put {name}.parquet there.")
    X, y = {"default": _default, "default23": _default_raw, "higgs_51k": _higgs, "drive_partial": _drive}[name]()
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    n_train = len(X) - len(X) // 10
    low, high = np.percentile(X[:n_train], [0.5, 99.5], axis=0)
    numeric = np.array([len(np.unique(column[:1000])) > 2 for column in X.T])
    X = np.where(numeric, np.clip(X, low, high), X)
    least, span = X[:n_train].min(axis=0), np.ptp(X[:n_train], axis=0)
    X = (X - least) / np.where(span > 0.0, span, 1.0)
    return X[:n_train], y[:n_train], X[n_train:]


def with_holes(X: Array, share: float, level: float, seed: int = 1) -> IntervalMatrix:
    """Make a fraction of the cells missing at random, each with the quantile interval of its column.

    As in the paper, for one-hot columns too, whose interval may then be a point.
    """
    rng = np.random.default_rng(seed)
    table = X.copy()
    table.ravel()[rng.choice(X.size, int(share * X.size), replace=False)] = np.nan
    ranges = np.quantile(X, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0).T
    return IntervalMatrix.from_table(table, ranges)


def _columns(name: str) -> dict[str, Array]:
    table = pq.read_table(DATA / f"{name}.parquet")
    return {column: table[column].to_numpy().astype(float) for column in table.column_names}


def _default() -> tuple[Array, Array]:
    """28 features: 20 numeric, SEX, EDUCATION one-hot (0, 5, 6 merged into 4), MARRIAGE one-hot (0 into 3)."""
    columns = _columns("default")
    y = columns.pop("default")
    education, marriage = columns.pop("EDUCATION"), columns.pop("MARRIAGE")
    education = np.where(np.isin(education, [0, 5, 6]), 4, education)
    marriage = np.where(marriage == 0, 3, marriage)
    one_hot = [education == k for k in (1, 2, 3, 4)] + [marriage == k for k in (1, 2, 3)]
    return np.column_stack([*columns.values(), *one_hot]).astype(float), np.where(y > 0, 1.0, -1.0)


def _default_raw() -> tuple[Array, Array]:
    """The 23 raw columns as numbers."""
    columns = _columns("default")
    y = columns.pop("default")
    return np.column_stack(list(columns.values())), np.where(y > 0, 1.0, -1.0)


def _higgs() -> tuple[Array, Array]:
    columns = _columns("higgs_51k")
    y = columns.pop("label")
    columns.pop("subset")
    return np.column_stack(list(columns.values())), np.where(y > 0, 1.0, -1.0)


def _drive() -> tuple[Array, Array]:
    """Class 1 against the rest."""
    columns = _columns("drive_partial")
    features = np.column_stack([columns[f"f{k:02d}"] for k in range(1, 49)])
    return features, np.where(columns["class"] == 1, 1.0, -1.0)
