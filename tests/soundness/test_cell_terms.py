"""Cells that are decided in advance, forms and inverses at their edge: exact tests, and planted errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from ipub.certificates.slopes import bounds as bounds_module
from ipub.certificates.slopes import cells as cell_terms_module
from ipub.certificates.slopes import column_bounds as column_bounds_module
from ipub.certificates.slopes.bounds import SlopeBounds
from ipub.certificates.slopes.cell_groups import CellTable, ColumnGroups
from ipub.certificates.slopes.l1_signs import L1Signs
from ipub.losses import LOSSES, Huber
from ipub.losses.penalties import ElasticNet
from ipub.numeric import linalg
from ipub.numeric.linalg import joint_form, roots_upper, rounded_up
from support import moves
from support.cases import Case, intervals, train
from support.exact_proofs import exact_completions
from support.moves import Box, Key, assemble_module, drawn, linearize_module
from support.oracles.rationals import Enclosure, as_float, exact_dot, holds, rational, rational_rows, rationals
from support.planted import altered, plant_function

PRECISION = 400


# --- lem-cell-product: one group of cells, in exact arithmetic --------------------------------------------------------


def draw_bounds(rng: np.random.Generator, scale: float = 1.0) -> SlopeBounds:
    """Draw cells of two columns and both signs, as the bounds of no training problem in particular."""
    d, n = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    keys = np.sort(rng.integers(0, 4, size=n))
    level = np.where(keys % 2, 1.0, -1.0) * 10.0 ** rng.uniform(-2.0, 0.0, n)
    sizes = 10.0 ** rng.uniform(-4.0, 0.0, size=(5, n)) * rng.choice([0.0, 1.0, 1.0], size=(5, n))
    rise = sizes[0] * rng.choice([-1.0, 1.0], n)
    rows = rng.normal(size=(n, d)) * rng.choice([0.0, 1.0, 1.0], size=(n, d))
    found, starts = np.unique(keys, return_index=True)
    starts = np.append(starts, n).astype(np.intp)
    cells = CellTable(starts, rows, scale * rise, scale * level, *(scale * sizes[1:]))
    columns = (found // 2).astype(np.intp)
    each = cells.generator_row[:, None] * rows
    each[np.arange(n), np.repeat(columns, np.diff(starts))] += cells.generator_cell
    generators = np.add.reduceat(each, starts[:-1], axis=0)
    nothing = np.zeros(d)
    return bounds_of(columns, generators, cells, np.eye(d), np.eye(d), nothing)


def bounds_of(columns, generators, cells, curvature, inverse, move_limits) -> SlopeBounds:
    """Return bounds without gradient, forms and slack."""
    d = len(curvature)
    nothing, no_forms, no_rows = np.zeros(d), np.zeros((0, d, d)), np.zeros(0, dtype=np.intp)
    return SlopeBounds(
        w=nothing,
        curvature=curvature,
        inverse=inverse,
        gradient=nothing,
        slack=nothing,
        forms=no_forms,
        form_rows=no_rows,
        move_limits=move_limits,
        ellipsoid=None,
        radius=np.inf,
        groups=ColumnGroups(columns, generators, np.zeros_like(generators), no_forms, no_rows),
        jump_rows=np.zeros((0, d)),
        mean_value=None,
        cells=cells,
    )


def exact_terms(bounds: SlopeBounds, u: np.ndarray) -> tuple[fmpq, fmpq]:
    """Return the sum of ``M(t - n) + n`` over the cells, sigma as the code chooses it, and the sizes it is made of."""
    cells, groups = bounds.cells, bounds.groups
    signs = np.where(groups.generators @ u >= 0.0, 1, -1)
    total, size, exact = fmpq(0), fmpq(0), rationals(u)
    for g, column in enumerate(groups.columns):
        for k in range(cells.starts[g], cells.starts[g + 1]):
            rise, level = rational(cells.generator_row[k]), rational(cells.generator_cell[k])
            product_row, product_cell = rational(cells.product_row[k]), rational(cells.product_cell[k])
            curvature_row, curvature_cell = rational(cells.curvature_row[k]), rational(cells.curvature_cell[k])
            x = rationals(cells.rows[k])
            across, along = exact_dot(x, exact), exact[column]
            t = int(signs[g]) * (rise * across + level * along)
            n = abs(across) * product_row + abs(along) * product_cell
            F = abs(across) * curvature_row + abs(along) * curvature_cell
            rest = abs(t - n)
            total += max(rest, (rest + F) / 2) + n
            spread = exact_dot([abs(a) for a in x], [abs(a) for a in exact])
            size += (abs(rise) + product_row + curvature_row) * spread
            size += (abs(level) + product_cell + curvature_cell) * abs(along)
    return total, size


def at_the_edge(bounds: SlopeBounds, rng: np.random.Generator) -> np.ndarray:
    """Return directions at and beside the ratios at which cells become certain, small and large ones, and any."""
    cells, d = bounds.cells, len(bounds.w)
    columns = np.repeat(bounds.groups.columns, np.diff(cells.starts))
    found = [np.zeros(d), *np.eye(d), *rng.normal(size=(4, d))]
    near = np.abs(cells.generator_cell) - (cells.product_cell + cells.curvature_cell)
    rise = np.copysign(1.0, cells.generator_cell) * cells.generator_row
    doubt = cells.product_row + cells.curvature_row
    for k, column in enumerate(columns):
        other = (column + 1) % d
        for edge in (-near[k] / ((doubt + rise)[k] or 1.0), near[k] / ((doubt - rise)[k] or 1.0)):
            for factor in (1.0 - 1e-15, 1.0, 1.0 + 1e-15, 0.97, 1.03, 2.0):
                u = np.zeros(d)
                u[column] = 1.0
                if cells.rows[k, other] != 0.0:
                    u[other] = (factor * edge - cells.rows[k, column]) / cells.rows[k, other]
                found += [u, -u, 1e-100 * u, 1e100 * u]
    U = np.array(found)
    U[rng.random(U.shape) < 0.05] *= 1e-10
    return U[np.isfinite(U).all(axis=1)]


def wrong_cells(seed: int, scale: float = 1.0) -> list[str]:
    """Compare what cells add with lem-cell-product; a real problem has rounding in `slack` (fp-slopes)."""
    rng = np.random.default_rng(seed)
    bounds = draw_bounds(rng, scale)
    U = at_the_edge(bounds, rng)
    found = bounds.cell_by_cell(U, bounds.cells)
    wrong = []
    for u, value in zip(U, found, strict=True):
        total, size = exact_terms(bounds, u)
        if not rational(value) >= total - size * fmpq(1, 10**14):
            wrong.append(f"{value} is less than {float(total.p) / float(total.q)}, seed {seed}")
        if not rational(value) <= total + size * fmpq(1, 10**13) + fmpq(1, 10**150):
            wrong.append(f"{value} is more than {float(total.p) / float(total.q)}, seed {seed}")
    return wrong


@pytest.mark.parametrize("scale", [1.0, 1e-90, 1e90])
def test_cells_add_what_lemma_7_says_whether_looked_at_or_not(scale):
    assert [wrong for seed in range(25) for wrong in wrong_cells(seed, scale)] == []


def plant_certain(monkeypatch: pytest.MonkeyPatch, planted) -> None:
    honest = vars(CellTable)["certain_ratios"].func
    changed = cached_property(lambda self: planted(honest, self))
    changed.__set_name__(CellTable, "certain_ratios")
    monkeypatch.setattr(CellTable, "certain_ratios", changed)


def without(cells: CellTable, *parts: str) -> CellTable:
    return replace(cells, **dict.fromkeys(parts, 0.0 * cells.generator_row))


CERTAIN = {
    "thresholds 5 % too wide": lambda honest, cells: tuple(1.05 * end for end in honest(cells)),
    "a lower threshold 5 % too wide": lambda honest, cells: (1.05 * honest(cells)[0], honest(cells)[1]),
    "an upper threshold 5 % too wide": lambda honest, cells: (honest(cells)[0], 1.05 * honest(cells)[1]),
    "no products": lambda honest, cells: honest(without(cells, "product_row", "product_cell")),
    "no curvature": lambda honest, cells: honest(without(cells, "curvature_row", "curvature_cell")),
    "a row without the sign of the cell": lambda honest, cells: honest(
        replace(cells, generator_cell=np.abs(cells.generator_cell))
    ),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_a_cell_called_certain_too_early_is_caught(monkeypatch, name):
    plant_certain(monkeypatch, CERTAIN[name])
    assert any(wrong_cells(seed) for seed in range(25))


# --- fp-slopes: an inverse that is none -------------------------------------------------------------------------------


def draw_curved(seed: int, condition: float, error: float) -> SlopeBounds:
    """Draw a curvature of this condition, in units that differ, with an inverse off by `error`."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    vectors = np.linalg.qr(rng.normal(size=(d, d)))[0]
    matrix = (vectors * np.geomspace(1.0, 1.0 / condition, d)) @ vectors.T
    unit = 10.0 ** rng.uniform(-3.0, 3.0, size=d)
    matrix = np.triu(matrix * np.outer(unit, unit))
    matrix = matrix + np.triu(matrix, 1).T
    inverse = np.linalg.inv(matrix) * (1.0 + error * rng.normal(size=(d, d)))
    limits = 10.0 ** rng.uniform(-6.0, 2.0, size=d) / unit
    return bounds_of(np.zeros(0, dtype=np.intp), np.zeros((0, d)), None, matrix, inverse, limits)


