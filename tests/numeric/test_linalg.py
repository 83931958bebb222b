"""Definite matrices, their inverses and ratios of forms, against exact arithmetic."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq_mat

from ipub.certificates.slopes.cells import CellTerms
from ipub.numeric.linalg import (
    EnclosedInverse,
    Inverse,
    definiteness,
    form_upper,
    forms_upper,
    greatest_ratio_upper,
    root_form_upper,
    rounded_up,
    rows_times,
)
from support.oracles.rationals import exact_dot, rational, rational_rows, rationals

SCALES = [0.0, 3.0, 12.0]


def draw_matrix(seed: int, scale: float, d: int | None = None) -> np.ndarray:
    """Draw a symmetric matrix: with clear or hardly positive eigenvalues, and columns of different units."""
    rng = np.random.default_rng([seed, int(scale)])
    d = d or int(rng.integers(1, 6))
    vectors = np.linalg.qr(rng.normal(size=(d, d)))[0]
    matrix = (vectors * 10.0 ** rng.uniform(-scale, 0.0, size=d)) @ vectors.T
    unit = 10.0 ** rng.uniform(-scale, scale, size=d)
    matrix = matrix * np.outer(unit, unit)
    return np.triu(matrix) + np.triu(matrix, 1).T


def is_definite(matrix: list[list]) -> bool:
    """Say whether a symmetric matrix of rationals is positive definite, by its leading minors."""
    return all(fmpq_mat([row[:k] for row in matrix[:k]]).det() > 0 for k in range(1, len(matrix) + 1))


def minus(left: list[list], right: list[list]) -> list[list]:
    return [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


def difference(left: np.ndarray, right: np.ndarray) -> list[list]:
    return minus(rational_rows(left), rational_rows(right))


def assert_between(exact: list[list], center: np.ndarray, spread: np.ndarray) -> None:
    """Prove ``-spread < exact - center < spread`` in the order of matrices."""
    assert is_definite(minus(rational_rows(spread), minus(exact, rational_rows(center))))
    assert is_definite(minus(rational_rows(spread), minus(rational_rows(center), exact)))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(12))
def test_definiteness_is_proved_exactly(seed, scale):
    matrix = draw_matrix(seed, scale)
    share = definiteness(matrix)
    if share is None:
        assert scale > 3.0
        return
    # M - (share / 2) diag(M) is positive definite.
    assert is_definite(difference(matrix, np.diag(0.5 * share * np.diag(matrix))))


@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([1.0, -1.0]),
        np.diag([1.0, 0.0]),
        np.ones((2, 2)),
        np.full((2, 2), np.nan),
        np.diag([1.0, np.inf]),
        np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]]),
    ],
    ids=["negative", "zero", "singular", "nan", "infinite", "an ulp"],
)
def test_what_is_not_definite_is_refused(matrix):
    assert definiteness(matrix) is None
    assert Inverse.of(matrix) is None
    assert EnclosedInverse.between(matrix, 3.0 * np.eye(2)) is None


def test_a_factorisation_that_overflows_on_its_way_proves_nothing():
    # Pivots that cancel to an ulp make a later column grow to infinity, and some LAPACKs let the NaN pass.
    assert definiteness(np.array([[1e-300, 0, 1e300], [0, 1, 0], [1e300, 0, 1e300]])) is None
    d, share = 60, 0.1
    wanted = np.eye(d) * (1.0 + 2.0**-52)
    wanted[0, 0] = wanted[0, 1] = wanted[1, 0] = 1.0
    for k in range(1, d - 1):
        wanted[k, k + 1] = wanted[k + 1, k] = 2.0**-26
    wanted[[0, *range(3, d - 1)], -1] = wanted[-1, [0, *range(3, d - 1)]] = 10.0
    matrix = wanted.copy()
    matrix[np.diag_indices(d)] = np.diag(wanted) / (1.0 - share)
    assert np.linalg.eigvalsh(matrix)[0] < -1.0
    assert definiteness(matrix) is None


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(12))
def test_the_inverse_is_enclosed_exactly(seed, scale):
    matrix = draw_matrix(seed, scale)
    inverse = Inverse.of(matrix)
    if inverse is None:
        return
    exact = fmpq_mat(rational_rows(matrix)).inv().tolist()
    d = len(matrix)
    assert_between(exact, inverse.center, np.diag(inverse.error))
    X = np.vstack([np.eye(d), np.random.default_rng(seed).normal(size=(4, d)) * 10.0**scale])
    for x, norm in zip(rational_rows(X), inverse.norm_upper(X), strict=True):
        assert exact_dot(x, [exact_dot(row, x) for row in exact]) <= rational(norm) ** 2


@pytest.mark.parametrize("scale", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(12))
def test_the_enclosed_inverse_holds_what_lies_between_exactly(seed, scale):
    lower = draw_matrix(seed, scale)
    rng = np.random.default_rng(seed)
    upper = lower + np.diag(rng.uniform(0.0, 0.3, size=len(lower)) * np.diag(lower))
    inverse = EnclosedInverse.between(lower, upper)
    assert inverse is not None
    for share in (0.0, 0.25, 1.0):
        between = [
            [a + rational(share) * b for a, b in zip(*rows, strict=True)]
            for rows in zip(rational_rows(lower), difference(upper, lower), strict=True)
        ]
        exact = fmpq_mat(between).inv().tolist()
        assert_between(exact, inverse.center, inverse.spread)


@pytest.mark.parametrize("size", [1.0, 1e10])
@pytest.mark.parametrize("seed", range(12))
def test_the_enclosed_inverse_holds_where_one_end_is_far_less_accurate_than_the_other(seed, size):
    """The inverse of the lower end is off by a good part of its error bound, and that of the upper end by nothing."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    lower = (vectors * [1.0, 1e-3, 1e-7]) @ vectors.T
    lower = np.triu(lower) + np.triu(lower, 1).T
    inverse = EnclosedInverse.between(lower, 2.0 * size * np.eye(3))
    assert inverse is not None
    assert_between(fmpq_mat(rational_rows(lower)).inv().tolist(), inverse.center, inverse.spread)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(12))
