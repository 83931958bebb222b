import numpy as np
import pytest

from experiments import measure
from experiments.prepare import higgs_shaped
from experiments.results import METHODS, SettingResult
from experiments.settings import Setting
from ipub.certificates import CERTIFICATES
from ipub.problem.solvers import solve

SETTING = Setting(1.0, 0.01, 0.5)


@pytest.fixture(scope="module")
def table():
    return higgs_shaped(None, (200, 30))


@pytest.fixture(scope="module")
def result(table):
    """Everything measured with the real rivals."""
    heard: list[float] = []
    parts = (
        measure.measure_bounds(table, SETTING),
        measure.measure_attained(table, SETTING, 6, heard.append),
        measure.measure_imputation(table, SETTING, 6, (7, 2), heard.append),
    )
    assert heard.count(1.0) >= 2
    return SettingResult(SETTING, *parts)


def test_the_bounds_are_those_of_the_library(table, result):
    problem = measure.problem_of(table, SETTING)
    for name in ("sphere", "tight"):
        bounds = CERTIFICATES[name](problem, solve(problem)).score_bounds(table.X_test)
        np.testing.assert_allclose(result.bounds.arrays[name], bounds, rtol=1e-12)
    assert {name: len(times) for name, times in result.bounds.figures["seconds"].items()} == dict.fromkeys(METHODS, 3)


def test_every_certificate_holds_what_is_attained(result):
    for method in METHODS:
        assert not result.covered(method).exceeded.any()
        assert result.excess(method) >= 1.0 - 1e-6
        assert result.bounds.arrays[method].shape == (30, 2)
    assert result.excess("tight") <= min(result.excess(method) for method in METHODS)


def test_imputation_reports_numbers_and_ranges_that_grow(result):
    found = result.imputation
    assert set(found.arrays) == {
        "single",
        "complete",
        *(f"multiple{n}_{w}" for n in (2, 7) for w in ("range", "pooled")),
    }
    for name in ("single", "complete"):
        assert (np.ptp(found.arrays[name], axis=1) == 0.0).all()
    few, many = found.arrays["multiple2_range"], found.arrays["multiple7_range"]
    assert (many[:, 0] <= few[:, 0]).all()
    assert (many[:, 1] >= few[:, 1]).all()
    assert (many[:, 1] > many[:, 0]).all()
    middle, spread = found.arrays["multiple2_pooled"].mean(axis=1), np.ptp(found.arrays["multiple2_pooled"], axis=1)
    np.testing.assert_allclose(middle, few.mean(axis=1))
    np.testing.assert_allclose(spread, 2 * 1.96 * np.sqrt(1.5 * 0.5) * np.ptp(few, axis=1))
    assert found.figures["seconds"]["multiple7"] > found.figures["seconds"]["multiple2"] > 0.0


def test_a_long_job_is_timed_once(table, monkeypatch):
    monkeypatch.setattr(measure, "MOST_SECONDS", 0.0)
    assert set(map(len, measure.measure_bounds(table, SETTING).figures["seconds"].values())) == {1}
