"""Numbers that may stand for a missing value are pointed out, and ordinary columns are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from benchmarks.real_data import DATA
from ipub import BoundedClassifier, SentinelWarning
from ipub.tables.columns import sentinel_in

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ([-999.0, -999.0, *RNG.normal(50, 10, 100)], -999.0),
        ([999.0, 999.0, *RNG.normal(50, 10, 100)], 999.0),
        ([-9.0, -9.0, *RNG.uniform(0, 1, 100)], -9.0),
        ([0.0] * 10 + list(RNG.normal(120, 20, 100)), 0.0),
        ([-999.0, *RNG.normal(50, 10, 100)], None),  # once is no habit
        ([0.0] * 150 + list(RNG.normal(120, 20, 100)), None),  # the usual value
        (np.clip(RNG.normal(0.5, 0.15, size=1000), 0.0, 1.0), None),  # a clip is no gap
        (RNG.normal(size=100), None),
        (RNG.poisson(2.0, 200).astype(float), None),
        (RNG.poisson(0.3, 200).astype(float), None),
        (np.r_[np.zeros(50), RNG.exponential(1.0, 50)], None),
        (RNG.integers(0, 2, 100).astype(float), None),
        ([0.0] * 50 + [100.0] * 50, None),
        (np.arange(100.0), None),
        (np.full(10, -999.0), None),
    ],
)
def test_what_is_taken_for_a_sign_of_a_missing_value(column, found):
    assert sentinel_in(np.asarray(column)) == found


def test_one_warning_names_every_column_and_the_remedy():
    X = RNG.normal([120.0, 50.0, 0.0], [20.0, 5.0, 1.0], size=(200, 3))
    X[:7, 0], X[3:9, 1], X[20:25, 2] = 0.0, -999.0, np.nan
    frame, y = pd.DataFrame(X, columns=["sugar", "age", "size"]), np.arange(200) % 2
    with pytest.warns(SentinelWarning, match=r"'sugar' \(0\), 'age' \(-999\)\. If it stands .*NaN") as caught:
        BoundedClassifier(scale="standard").fit(frame, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BoundedClassifier(scale="standard").fit(frame.replace({0.0: np.nan, -999.0: np.nan}), y)


def test_the_impossible_zeros_of_a_real_table_are_found():
    path = DATA / "heart_disease_4sites.parquet"
    if not path.exists():
        pytest.skip(f"the real data are not at {DATA}")
    frame = pd.read_parquet(path).dropna(subset=["num"])
    with pytest.warns(SentinelWarning, match=r"'chol' \(0\)"):
        BoundedClassifier(scale="standard", certificate="ball").fit(frame.drop(columns="num"), frame["num"] > 0)