def wrong_misses(condition: float, error: float) -> list[str]:
    """Compare ``|x - A u|.f`` with its bound, u the floats that the products give."""
    wrong = []
    for seed in range(20):
        bounds = draw_curved(seed, condition, error)
        rng, d = np.random.default_rng([seed, 1]), len(bounds.w)
        X = np.vstack([np.eye(d), rng.normal(size=(6, d)) * 10.0 ** rng.uniform(-8.0, 8.0, size=(6, d))])
        X = np.vstack([X, 1e-100 * X, 1e100 * X])
        matrix, limits = rational_rows(bounds.curvature), rationals(bounds.move_limits)
        for x, u, bound in zip(
            X, rational_rows(X @ bounds.inverse), bounds.inverse_error.upper(np.abs(X)), strict=True
        ):
            left = [abs(a - exact_dot(row, u)) for a, row in zip(rationals(x), matrix, strict=True)]
            if not exact_dot(left, limits) <= rational(bound):
                wrong.append(f"{bound}, seed {seed}")
    return wrong


@pytest.mark.parametrize("condition", [1.0, 1e10, 1e12, 1e14])
@pytest.mark.parametrize("error", [0.0, 1e-12, 1e-3, 3.0])
def test_what_an_inexact_inverse_leaves_is_bounded_exactly(condition, error):
    assert wrong_misses(condition, error) == []