def test_forms_are_bounded_exactly(seed, scale):
    rng = np.random.default_rng(seed)
    matrix = draw_matrix(seed, scale)
    matrix = matrix if seed % 2 else matrix - np.diag(2.0 * np.diag(matrix))
    X = rng.normal(size=(5, len(matrix))) * 10.0 ** rng.uniform(-scale, scale, size=(5, 1))
    exact = [exact_dot(x, [exact_dot(row, x) for row in rational_rows(matrix)]) for x in rational_rows(X)]
    for value, bound, root in zip(exact, form_upper(matrix, X), root_form_upper(matrix, X), strict=True):
        assert bound >= 0.0
        assert value <= rational(bound)
        assert value <= rational(root) ** 2


@pytest.mark.parametrize("scale", [0.0, 2.0, 5.0])
@pytest.mark.parametrize("seed", range(16))
def test_the_greatest_ratio_of_forms_is_bounded_exactly(seed, scale):
    rng = np.random.default_rng(seed)
    metric = draw_matrix(seed, scale)
    d = len(metric)
    rows = rng.normal(size=(int(rng.integers(0, d + 2)), d)) * np.sqrt(np.diag(metric))
    matrix = rows.T @ rows
    bound = greatest_ratio_upper(matrix, metric)
    if not np.isfinite(bound):
        assert scale > 0.0 or not matrix.any()
        return
    scaled = [[rational(bound) * entry for entry in row] for row in rational_rows(metric)]
    assert is_definite(minus(scaled, rational_rows(matrix)))
    if scale == 0.0 and len(rows):
        assert bound <= 1.01 * np.linalg.eigvals(np.linalg.solve(metric, matrix)).real.max()


