"""Regions and certificates: what they say of a row, whatever the theorem behind them."""

from itertools import product

import numpy as np
import pytest

from ipub.certificates import Certificate, Region
from ipub.model_sets.certificate import intersection


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 3)) * 10.0 ** np.random.default_rng(1).uniform(-3, 3, size=(30, 1))


CENTER, BOX = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.0, 2.0])


def certificate(*regions):
    return Certificate("test", regions, 0.0)


def test_bounds_of_a_region_are_its_support_function_and_hold_its_points(X):
    region = Region("a", CENTER, BOX, 0.7)
    bounds = certificate(region).score_bounds(X)
    assert bounds.shape == (30, 2)
    half = np.abs(X) @ BOX + 0.7 * np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(bounds[:, 0], X @ CENTER - half, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(bounds[:, 1], X @ CENTER + half, rtol=1e-13, atol=1e-12)
    rng = np.random.default_rng(2)
    for signs in product((-1.0, 1.0), repeat=3):
        for direction in rng.normal(size=(20, 3)):
            point = CENTER + BOX * signs + 0.7 * (1.0 - 1e-9) * direction / np.linalg.norm(direction)
            assert (bounds[:, 0] <= X @ point).all()
            assert (X @ point <= bounds[:, 1]).all()


def test_a_point_has_bounds_some_rounding_errors_wide(X):
    bounds = certificate(Region("a", CENTER, np.zeros(3), 0.0)).score_bounds(X)
    assert (bounds[:, 0] <= X @ CENTER).all()
    assert (bounds[:, 1] >= X @ CENTER).all()
    assert (np.diff(bounds, axis=1)[:, 0] <= 20 * 2.0**-52 * (np.abs(X) @ np.abs(CENTER)) + 1e-150).all()


def test_a_certificate_takes_the_best_of_each_end(X):
    parts = [certificate(Region("a", CENTER, BOX, 0.7)), certificate(Region("b", CENTER + 0.5, 0.1 * BOX, 2.0))]
    both = intersection("both", parts)
    lows, highs = (np.column_stack([part.score_bounds(X)[:, k] for part in parts]) for k in (0, 1))
    expected = np.column_stack([lows.max(axis=1), highs.min(axis=1)])
    # A product with more columns may add in another order.
    np.testing.assert_allclose(both.score_bounds(X), expected, rtol=1e-14, atol=1e-12)
    assert both.name == "both"
    assert len(both.parts) == 2


@pytest.mark.parametrize(
    "region",
    [
        Region("nan center", np.full(3, np.nan), np.zeros(3), 1.0),
        Region("nan box", np.zeros(3), np.full(3, np.nan), 1.0),
        Region("nan radius", np.zeros(3), np.zeros(3), np.nan),
        Region("infinite center", np.full(3, np.inf), np.zeros(3), 1.0),
        Region("infinite box", np.zeros(3), np.full(3, np.inf), 1.0),
        Region("infinite radius", np.zeros(3), np.zeros(3), np.inf),
        Region("opposite infinities", np.array([np.inf, -np.inf, 0.0]), np.zeros(3), 1.0),
        Region("huge center", np.full(3, 1e308), np.zeros(3), 1.0),
    ],
    ids=lambda region: region.name,
)
def test_a_region_that_is_no_set_of_numbers_says_nothing_and_never_nan(region):
    X = np.array([[1.0, 2.0, 3.0], [-1e10, 1e10, 5.0], [0.0, 0.0, 0.0]])
    bounds = certificate(region).score_bounds(X)
    assert not np.isnan(bounds).any()
    np.testing.assert_array_equal(bounds[:2], np.tile([-np.inf, np.inf], (2, 1)))
    good = Region("good", CENTER, BOX, 0.7)
    both, alone = certificate(region, good).score_bounds(X[:2]), certificate(good).score_bounds(X[:2])
    np.testing.assert_allclose(both, alone, rtol=1e-14)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_a_row_that_overflows_has_infinite_bounds_and_never_nan(value):
    X = np.array([[value, 1.0, 1.0], [1.0, 1.0, 1.0]])
    bounds = certificate(Region("a", CENTER * 1e200, BOX, 1e200)).score_bounds(X)
    np.testing.assert_array_equal(bounds[0], [-np.inf, np.inf])
    assert np.isfinite(bounds[1]).all()


def test_an_open_side_matters_only_to_rows_that_see_it():
    region = Region("open", CENTER, np.array([0.1, 0.0, np.inf]), 0.7, n_free=1)
    closed = Region("closed", CENTER, np.array([0.1, 0.0, 0.0]), 0.7, n_free=1)
    X = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1e-300], [0.0, 0.0, -1.0]])
    bounds = certificate(region).score_bounds(X)
    np.testing.assert_array_equal(bounds[0], certificate(closed).score_bounds(X[:1])[0])
    np.testing.assert_array_equal(bounds[1:], np.tile([-np.inf, np.inf], (2, 1)))


def test_no_rows_have_no_bounds():
    assert certificate(Region("a", CENTER, BOX, 0.7)).score_bounds(np.zeros((0, 3))).shape == (0, 2)


def test_the_repr_names_what_was_certified_and_how():
    regions = [Region(name, CENTER, BOX, 0.7) for name in ("sphere", "ball", "ball", "origin")]
    assert (
        repr(Certificate("tight", tuple(regions), 1.23e-9)) == "Certificate('tight': sphere, ball, origin; gap=1.2e-09)"
    )


def test_what_is_for_few_rows_is_left_out_of_longer_calls_and_of_what_says_so_of_them(X):
    few, any_ = Region("few", CENTER, 0.5 * BOX, 0.1), Region("any", CENTER, BOX, 0.7)
    object.__setattr__(few, "most_rows", 10)
    both = certificate(few, any_)
    np.testing.assert_array_equal(both.score_bounds(X), certificate(any_).score_bounds(X))
    np.testing.assert_array_equal(both.score_bounds(X[:10]), certificate(few).score_bounds(X[:10]))
    assert [part.name for part in both.in_calls_of(30).parts] == ["any"]
    assert {part.name for part in both.in_calls_of(10).parts} == {"few", "any"}
