"""Cells that are summed and not kept: exact proofs whatever was guessed, and planted errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from ipub.certificates.slope.cell_terms import CellTerms
from ipub.certificates.slope.column_bounds import ColumnForms
from ipub.certificates.slope.prove_moves import Linearization
from ipub.certificates.slope.summed_cells import SummedCells, TuningChoices
from ipub.engine import slices as blocks
from ipub.losses import LOSSES
from ipub.problem import Problem
from support.exact_proofs import assert_proven, each_intercept, each_penalty
from support.moves import KINDS, Key, drawn, slope_module, wrong_forces, wrong_hessians, wrong_models, wrong_norms

SMOOTH = [name for name in LOSSES if LOSSES[name].is_smooth]
MODELS = ("trained", "one step", "noisy", "garbage")


def random_guess(rng: np.random.Generator, d: int) -> TuningChoices:
    """Return what nobody would guess: a positive definite matrix that has nothing to do with the problem."""
    factor = 10.0 ** rng.uniform(-2, 2) * rng.normal(size=(d, d))
    return TuningChoices(factor @ factor.T + 1e-3 * np.eye(d), 10.0 ** rng.uniform(-5.0, 0.0, size=d))


@contextmanager
def guessed(seed: int, cells_in_a_block: int = 6) -> Iterator[None]:
    """Sum cells by a random guess wherever rows are modelled, over blocks of a row or two."""
    rng, honest = np.random.default_rng(seed), slope_module.linearize

    def summing(problem, *args, **options):
        return honest(problem, *args, **{**options, "guess": random_guess(rng, problem.rows.n_features)})

    with small_blocks(cells_in_a_block), mock.patch.object(slope_module, "linearize", summing):
        yield


@contextmanager
def small_blocks(cells: int) -> Iterator[None]:
    drawn.cache_clear()
    with mock.patch.object(blocks, "BLOCK_CELLS", cells), mock.patch.object(blocks, "BLOCK_ROWS", cells):
        yield
    drawn.cache_clear()


@contextmanager
def long_table(cells_in_a_block: int = 6) -> Iterator[None]:
    """Treat a tiny table as a long one: a suggestion comes first, from the table itself, and no cell is kept."""
    sampled = mock.patch.object(Problem, "sample", lambda self, _=None: self)
    with small_blocks(cells_in_a_block), sampled, mock.patch.object(slope_module, "MOST_CELLS", -1):
        yield


@pytest.mark.parametrize("size", [0.0, 1e-6, 0.02, 0.5])
@each_penalty
@pytest.mark.parametrize("loss", SMOOTH)
def test_forces_hold_whatever_was_guessed(loss, penalty, size, report_proofs):
    models = [MODELS[number % 4] for number in range(len(KINDS))]
    keys = [Key(loss, penalty, *rest) for rest in zip(KINDS, [False, True] * 4 + [False], models, strict=True)]
    with guessed(seed=len(loss)):
        assert_proven([wrong_forces(key, size) for key in keys], report_proofs)


@each_penalty
@pytest.mark.parametrize("loss", SMOOTH)
def test_hessians_and_norms_hold_whatever_was_guessed(loss, penalty, report_proofs):
    keys = [Key(loss, penalty, kind, bool(number % 2), "one step") for number, kind in enumerate(KINDS)]
    with guessed(seed=len(loss) + 1):
        assert_proven([wrong_norms(key) for key in keys], report_proofs)
        assert_proven([wrong_hessians(key, 0.5) for key in keys[::2]], report_proofs)


@each_intercept
@each_penalty
@pytest.mark.parametrize("loss", SMOOTH)
def test_models_of_completions_are_where_a_long_table_has_them(loss, penalty, intercept, report_proofs):
    keys = [Key(loss, penalty, kind, intercept, MODELS[number % 4]) for number, kind in enumerate(KINDS)]
    with long_table():
        assert_proven([wrong_models(key) for key in [*keys, replace(keys[0], model="trained")]], report_proofs)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 7))
@each_intercept
@each_penalty
@pytest.mark.parametrize("loss", SMOOTH)
def test_many_claims_hold_for_summed_cells(loss, penalty, intercept, seed, report_proofs):
    keys = [Key(loss, penalty, kind, intercept, model, seed) for kind in KINDS for model in MODELS]
    with long_table():
        assert_proven([wrong_models(key) for key in keys], report_proofs)
    with guessed(seed):
        assert_proven([wrong_forces(key, size) for key in keys for size in (1e-6, 0.02, 0.5)], report_proofs)


@pytest.mark.parametrize("factor", [0.01, 0.5, 1.0, 100.0])
@pytest.mark.parametrize("loss", SMOOTH)
def test_a_bad_suggestion_does_no_harm(loss, factor, report_proofs):
    """A box that is too small must not be taken as proved, one that is too large only makes bounds wider."""
    honest = slope_module._suggestion

    def worse(*args):
        found = honest(*args)
        return found and replace(found, farthest=None if found.farthest is None else factor * found.farthest)

    keys = [Key(loss, "l2", kind, bool(number % 2), "trained") for number, kind in enumerate(KINDS)]
    with long_table(), mock.patch.object(slope_module, "_suggestion", worse):
        assert_proven([wrong_models(key) for key in keys], report_proofs)


def test_weights_so_large_that_they_enlarge_what_underflowed_make_no_form():
    d, columns = 2, np.arange(2)
    forms, vectors, numbers = (np.ones(shape) for shape in [(2, d, d), (2, d), (2,)])
    sizes, leaning = np.array([1.0, 1e101]), np.ones((2, 2, d))
    sums = sizes, forms, vectors, numbers, forms, numbers, leaning, numbers, forms, numbers
    found = ColumnForms.of(columns, 10, sums).groups(np.full(d, 0.1), 10).forms
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


# --- planted errors --------------------------------------------------------------------------------------------------


def smaller(field: str, factor: float, part: type = SummedCells) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes one of the sums too small."""
    honest = part.of

    def planted(*args):
        found = honest(*args)
        return replace(found, **{field: factor * getattr(found, field)})

    return lambda monkeypatch: monkeypatch.setattr(part, "of", planted)


