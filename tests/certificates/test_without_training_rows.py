"""Certificates that keep no training rows: no array of theirs is one, up to a factor, and their bounds still hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.certificates import Certificate, SlopeBounds
from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.slopes import few_rows as few_rows_module
from ipub.certificates.slopes import linearization as linearize_module

N, D = 120, 8
PROPORTIONAL = 1.0 - 1e-5


def draw(holes: str, task: str = "classification", seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    score = X @ np.linspace(1.0, -0.5, D) + 0.5 * rng.normal(size=N)
    cells = {
        "one": [(3, 1)],
        "two in a row": [(3, 1), (3, 4)],
        "three rows": [(3, 1), (10, 1), (20, 5)],
        "few in one column": [*((i, 2) for i in range(30, 50)), (3, 1)],
        "one in each column": [(5 * j, j) for j in range(D)],
    }[holes]
    for i, j in cells:
        X[i, j] = np.nan
    return X, score if task == "regression" else (score > 0.0).astype(int)


def arrays_of(part: object) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every array that a certificate holds, with its name."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(each):
                yield from ((f"{field.name}.{name}", array) for name, array in arrays_of(each))
            elif isinstance(each, np.ndarray) and each.dtype == float:
                yield field.name, each


def kept_rows(certificate: Certificate, X: np.ndarray) -> set[str]:
    """Name the arrays with a vector that is a training row up to a factor and signs, but for its holes.

    In a matrix the diagonal has more in it than a sum over rows, so it is left out.
    """
    found = set()
    for name, array in arrays_of(certificate):
        if array.size == 0 or array.ndim == 0 or array.shape[-1] not in (D, D + 1):
            continue
        vectors = array.reshape(-1, array.shape[-1])[:, :D]
        own = np.tile(np.arange(array.shape[-2]), len(vectors) // array.shape[-2]) if array.ndim > 1 else [0]
        for k, (vector, j) in enumerate(zip(vectors, own, strict=True)):
            seen = ~np.isnan(X)
            if array.ndim > 1 and array.shape[-2] == array.shape[-1] and j < D:
                seen[:, j] = False
            x, v = np.where(seen, np.abs(np.nan_to_num(X)), 0.0), np.where(seen, np.abs(vector), 0.0)
            norms = np.linalg.norm(x, axis=1) * np.linalg.norm(v, axis=1)
            if (np.einsum("ij,ij->i", x, v) > PROPORTIONAL * norms)[norms > 1e-100].any():
                found.add(f"{name}[{k}]")
    return found


def fitted(holes: str, loss: str, certificate: str, **options):
    kind = BoundedRegressor if loss in ("huber", "squared_error") else BoundedClassifier
    X, y = draw(holes, "regression" if kind is BoundedRegressor else "classification")
    return X, kind(loss, certificate=certificate, intervals="observed", **options).fit(X, y)


HOLES = ("one", "two in a row", "three rows", "few in one column", "one in each column")


@pytest.mark.share(4)
@pytest.mark.no_cover
@pytest.mark.parametrize("certificate", ["sphere", "ball", "slope", "tight"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_hinge", "huber", "squared_error"])
@pytest.mark.parametrize("holes", HOLES)
def test_no_array_is_a_training_row_and_bounds_are_no_narrower(holes, loss, certificate):
    X, model = fitted(holes, loss, certificate, alpha=0.3)
    whole, free = model.certificate_, model.certificate_.without_training_rows()
    assert kept_rows(free, X) == set()
    assert not free.keeps_training_rows
    T = np.column_stack([np.random.default_rng(1).normal(size=(50, D)), np.ones(50)])
    (low, high), (free_low, free_high) = whole.score_bounds(T).T, free.score_bounds(T).T
    size = high - low
    assert (free_low <= low + 1e-9 * size).all()
    assert (free_high >= high - 1e-9 * size).all()
    assert np.isfinite(free_low).all()
    assert np.isfinite(free_high).all()


@pytest.mark.parametrize("holes", HOLES[:3])
def test_the_search_finds_rows_where_they_are(holes):
    X, model = fitted(holes, "log_loss", "slope", alpha=0.3)
    certificate = model.certificate_
    assert certificate.keeps_training_rows
    assert kept_rows(certificate, X) != set()
    # A sum over one row is that row.
    assert kept_rows(certificate.in_columns(), X) != set()


def test_a_row_of_which_one_category_is_missing_is_hidden():
    X, y = draw("one")
    frame = pd.DataFrame(np.nan_to_num(X), columns=[f"x{j}" for j in range(D)])
    frame["city"] = np.where(np.arange(N) % 3 == 0, "a", np.where(np.arange(N) % 3 == 1, "b", "c"))
    frame.loc[7, "city"] = None
    model = BoundedClassifier(certificate="slope").fit(frame, y)
    part = model.certificate_.without_training_rows().part(SlopeBounds)
    row = np.nan_to_num(X)[7]
    for _, array in arrays_of(part):
        if array.ndim and array.shape[-1] >= D:
            vectors = np.abs(array.reshape(-1, array.shape[-1])[:, :D])
            cosines = vectors @ np.abs(row) / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(row) + 1e-300)
            assert (cosines < PROPORTIONAL).all()


def test_columns_with_few_cells_cost_little_where_others_have_many():
    X, model = fitted("few in one column", "log_loss", "tight", alpha=0.3)
    T = np.column_stack([X[60:100], np.ones(40)])
    # Row sums, which look at every training row, are lost altogether.
    parts = tuple(part for part in model.certificate_.parts if not isinstance(part, RowSumBounds))
    certificate = dataclasses.replace(model.certificate_, parts=parts)
    width, free = (np.diff(form.score_bounds(T))[:, 0] for form in
                   (certificate.in_columns(), certificate.without_training_rows()))  # fmt: skip
    assert np.median(free / width) < 1.25


@pytest.mark.parametrize("holes", HOLES)
@pytest.mark.parametrize("loss", ["log_loss", "huber"])
def test_hidden_forms_are_at_least_the_sum_of_all(holes, loss):
    _, model = fitted(holes, loss, "slope", alpha=0.3)
    part = model.certificate_.part(SlopeBounds)
    free = few_rows_module.row_free_forms(
        part.gradient, part.forms, part.form_rows, part.groups, part.n_incomplete, part.curvature, part.inverse
    )
    U = np.random.default_rng(2).normal(size=(200, len(part.w)))

    def total(gradient, forms):
        return np.abs(U @ gradient) + np.sqrt(np.einsum("ij,cjk,ik->ic", U, forms, U)).sum(axis=1)

    before = total(part.gradient, np.concatenate([part.forms, part.groups.forms]))
    after = total(free.gradient, np.concatenate([free.forms, free.groups.forms]))
    assert (after >= before * (1.0 - 1e-12)).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_too_many_rows_at_a_jump_are_bounded_together(intercept, monkeypatch):
    X, y = draw("few in one column")
    exact = BoundedClassifier("hinge", certificate="slope", fit_intercept=intercept).fit(X, y).certificate_
    monkeypatch.setattr(linearize_module, "MOST_JUMP_ROWS", 3)
    joint = BoundedClassifier("hinge", certificate="slope", fit_intercept=intercept).fit(X, y).certificate_
    assert len(exact.part(SlopeBounds).jump_rows) > 3
    assert len(joint.part(SlopeBounds).jump_rows) == 0
    assert "bounded together" in joint.note
    T = np.column_stack([np.random.default_rng(1).normal(size=(50, D)), *([np.ones(50)] if intercept else [])])
    widths = np.diff(joint.part(SlopeBounds).ends(T), axis=0) / np.diff(exact.part(SlopeBounds).ends(T), axis=0)
    assert (widths > 0.999).all()
    assert np.isfinite(joint.score_bounds(T)).all()
