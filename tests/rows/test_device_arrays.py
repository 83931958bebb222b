"""NumPy's functions on arrays of another library: what NumPy returns, and sums within what their height allows."""

from fractions import Fraction

import array_api_strict
import numpy as np
import pytest
from scipy.special import expit, xlog1py, xlogy

from benchmarks.device_arithmetic import checks
from ipub.numeric.rounding import EPS, check_arithmetic, down, norm_upper, up
from ipub.rows.device import DeviceArray, Library, to_device, to_host
from ipub.rows.device.sums import GROUP_PIECE, MOST_TURNS, PIECE, Groups, sum_height
from ipub.rows.ops import adding_matrix, largest, sum_by_index, weighted_gram
from support.strict_rows import strict_library

LIBRARY = strict_library()
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 5)), RNG.normal(size=(7, 5))
A[1, 2], B[3, 3], A[2, 0], B[0, 4] = np.nan, np.nan, np.inf, -np.inf
V, INDEX = RNG.normal(size=40), RNG.integers(0, 6, 40)


def there(values):
    return to_device(np.asarray(values), LIBRARY)


UNARY = [np.abs, np.negative, np.isnan, np.isfinite, np.isinf, np.sign, np.signbit, np.floor, np.ceil]
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.copysign, np.hypot]
BINARY += [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]


@pytest.mark.parametrize("function", [*UNARY, *BINARY], ids=lambda function: function.__name__)
def test_elementwise_functions_are_numpys(function):
    with np.errstate(all="ignore"):
        for first, second in ((A, B), (A, 0.5), (-1.5, B), (A, B[0])):
            arguments = (first,) if function in UNARY else (first, second)
            expected = function(*arguments)
            found = function(*(there(each) if np.ndim(each) else each for each in arguments))
            if isinstance(found, DeviceArray):
                assert found.dtype == expected.dtype
            np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize(
    "compute",
    [
        lambda a, b: np.where(a > b, a, 0.0),
        lambda a, b: np.where(a > b, 1.0, -1.0),
        lambda a, b: np.clip(a, -1.0, b),
        lambda a, b: np.nan_to_num(a, nan=-np.inf, posinf=3.0),
        lambda a, b: np.column_stack([a[:, 0], b]),
        lambda a, b: np.concatenate([a, b], axis=1),
        lambda a, b: np.stack([a, b], axis=-1),
        lambda a, b: a[np.flatnonzero(np.isnan(a).any(axis=1))],
        lambda a, b: a[~np.isnan(a)],
        lambda a, b: a[np.isfinite(b).all(axis=1), 2],
        lambda a, b: a[:, [1, 3]] * b[:, :2],
        lambda a, b: a[np.array([1, 4]), np.array([0, 2])],
        lambda a, b: a[2:5, None, ::2] + 1.0,
        lambda a, b: np.nan_to_num(a).max(axis=0, initial=0.7),
        lambda a, b: np.nan_to_num(a, posinf=5.0).sum(axis=1, keepdims=True),
        lambda a, b: np.nan_to_num(a, posinf=5.0).mean(axis=0),
        lambda a, b: (a == b) | (a > 0.0) & ~(b > 0.0),
        lambda a, b: np.count_nonzero(a > 0.0, axis=0),
        lambda a, b: np.cumsum(a > 0.0, axis=1),
        lambda a, b: np.repeat(np.arange(3, like=a), np.array([2, 0, 4])),
        lambda a, b: np.lexsort((np.nan_to_num(a[:, 1]), np.array([1, 0, 1, 0, 1, 0, 0]))),
        lambda a, b: np.tile(np.array([1.0, 2.0], like=a), (3, 1)),
        lambda a, b: 1 << np.arange(4, like=a) & 3,
        lambda a, b: np.diag(np.nan_to_num(a)[:5]),
        lambda a, b: np.split(a[:6], 2)[1],
        lambda a, b: np.linalg.norm(np.nan_to_num(a, posinf=1.0)),
        lambda a, b: np.einsum("ij,ij->i", np.nan_to_num(a, posinf=1.0), np.nan_to_num(b, neginf=1.0)),
        lambda a, b: np.sort(a[:, 3]),
        lambda a, b: np.broadcast_to(b[0], (2, 5)),
        lambda a, b: np.full_like(a, 2.0) ** 2 / np.ones_like(b),
        lambda a, b: expit(np.zeros_like(a)),
        lambda a, b: largest(np.abs(np.nan_to_num(a, posinf=9.0)), 3).sum(axis=0) * 0.0,
    ],
)
def test_other_functions_are_numpys(compute):
    with np.errstate(all="ignore"):
        expected = compute(A, B)
        found = compute(there(A), there(B))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=4.0 * EPS, atol=0.0)


def test_writing_and_changing_in_place():
    results = []
    for values in (A.copy(), there(A)):
        values[np.flatnonzero(np.isnan(values).any(axis=1))] = 7.0
        values[:, -1] = 0.0
        values[values[:, 0] > 1.0, 1] = -3.0
        values[np.array([0, 6]), np.array([1, 2])] += 0.5
        part = values[1:3]
        part += 1.0
        part *= 2.0
        part -= np.ones_like(part)
        results.append(np.asarray(values))
    np.testing.assert_array_equal(*results)