def test_an_inverse_whose_rounding_is_forgotten_is_caught(monkeypatch):
    monkeypatch.setattr(bounds_module, "sum_error", lambda magnitude, roundings: 0.0 * magnitude)
    assert wrong_misses(1.0, 0.0) != []
    assert wrong_misses(1e12, 0.0) != []


def test_an_inverse_read_the_wrong_way_round_is_caught(monkeypatch):
    honest = SlopeBounds.inverse_error.func
    changed = cached_property(lambda self: honest(replace(self, inverse=self.inverse.T)))
    changed.__set_name__(SlopeBounds, "inverse_error")
    monkeypatch.setattr(SlopeBounds, "inverse_error", changed)
    assert wrong_misses(1e10, 1e-3) != []


# --- lem-column-form and fp-forms: forms at their edge ----------------------------------------------------------------

TINY = 5e-324


def edge_forms(seed: int) -> np.ndarray:
    """Return forms that are exactly positive semidefinite: singular, zero, subnormal, and of very different sizes."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    z = rng.integers(-3, 4, size=(4, d)).astype(float)
    forms = [np.zeros((d, d)), np.full((d, d), TINY), np.diag(np.full(d, 3.0 * TINY)), np.outer(z[0], z[0])]
    forms += [np.outer(z[1], z[1]) * 2.0**-1060, np.outer(z[2], z[2]) * 2.0**-500, np.outer(z[3], z[3]) * 2.0**480]
    forms.append(z.T @ z)
    chosen = rng.choice(len(forms), size=int(rng.integers(1, 7)))
    return np.array([forms[k] for k in chosen])


def edge_rows(seed: int, d: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 2])
    X = np.vstack([np.zeros(d), np.eye(d), rng.integers(-2, 3, size=(4, d)), rng.normal(size=(4, d))])
    return np.vstack([X, TINY * X, 2.0**-300 * X, 2.0**100 * X])


def exact_roots(forms: np.ndarray, x: np.ndarray) -> arb:
    """Return ``sum_S sqrt(x.S x)``."""
    exact = rationals(x)
    values = [exact_dot(exact, [exact_dot(row, exact) for row in rational_rows(form)]) for form in forms]
    return sum((arb(value).sqrt() for value in values), arb(0))


def wrong_roots(seed: int, joint_form: Callable = joint_form) -> list[str]:
    """Compare both bounds of a sum of roots with the exact sum."""
    forms = edge_forms(seed)
    X = edge_rows(seed, forms.shape[1])
    rng = np.random.default_rng([seed, 3])
    with np.errstate(all="ignore"):
        typical = rng.choice([0.0, 1.0, np.inf, np.nan, TINY, 1e300]) * np.eye(forms.shape[1])
        bounds = {"each": roots_upper(forms, X), "joint": roots_upper(joint_form(forms, typical)[None], X)}
    joint, wrong = joint_form(forms, np.eye(forms.shape[1])), []
    with ctx.workprec(PRECISION):
        for k, x in enumerate(X):
            exact = exact_roots(forms, x)
            for name, bound in bounds.items():
                if np.isfinite(bound[k]) and not exact <= arb(float(bound[k])):
                    wrong.append(f"{name}: {bound[k]}, {exact}, seed {seed}")
            # The form by itself, in exact arithmetic.
            if np.isfinite(joint).all() and not exact <= exact_roots(joint[None], x) * (1 + arb(2) ** -300):
                wrong.append(f"form: {exact}, seed {seed}")
    return wrong


@pytest.mark.parametrize("many", [linalg.MANY_FORMS, 1], ids=["one by one", "by pairs"])
def test_roots_of_singular_zero_and_subnormal_forms_are_bounded_exactly(many, monkeypatch):
    monkeypatch.setattr(linalg, "MANY_FORMS", many)
    assert [wrong for seed in range(60) for wrong in wrong_roots(seed)] == []


@pytest.mark.parametrize("many", [linalg.MANY_FORMS, 1], ids=["one by one", "by pairs"])
def test_products_that_underflow_before_a_huge_form_multiplies_them_are_not_lost(many, monkeypatch):
    monkeypatch.setattr(linalg, "MANY_FORMS", many)
    # The truth is 2e-22, and 1e-328 is no float.
    assert roots_upper(1e284 * np.eye(4)[None], np.full((1, 4), 1e-164))[0] >= 2e-22


TOO_SMALL = {
    "a plain sum": lambda forms, _: rounded_up(forms.sum(axis=0), 30),
    "shares of the greatest": lambda forms, _: rounded_up(len(forms) * forms.max(axis=0), 30),
    "one form less": lambda forms, typical: joint_form(forms[1:], typical) if len(forms) > 1 else forms[0],
    "no rounding": lambda forms, _: len(forms) * np.tensordot(np.ones(len(forms)), forms, axes=1) * (1.0 - 1e-15),
}


@pytest.mark.parametrize("name", TOO_SMALL)
def test_a_joint_form_that_is_too_small_is_caught(name):
    assert any(wrong_roots(seed, TOO_SMALL[name]) for seed in range(60))


def test_what_overflows_bounds_nothing():
    forms = np.array([np.diag([1e308, 1e308]), np.eye(2)])
    with np.errstate(all="ignore"):
        bound = roots_upper(joint_form(forms, np.eye(2))[None], np.array([[1e100, 1.0]]))
    assert not bound[0] < 1e254


# --- bounds that are attained: errors of some per cent count ----------------------------------------------------------


def forces_and_truth(
    case: Case, w: np.ndarray, limits: np.ndarray, u: np.ndarray | None = None
) -> tuple[list[tuple[float, float]], list[Enclosure]]:
    """Return bounds of one force, and its exact values for a grid of completions and the corners of a box of moves."""
    solution = replace(train(case.problem), w=w)
    signs = L1Signs.undecided(w).within(w, limits)
    linear = linearize_module.linearize(case.problem, solution, Box(limits))
    bounds = assemble_module.slope_bounds(linear, signs, None)
    u = next(moves._hardly_moved(bounds)) if u is None else u
    with np.errstate(all="ignore"):
        ends = [(low[0], high[0]) for low, high in (part.forces(u[None]) for part in (bounds, bounds.in_columns()))]
    corners = {tuple(rationals(np.array(sides) * limits)) for sides in product((-1.0, 1.0), repeat=len(w))}
    truth = [
        moves._force(case, table, w, list(v), rationals(u), bounds.curvature)
        for table, v in product(exact_completions(case.matrix, 3), corners)
    ]
    return ends, truth


def curved_case() -> tuple[Case, np.ndarray, np.ndarray]:
    """Return a row with a kink at its cell's center, almost level: lem-cell-gradient is attained there."""
    table, radius = np.array([[4.0, 0.5], [1.0, -1.0]]), np.full((2, 2), np.nan)
    radius[0, 1], w = 2.0**-6, np.array([1.0, 64.0])
    case = Case(
        intervals(table, radius), np.array([table[0] @ w - 64.0, 0.0]), None, Huber(64.0), ElasticNet(0.5), table
    )
    return case, w, np.zeros(2)


