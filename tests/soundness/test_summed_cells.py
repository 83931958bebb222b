"""Cells that are summed and not kept: exact proofs whatever was chosen, and planted errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from ipub.certificates.slopes import cells as cell_terms_module
from ipub.certificates.slopes import column_bounds as column_bounds_module
from ipub.certificates.slopes import suggestions as suggestions_module
from ipub.certificates.slopes import sums_of_cells as summed_cells_module
from ipub.certificates.slopes.cell_coefficients import TuningChoices
from ipub.certificates.slopes.column_bounds import FormSums, column_forms
from ipub.certificates.slopes.sums_of_cells import SummedCells
from ipub.losses import LOSSES
from ipub.problem.objective import Problem
from ipub.rows import slices as blocks
from support.exact_proofs import assert_proven, each_intercept, each_penalty
from support.moves import (
    KINDS,
    Key,
    attempt_module,
    drawn,
    linearize_module,
    prove_module,
    wrong_forces,
    wrong_hessians,
    wrong_models,
    wrong_norms,
)
from support.planted import altered, plant_function, planted_function, scaled

SMOOTH = [name for name in LOSSES if LOSSES[name].is_smooth]
MODELS = ("trained", "one step", "noisy", "garbage")


def random_tuning(rng: np.random.Generator, d: int) -> TuningChoices:
    """Return what nobody would choose: a positive definite matrix that has nothing to do with the problem."""
    factor = 10.0 ** rng.uniform(-2, 2) * rng.normal(size=(d, d))
    shares, prices = 10.0 ** rng.uniform(-5.0, 0.0, size=d), 10.0 ** rng.uniform(-2.0, 2.0, size=d)
    return TuningChoices(factor @ factor.T + 1e-3 * np.eye(d), shares, prices)


@contextmanager
def badly_tuned(seed: int, cells_in_a_block: int = 6) -> Iterator[None]:
    """Sum cells by random choices wherever lines are laid, over blocks of a row or two."""
    rng, honest = np.random.default_rng(seed), linearize_module.linearize

    def summing(problem, *args, **options):
        return honest(problem, *args, **{**options, "tuning": random_tuning(rng, problem.rows.n_features)})

    with small_blocks(cells_in_a_block), planted_function(linearize_module, "linearize", summing):
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
    with small_blocks(cells_in_a_block), sampled, mock.patch.object(attempt_module, "MOST_CELLS", -1):
        yield


@pytest.mark.share(4)
@pytest.mark.parametrize("size", [0.0, 1e-6, 0.02, 0.5])
@each_penalty
@pytest.mark.parametrize("loss", SMOOTH)
def test_forces_hold_whatever_was_chosen(loss, penalty, size, report_proofs):
    models = [MODELS[number % 4] for number in range(len(KINDS))]
    keys = [Key(loss, penalty, *rest) for rest in zip(KINDS, [False, True] * 4 + [False], models, strict=True)]
    with badly_tuned(seed=len(loss)):
        assert_proven([wrong_forces(key, size) for key in keys], report_proofs)


@pytest.mark.share(2)
@each_penalty
@pytest.mark.parametrize("loss", SMOOTH)
def test_hessians_and_norms_hold_whatever_was_chosen(loss, penalty, report_proofs):
    keys = [Key(loss, penalty, kind, bool(number % 2), "one step") for number, kind in enumerate(KINDS)]
    with badly_tuned(seed=len(loss) + 1):
        assert_proven([wrong_norms(key) for key in keys], report_proofs)
        assert_proven([wrong_hessians(key, 0.5) for key in keys[::2]], report_proofs)


@pytest.mark.share(3)
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
    with badly_tuned(seed):
        assert_proven([wrong_forces(key, size) for key in keys for size in (1e-6, 0.02, 0.5)], report_proofs)


@pytest.mark.share(4)
@pytest.mark.parametrize("factor", [0.01, 0.5, 1.0, 100.0])
@pytest.mark.parametrize("loss", SMOOTH)
def test_a_bad_suggestion_does_no_harm(loss, factor, report_proofs):
    """A box that is too small must not be taken as proved, one that is too large only makes bounds wider."""
    honest = suggestions_module.suggest_from_sample

    def worse(*args):
        found = honest(*args)
        return found and replace(found, move_limits=None if found.move_limits is None else factor * found.move_limits)

    keys = [Key(loss, "l2", kind, bool(number % 2), "trained") for number, kind in enumerate(KINDS)]
    with long_table(), planted_function(suggestions_module, "suggest_from_sample", worse):
        assert_proven([wrong_models(key) for key in keys], report_proofs)


def test_weights_so_large_that_they_enlarge_what_underflowed_make_no_form():
    d, columns = 2, np.arange(2)
    forms, vectors, numbers = (np.ones(shape) for shape in [(2, d, d), (2, d), (2,)])
    sums = FormSums(
        row_counts=np.ones((2, 3)),
        weights=np.array([1.0, 1e101]),
        generator_rows=forms,
        generator_cross=vectors,
        generator_cells=numbers,
        other_rows=forms,
        other_cells=numbers,
    )
    found = column_forms(columns, sums).groups(np.full(d, 0.1), 10, None).forms
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


# --- planted errors --------------------------------------------------------------------------------------------------


def times(factor: float) -> Callable:
    return lambda part: factor * part


def summed(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(summed_cells_module, "summed_cells", **changes)


def columns(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(column_bounds_module, "column_forms", **changes)


def signed(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(column_bounds_module, "signed_columns", **changes)


FORCES = {
    "slack": summed(slack=times(0.5)),
    "generators": columns(generator_forms=times(0.8)),
    "weights": columns(weights=times(0.8)),
    "products and curvature of rows": columns(other_rows=times(0.0)),
    "products and curvature of cells": columns(other_cells=times(0.0)),
    "signed generators": signed(generators=times(0.95)),
    "signed product vectors": signed(product_vectors=times(0.0)),
    "uncertain signs": signed(curvature_forms=times(0.0)),
    "certain signs that are none": signed(sign_slack=times(0.0)),
    "shift": summed(shift=times(0.0)),
    "products": altered(cell_terms_module, "cell_terms", product_row=times(0.0), product_cell=times(0.0)),
}


@pytest.mark.parametrize("name", FORCES)
def test_a_sum_that_is_too_small_is_found_by_forces(monkeypatch, name):
    FORCES[name](monkeypatch)
    keys = [Key(loss, "l2", kind, False, "trained", seed) for loss in SMOOTH for kind in KINDS for seed in range(3)]
    with badly_tuned(seed=0):
        assert any(wrong_forces(key, size)[1] for size in (0.5, 3.0, 0.0) for key in keys)


def test_a_hessian_without_what_cells_take_is_found(monkeypatch):
    scaled(SummedCells, "hessian_loss", 0.0)(monkeypatch)
    keys = [Key(loss, "l2", kind, False, "one step", seed) for loss in SMOOTH for kind in KINDS for seed in range(3)]
    with badly_tuned(seed=0):
        assert any(wrong_hessians(key, 0.5)[1] for key in keys)


@pytest.mark.parametrize("part", ["generators", "force_slack"])
def test_a_force_that_is_too_small_is_found(monkeypatch, part):
    plant = columns(generator_forms=times(0.25)) if part == "generators" else summed(force_slack=times(0.0))
    plant(monkeypatch)
    keys = [Key(loss, "l2", kind, False, "one step", seed) for loss in SMOOTH for kind in KINDS for seed in range(6)]
    with badly_tuned(seed=0):
        assert any(wrong_norms(key)[1] for key in keys)


def test_a_box_that_is_taken_as_proved_without_a_look_is_found(monkeypatch):
    honest = prove_module.box_of_moves

    def planted(linear, ellipsoid, for_suggestion=False):
        return honest(linear, ellipsoid, True) if for_suggestion else 0.0 * linear.w

    plant_function(monkeypatch, prove_module, "box_of_moves", planted)
    monkeypatch.setattr(suggestions_module, "SAMPLE_GROWTH", 0.02)
    keys = [Key(loss, "l2", kind, False, "trained", seed) for loss in SMOOTH for kind in KINDS for seed in range(4)]
    # The set that is suggested is far too small, but for the ellipsoid, which is looked at.
    grown = suggestions_module.suggest_from_sample

    def large_ellipsoid(*args):
        found = grown(*args)
        return found and replace(found, ellipsoid=replace(found.ellipsoid, radius=100.0 * found.ellipsoid.radius))

    plant_function(monkeypatch, suggestions_module, "suggest_from_sample", large_ellipsoid)
    with long_table():
        assert any(wrong_models(key)[1] for key in keys)