def test_logarithms_of_zero_times_zero():
    x, y = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.5, 1.5])
    np.testing.assert_allclose(np.asarray(xlogy(there(x), there(y))), xlogy(x, y))
    np.testing.assert_allclose(np.asarray(xlog1py(there(x), there(-0.5 * y))), xlog1py(x, -0.5 * y))


def test_rounding_is_the_same():
    values = np.concatenate([V, [0.0, 2.0**-1074, -(2.0**-1022), 1e300, np.inf, np.nan]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.asarray(up(there(values))), up(values))
        np.testing.assert_array_equal(np.asarray(down(there(values))), down(values))
    np.testing.assert_allclose(np.asarray(norm_upper(there(A[3:]))), norm_upper(A[3:]))
    check_arithmetic(there(V))


def test_sums_by_index():
    expected = sum_by_index(INDEX, V, 8)
    np.testing.assert_allclose(np.asarray(sum_by_index(there(INDEX), there(V), 8)), expected, atol=1e-14)
    np.testing.assert_array_equal(np.asarray(np.bincount(there(INDEX), minlength=3)), np.bincount(INDEX, minlength=3))
    rows = RNG.normal(size=(40, 3))
    expected = adding_matrix(INDEX, 6) @ rows
    np.testing.assert_allclose(np.asarray(adding_matrix(there(INDEX), 6) @ there(rows)), expected, atol=1e-14)
    np.testing.assert_allclose(np.asarray(weighted_gram(there(rows), there(V))), weighted_gram(rows, V), atol=1e-13)
    starts = np.array([0, 3, 20])
    np.testing.assert_allclose(np.asarray(np.add.reduceat(there(rows), starts)), np.add.reduceat(rows, starts))


@pytest.mark.parametrize("counts", [(1,) * 5, (0, 3, 40), (2000, 1), (3 * GROUP_PIECE * MOST_TURNS + 7, 0, 5)])
def test_groups_of_any_length_are_added_exactly_once(counts):
    index = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    values = np.random.default_rng(2).integers(-1000, 1000, len(index)).astype(float)
    groups = Groups.of(LIBRARY, LIBRARY.array(index), len(counts))
    found = LIBRARY.numpy(groups.sums(LIBRARY.array(values)))
    np.testing.assert_array_equal(found, np.bincount(index, values, minlength=len(counts)))
    height = len(groups.pieces) * GROUP_PIECE + len(groups.turns)
    assert min(height, len(index)) <= sum_height(len(index))  # zeros that fill up a piece are added exactly


@pytest.mark.parametrize("n", [5, PIECE, PIECE + 1, 3 * PIECE + 17])
def test_long_sums_and_products_are_within_their_height(n):
    rng = np.random.default_rng(n)
    values, rows = rng.normal(size=n) * 10.0 ** rng.uniform(-6, 6, n), rng.normal(size=(n, 2))
    pairs = [(there(values).sum(), values), (there(values) @ there(rows[:, 0]), values * rows[:, 0])]
    for found, terms in pairs:
        exact = sum(map(Fraction, terms.tolist()))
        assert abs(Fraction(float(found)) - exact) <= (sum_height(n) + 1) * EPS * np.abs(terms).sum()
    np.testing.assert_allclose(np.asarray(there(rows).T @ there(rows)), rows.T @ rows, rtol=1e-11, atol=1e-9)
    np.testing.assert_array_equal(np.asarray(there(rows).max(axis=0)), rows.max(axis=0))
    assert sum_height(n) <= n


def test_arrays_inside_of_anything_go_and_come_back():
    value = ((V, 3), [INDEX, None], "text")
    moved = to_device(value, LIBRARY)
    assert isinstance(moved[0][0], DeviceArray)
    assert moved[1][1] is None
    np.testing.assert_array_equal(to_host(moved)[1][0], INDEX)
    unchanged = ("text", 1)
    assert to_device(unchanged, LIBRARY) is unchanged


def test_what_is_assumed_of_a_device_holds_here():
    found = list(checks(LIBRARY))
    assert len(found) > 15
    assert [check for check in found if not check.holds] == []


class Coarse:
    """The functions of array-api-strict, one of them less accurate than is assumed."""

    def __init__(self, name, change):
        self._name, self._change = name, change

    def __getattr__(self, name):
        function = getattr(array_api_strict, name)
        if name != self._name:
            return function
        return lambda *args, **kwargs: self._change(function(*args, **kwargs))


@pytest.mark.parametrize(
    ("function", "change"),
    [
        ("exp", lambda x: x * (1.0 + 8.0 * EPS)),
        ("log", lambda x: x * (1.0 - 8.0 * EPS)),
        ("log1p", lambda x: x * (1.0 + 8.0 * EPS)),
        ("sqrt", lambda x: x * (1.0 + 4.0 * EPS)),
        ("sum", lambda x: x * (1.0 + 1e-9) + 1e-4),
        ("matmul", lambda x: array_api_strict.astype(array_api_strict.astype(x, array_api_strict.float32), x.dtype)),
    ],
)
def test_a_device_that_computes_less_accurately_is_found(function, change):
    library = Library(LIBRARY.name, Coarse(function, change), LIBRARY.device)
    assert any(not check.holds and function[:3] in check.name + "mat sum" for check in checks(library))