def slope_radius_case() -> tuple[Case, np.ndarray, np.ndarray]:
    """Return a row on the end of its line whatever its cell is, which moves by its cell alone, onto the line."""
    table, radius, w = np.array([[1.0, 0.0]]), np.array([[np.nan, 0.5]]), np.array([2.0, 0.0])
    case = Case(intervals(table, radius), w[:1] - 1024.0, None, Huber(1024.0), ElasticNet(0.5), table)
    return case, w, np.array([0.0, 0.5])


def moved_case() -> tuple[Case, np.ndarray, np.ndarray]:
    """Return a row with a squared loss, where all that v does to a certain cell is attained."""
    table, radius, w = np.array([[1.0, 1.0]]), np.array([[np.nan, 0.5]]), np.array([2.0, 0.0])
    case = Case(intervals(table, radius), np.zeros(1), None, LOSSES["squared_error"], ElasticNet(0.5), table)
    return case, w, np.array([0.0625, 0.0625])


def crossed_case() -> tuple[Case, np.ndarray, np.ndarray]:
    """Return a row with two cells on the end of its line: with one up and one down it is there again."""
    table, radius, w = np.array([[1.0, 0.0, 0.0]]), np.array([[np.nan, 0.5, 0.5]]), np.array([2.0, 1.0, 1.0])
    case = Case(intervals(table, radius), w[:1] - 1024.0, None, Huber(1024.0), ElasticNet(0.5), table)
    return case, w, np.zeros(3)