def column_smaller(field: str, factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    return smaller(field, factor, ColumnForms)


def leaning_smaller(field: str, factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    honest = ColumnForms.of

    def planted(*args):
        found = honest(*args)
        less = replace(found.leaning, **{field: factor * getattr(found.leaning, field)})
        return replace(found, leaning=less)

    return lambda monkeypatch: monkeypatch.setattr(ColumnForms, "of", planted)


def parts_smaller(**factors: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes parts of the cells' terms too small, before they are summed."""
    honest = CellTerms.of

    def planted(*args):
        found = honest(*args)
        return replace(found, **{name: factor * getattr(found, name) for name, factor in factors.items()})

    return lambda monkeypatch: monkeypatch.setattr(CellTerms, "of", planted)


FORCES = {
    "slack": smaller("slack", 0.5),
    "generators": column_smaller("first", 0.8),
    "sizes": column_smaller("sizes", 0.8),
    "pulls and bends of rows": column_smaller("others", 0.0),
    "pulls and bends of cells": column_smaller("across", 0.0),
    "signed generators": leaning_smaller("generators", 0.95),
    "signed pulls": leaning_smaller("pulls", 0.0),
    "uncertain signs": leaning_smaller("curvature_forms", 0.0),
    "certain signs that are none": leaning_smaller("spare", 0.0),
    "shift": smaller("shift", 0.0),
    "pulls": parts_smaller(pull_row=0.0, pull_cell=0.0),
}


@pytest.mark.parametrize("name", FORCES)
def test_a_sum_that_is_too_small_is_found_by_forces(monkeypatch, name):
    FORCES[name](monkeypatch)
    keys = [Key(loss, "l2", kind, False, "trained", seed) for loss in SMOOTH for kind in KINDS for seed in range(3)]
    with guessed(seed=0):
        assert any(wrong_forces(key, size)[1] for size in (0.5, 3.0, 0.0) for key in keys)


def no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SummedCells.hessian_loss
    monkeypatch.setattr(SummedCells, "hessian_loss", lambda *args: tuple(0.0 * part for part in honest(*args)))


def test_a_hessian_without_what_cells_take_is_found(monkeypatch):
    no_loss(monkeypatch)
    keys = [Key(loss, "l2", kind, False, "one step", seed) for loss in SMOOTH for kind in KINDS for seed in range(3)]
    with guessed(seed=0):
        assert any(wrong_hessians(key, 0.5)[1] for key in keys)


@pytest.mark.parametrize("part", ["first", "force_slack"])
def test_a_force_that_is_too_small_is_found(monkeypatch, part):
    (column_smaller("first", 0.25) if part == "first" else smaller(part, 0.0))(monkeypatch)
    keys = [Key(loss, "l2", kind, False, "one step", seed) for loss in SMOOTH for kind in KINDS for seed in range(6)]
    with guessed(seed=0):
        assert any(wrong_norms(key)[1] for key in keys)


def test_a_box_that_is_taken_as_proved_without_a_look_is_found(monkeypatch):
    honest = Linearization.box_of_moves

    def planted(self, ellipsoid, for_suggestion=False):
        return honest(self, ellipsoid, True) if for_suggestion else 0.0 * self.w

    monkeypatch.setattr(Linearization, "box_of_moves", planted)
    monkeypatch.setattr(slope_module, "SAMPLE_GROWTH", 0.02)
    keys = [Key(loss, "l2", kind, False, "trained", seed) for loss in SMOOTH for kind in KINDS for seed in range(4)]
    # The set that is suggested is far too small, but for the ellipsoid, which is looked at.
    grown = slope_module._suggestion

    def large_ellipsoid(*args):
        found = grown(*args)
        return found and replace(found, ellipsoid=replace(found.ellipsoid, radius=100.0 * found.ellipsoid.radius))

    monkeypatch.setattr(slope_module, "_suggestion", large_ellipsoid)
    with long_table():
        assert any(wrong_models(key)[1] for key in keys)
