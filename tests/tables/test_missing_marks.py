"""Numbers that stand for missing values are found in real columns, and true values are left alone."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ipub.tables.missing_marks import marks_of_missing

DATA = Path(__file__).parents[3] / "shared" / "data"


def test_zeros_of_heart_disease_are_named():
    chol = pd.read_parquet(DATA / "heart_disease_4sites.parquet")["chol"].to_numpy(float, na_value=np.nan)
    assert marks_of_missing(chol) == [(0.0, int((chol == 0).sum()), chol[chol > 0].min())]


@pytest.mark.parametrize("name", ["glucose", "blood_pressure", "skin_thickness", "insulin", "bmi"])
def test_zeros_that_stood_for_missing_values_in_pima_are_named(name):
    values = pd.read_parquet(DATA / "pima_diabetes.parquet")[name].to_numpy(float, na_value=np.nan)
    assert marks_of_missing(values) == []
    assert [mark.value for mark in marks_of_missing(np.nan_to_num(values))] == [0.0]


@pytest.mark.parametrize("mark", [-1.0, -9.0, 99.0, 999.0, -999.0])
def test_a_mark_is_found_on_either_side(mark):
    values = np.concatenate([np.linspace(20, 40, 30).round(), [mark] * 3])
    assert [found.value for found in marks_of_missing(values)] == [mark]


def test_a_second_mark_is_found_beyond_the_first():
    values = np.concatenate([np.linspace(20, 40, 30).round(), [-9.0] * 3, [-99.0] * 2])
    assert [found.value for found in marks_of_missing(values)] == [-99.0, -9.0]


def test_true_values_are_no_marks():
    rng = np.random.default_rng(0)
    assert marks_of_missing(rng.poisson(2.0, 500)) == []
    assert marks_of_missing(rng.normal(size=500)) == []
    assert marks_of_missing([0.0, 1.0] * 50) == []
    assert marks_of_missing([]) == []
    assert marks_of_missing([np.nan, 3.0]) == []