ATTAINED = {
    "crossing": (crossed_case, np.array([1.0, 2.0**-10, -(2.0**-9)])),
    "curvature": (curved_case, None),
    "slope radius": (slope_radius_case, np.array([-1.0, 2.0**-10])),
    "products": (moved_case, np.array([1.0, 1.0])),
}


def attained_share(name: str) -> float:
    """Return how much of the half-width of a force's bounds, cell by cell, is really used; the groups' must hold."""
    make, u = ATTAINED[name]
    ((low, high), in_column), truth = forces_and_truth(*make(), u)
    middle, half = (rational(low) + rational(high)) / 2, (rational(high) - rational(low)) / 2
    shares = [abs(end - middle) / half for ends in truth for end in ends]
    assert all(holds(in_column, ends) for ends in truth)
    return as_float(max(shares))


@pytest.mark.parametrize("name", ATTAINED)
def test_bounds_of_forces_are_attained(name):
    assert (0.7 if name == "crossing" else 0.98) <= attained_share(name) <= 1.0


def less(part):
    return 0.95 * part


def product_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = column_bounds_module.sorted_cells

    def planted(terms):
        groups, cells = honest(terms)
        return replace(groups, product_vectors=less(groups.product_vectors)), cells

    plant_function(monkeypatch, column_bounds_module, "sorted_cells", planted)