@pytest.mark.parametrize("distance", 10.0 ** np.linspace(-15.5, -6.0, 20))
def test_a_ratio_to_a_metric_that_is_nearly_singular_is_proved_or_unbounded(distance):
    """The eigenvalues that are computed may be off by far more than they are enlarged by."""
    for share in (1.0, 0.7, 0.9):
        metric = np.array([[1.0, share - distance], [share - distance, share**2]])
        matrix = np.outer([share, -1.0], [share, -1.0])
        bound = greatest_ratio_upper(matrix, metric)
        if np.isfinite(bound):
            scaled = [[rational(bound) * entry for entry in row] for row in rational_rows(metric)]
            assert is_definite(minus(scaled, rational_rows(matrix)))


def test_a_ratio_to_nothing_is_unbounded():
    assert greatest_ratio_upper(np.eye(2), np.diag([1.0, 0.0])) == np.inf
    assert greatest_ratio_upper(np.full((2, 2), np.nan), np.eye(2)) == np.inf


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n_forms", [3, 20], ids=["one by one", "by pairs"])
def test_each_of_several_forms_is_bounded_exactly_and_closely(n_forms, scale):
    rng = np.random.default_rng([n_forms, int(scale)])
    d = 4
    factors = rng.normal(size=(n_forms, d, 2)) * 10.0 ** rng.uniform(-scale, scale, size=(n_forms, 1, 1))
    # Of rank two, so that values cancel for many rows; rounded up, they are forms that are not negative.
    forms = np.array([rounded_up(factor @ factor.T, 10) for factor in factors])
    X = np.concatenate([rng.normal(size=(20, d)) * 10.0 ** rng.uniform(-scale, scale, size=(20, d)), np.eye(d)])
    X = np.concatenate([X, [np.linalg.svd(factor.T)[2][-1] for factor in factors], np.zeros((1, d))])
    bounds = forms_upper(forms, X)
    sizes = (np.abs(X) @ np.sqrt(np.einsum("gjj->gj", forms)).T) ** 2
    for g, form in enumerate(map(rational_rows, forms)):
        for i, x in enumerate(map(rationals, X)):
            exact = exact_dot(x, [exact_dot(row, x) for row in form])
            assert exact <= rational(bounds[i, g])
            assert bounds[i, g] <= float(exact.p) / float(exact.q) + 1e-12 * sizes[i, g] + 1e-150


@pytest.mark.parametrize("seed", range(20))
def test_a_zonotope_is_bounded_by_at_least_its_farthest_vertex_and_little_more(seed):
    rng = np.random.default_rng(seed)
    d, cells = int(rng.integers(1, 4)), int(rng.integers(0, 6))
    matrix = draw_matrix(seed, 1.0, d)
    G = rng.normal(size=(cells, d)) * 10.0 ** rng.uniform(-2.0, 1.0, size=(cells, 1))
    box = np.where(rng.random(d) < 0.5, rng.uniform(0.0, 0.5, size=d), 0.0)
    terms = SimpleNamespace(
        choices=(),
        generators=G,
        incomplete=SimpleNamespace(roundings=30),
        weights=lambda inverse: np.abs(G).sum(axis=1),
    )
    bound = CellTerms.zonotope_upper(terms, matrix, box)
    parts = np.vstack([G, np.diag(box)])
    with ctx.workprec(200):
        inverse, greatest = arb_mat(matrix.tolist()).inv(), arb(0)
        for signs in itertools.product([-1, 1], repeat=len(parts)):
            z = arb_mat(
                [
                    [sum((arb(s) * arb(g) for s, g in zip(signs, column, strict=True)), arb(0))]
                    for column in parts.T.tolist()
                ]
            )
            greatest = arb.max(greatest, (z.transpose() * inverse * z)[0, 0])
        assert greatest <= arb(bound) ** 2
        assert float(bound) <= 2.0 * float(greatest.sqrt()) + 1e-6


@pytest.mark.parametrize("n", [3, 1024, 2500])
@pytest.mark.parametrize("k", [1, 5, 70])
def test_a_product_in_pieces_is_the_product(n, k):
    rng = np.random.default_rng(0)
    X, matrix = rng.normal(size=(n, 6)), rng.normal(size=(6, k))
    np.testing.assert_allclose(rows_times(X, matrix), X @ matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows_times(X[:, ::2], matrix[::2]), X[:, ::2] @ matrix[::2], rtol=1e-12, atol=1e-12)
