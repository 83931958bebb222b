"""Sparse rows: the sums of the same table in memory, rounding bounded, and no table of all entries."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from ipub import IntervalMatrix
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import norm_upper
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import Block, MemoryRows, with_intercept_column
from ipub.rows import sparse as engine
from ipub.rows.block import with_norms
from ipub.rows.sparse import SparseIntervals, SparseRows
from ipub.rows.sparse_array import SparseArray, row_width, unit_rows


def table_with_holes(n=80, d=30, density=0.2, seed=0):
    rng = np.random.default_rng(seed)
    table = random_array((n, d), density=density, random_state=rng).tocsr()
    table.data = 2.0 * table.data - 0.5
    table.data[rng.random(table.nnz) < 0.03] = np.nan
    table.indices = table.indices.astype(np.int32)
    ranges = np.sort(rng.normal(size=(d, 2)), axis=1)
    return table, ranges, np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.choice([0.0, 0.5, 1.0], n)


def both(**how):
    """Return the same rows in memory and sparse."""
    table, ranges, y, weight = table_with_holes(**how)
    dense = MemoryRows(IntervalMatrix.from_table(table.toarray(), ranges), y, weight)
    return dense, SparseRows(SparseIntervals.from_table(table, ranges), y, weight)


@pytest.mark.parametrize("entries", [50, 1 << 20])
def test_blocks_are_those_of_the_table_in_memory(entries, monkeypatch):
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", entries)
    dense, sparse = both()
    assert len(sparse._slices) == (1 if entries > 1000 else pytest.approx(10, abs=4))
    assert sparse.count_uncertain() == dense.count_uncertain() > 5
    assert (sparse.n_rows, sparse.total_weight) == (dense.n_rows, dense.total_weight)
    (whole,) = with_intercept_column(dense).blocks()
    parts = list(with_intercept_column(sparse).blocks())
    np.testing.assert_array_equal(np.vstack([part.center.data.toarray() for part in parts]), whole.center)
    starts = np.cumsum([0, *(part.n_rows for part in parts[:-1])])
    rows = np.concatenate([part.cell_rows + start for part, start in zip(parts, starts, strict=True)])
    np.testing.assert_array_equal(rows, whole.cell_rows)
    for name in ("cell_columns", "cell_radii", "y", "weight"):
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))


def certified(rows, loss, certificate, *, n_free, kappa):
    rows = with_intercept_column(rows) if n_free else rows
    problem = Problem(rows, loss, ElasticNet(0.1, kappa, n_free=n_free))
    solution = solve(problem)
    return CERTIFICATES[certificate](problem, solution).score_bounds(np.eye(rows.n_features))


@pytest.mark.share(3)
@pytest.mark.parametrize("certificate", ["sphere", "ball", "tight"])
@pytest.mark.parametrize(
    ("loss_name", "n_free", "kappa"), [("log_loss", 1, 0.0), ("huber", 0, 0.01), ("log_loss", 1, 0.01)]
)
def test_bounds_agree_with_those_of_the_table_in_memory(certificate, loss_name, n_free, kappa, monkeypatch):
    monkeypatch.setattr(engine, "BLOCK_ENTRIES", 150)
    dense, sparse = both()
    dense_certificate = "ball" if certificate == "tight" else certificate
    found = certified(sparse, LOSSES[loss_name], certificate, n_free=n_free, kappa=kappa)
    expected = certified(dense, LOSSES[loss_name], dense_certificate, n_free=n_free, kappa=kappa)
    if certificate == "tight":  # the sphere and the origin bound too, and the bracket starts elsewhere
        assert (found[:, 1] - found[:, 0] <= (expected[:, 1] - expected[:, 0]) * 1.01).all()
    else:
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)
    again = certified(sparse, LOSSES[loss_name], certificate, n_free=n_free, kappa=kappa)
    np.testing.assert_array_equal(found, again)


def test_the_error_of_scores_and_of_column_sums_is_bounded():
    rng = np.random.default_rng(0)
    for _ in range(20):
        table = random_array((6, 9), density=0.6, random_state=rng).tocsr()
        table.data = (table.data - 0.5) * 10.0 ** rng.uniform(-8, 8, table.nnz)
        nothing = np.zeros(0, dtype=np.intp)
        block = with_norms(Block(SparseArray(table), nothing, nothing, np.zeros(0), np.ones(6), np.ones(6)))
        w, c = rng.normal(size=9) * 10.0 ** rng.uniform(-8, 8, 9), rng.normal(size=6)
        error, sizes, score = block.score_error(w), block.column_sizes(c), block.center @ w
        dense = table.toarray()
        for i in range(6):
            exact = sum(Fraction(a) * Fraction(b) for a, b in zip(dense[i], w, strict=True))
            assert abs(Fraction(score[i]) - exact) <= Fraction(error[i])
            terms = sum(abs(Fraction(a) * Fraction(b)) for a, b in zip(dense[i], w, strict=True))
            # Half a unit for each product and each sum: what the bound must cover in the worst case.
            assert Fraction(error[i]) >= terms * max(1, table[[i]].nnz) * Fraction(1, 2**53)
        for j in range(9):
            assert Fraction(sizes[j]) >= sum(
                abs(Fraction(a) * Fraction(b)) for a, b in zip(dense[:, j], c, strict=True)
            )


def test_the_functions_of_numpy_that_kernels_call():
    rng = np.random.default_rng(1)
    stored = random_array((7, 5), density=0.5, random_state=rng).tocsr()
    sparse, dense = SparseArray(stored), stored.toarray()
    v, u, W = rng.normal(size=5), rng.normal(size=7), rng.normal(size=(7, 3))
    np.testing.assert_allclose(sparse @ v, dense @ v)
    np.testing.assert_allclose(u @ sparse, u @ dense)
    np.testing.assert_allclose(W.T @ np.abs(sparse), W.T @ dense)
    np.testing.assert_allclose(sparse.T @ W, dense.T @ W)
    np.testing.assert_allclose(norm_upper(sparse[:, :3]), norm_upper(dense[:, :3]))
    np.testing.assert_allclose(norm_upper(sparse.T), norm_upper(dense.T))
    np.testing.assert_allclose(sparse.weighted_squares(u), u @ dense**2)
    np.testing.assert_array_equal((sparse != 0.0).astype(float).data.toarray(), dense != 0.0)
    wider = np.column_stack([sparse, np.ones(7, like=sparse)])
    np.testing.assert_array_equal(wider.data.toarray(), np.column_stack([dense, np.ones(7)]))
    changed = wider.copy()
    changed[:, -1] = 0.0
    i, j = np.nonzero(dense)
    changed[i, j] = 3.0
    np.testing.assert_array_equal(changed.data.toarray()[:, :-1], 3.0 * (dense != 0.0))
    assert not changed.data.toarray()[:, -1].any()
    np.testing.assert_array_equal(wider.data.toarray()[:, :-1], dense)
    np.testing.assert_array_equal(sparse[i, 0 * j], dense[i, 0])
    both = np.concatenate([sparse[u > 0.0], sparse[np.array([0, 0])]])
    np.testing.assert_array_equal(both.data.toarray(), np.concatenate([dense[u > 0.0], dense[[0, 0]]]))
    assert row_width(sparse) < row_width(dense) + 1


def test_nothing_becomes_a_table_of_all_entries_by_accident():
    sparse = SparseArray(csr_array(np.eye(3)))
    for attempt in (np.asarray, np.exp, np.sort, lambda each: each + np.ones((3, 3))):
        with pytest.raises(TypeError):
            attempt(sparse)
    with pytest.raises(TypeError, match="not stored"):
        sparse[np.array([0]), np.array([1])] = 1.0


def test_unit_rows_are_sparse_where_they_are_many():
    assert isinstance(unit_rows(3), np.ndarray)
    assert unit_rows(100_000).data.nnz == 100_000


def test_sparse_rows_allow_no_matrices_of_all_pairs_of_columns():
    table, ranges, y, _ = table_with_holes()
    assert SparseRows(SparseIntervals.from_table(table, ranges), y).allows_matrices is False