SMALLER = {
    "crossing": ("crossing", altered(cell_terms_module, "cell_terms", crossing=lambda form: 0.2 * form)),
    "curvature along rows": ("curvature", altered(cell_terms_module, "cell_terms", curvature_row=less)),
    "form of the moves of cells": ("slope radius", altered(linearize_module, "linearize", cell_move_form=less)),
    "slope radius": ("slope radius", altered(linearize_module, "row_lines", slope_radius=less)),
    "moves of cells, slope radius": ("slope radius", altered(linearize_module, "row_lines", cell_move=less)),
    "moves of cells": ("products", altered(linearize_module, "row_lines", cell_move=less)),
    "product vectors of groups": ("products", product_vectors),
}


@pytest.mark.parametrize("name", SMALLER)
def test_a_part_that_is_a_little_too_small_is_caught(monkeypatch, name):
    where, plant = SMALLER[name]
    plant(monkeypatch)
    assert attained_share(where) > 1.0


# --- lem-cell-gradient and lem-cell-product: the parts of each cell, by their formulas --------------------------------


def parts_and_formulas(key: Key) -> Iterator[tuple[str, float, fmpq]]:
    """Yield what is kept of each cell, and what the lemmas say, made from the exact weights, moves and radii."""
    case, solution = drawn(key)
    limits = 0.25 * (1.0 + np.abs(solution.w))
    model = linearize_module.linearize(case.problem, solution, Box(limits))
    incomplete, cells = model.incomplete, model.cells
    holed = np.flatnonzero(np.diff(case.matrix.row_starts))
    weight = rationals(np.ones(len(case.y)) if case.weight is None else case.weight)
    shares = [weight[i] / sum(weight, fmpq(0)) for i in holed]
    flattest, steepest = case.loss.curvature_range(incomplete.y, incomplete.lines.lower, incomplete.lines.upper)
    for k, (i, j) in enumerate(zip(incomplete.cell_rows, incomplete.cell_columns, strict=True)):
        a, b = rational(flattest[i]), rational(steepest[i])
        h, R = rational(incomplete.lines.slope[i]), rational(incomplete.cell_radii[k])
        move = exact_dot([abs(x) for x in rationals(incomplete.center[i])], rationals(limits))
        q = R * abs(rational(solution.w[j]))
        yield "product_row", cells.product_row[k], shares[i] * h * R * rational(limits[j])
        yield "product_cell", cells.product_cell[k], shares[i] * h * R * move
        yield "curvature_row", cells.curvature_row[k], shares[i] * q * (b - a)
        yield "curvature_cell", cells.curvature_cell[k], shares[i] * q * R * (3 * b - a)


@pytest.mark.parametrize("loss", [name for name in LOSSES if LOSSES[name].is_smooth])
@pytest.mark.parametrize("kind", ["weights", "one row", "kinks"])
def test_each_cell_has_what_the_lemmas_say(loss, kind):
    for intercept, seed in product([False, True], range(6)):
        for name, part, formula in parts_and_formulas(Key(loss, "l2", kind, intercept, "garbage", seed)):
            # The weights have two roundings, which the sums count (fp-slopes).
            assert rational(part) >= formula * (1 - fmpq(1, 10**15)), (name, seed)
            assert rational(part) <= formula * (1 + fmpq(1, 10**12)) + fmpq(1, 10**100), (name, seed)
