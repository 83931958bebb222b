"""Bounds over several blocks, through views and without training rows, against exact models; with planted errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from ipub import BoundedClassifier, IntervalMatrix
from ipub.answers.attained import attained_bounds
from ipub.certificates import SlopeBounds, certify_ball, certify_slopes, certify_tight
from ipub.certificates.slopes import few_rows
from ipub.certificates.slopes import linearization as linearize_module
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.problem.objective import Problem
from ipub.promises import LargestValues
from ipub.rows import (
    Block,
    MemoryRows,
    PerBlock,
    Reads,
    Rows,
    one_class_against_rest,
    reads,
    slices,
    views,
    with_intercept_column,
    with_label_uncertainty,
    with_labels,
    with_wrong_labels,
)
from ipub.rows.completions import Completion, PositionLayout
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.tables.missing_category import Levels, MissingCategories
from support.cases import Case, intervals, train, vary_loss, with_intercept
from support.exact_proofs import prove
from support.planted import assert_caught

SMALL_BLOCK = 8
"""Cells of a block, so that a table of ten rows has several."""


def without_rows(make: Callable) -> Callable:
    return lambda problem, solution: make(problem, solution).without_training_rows()


ROW_FREE = {
    "slope": without_rows(certify_slopes),
    "tight": without_rows(certify_tight),
    "ball": without_rows(certify_ball),
}


def few_incomplete_rows(rng: np.random.Generator, loss_name: str, penalty: str, n_incomplete: int) -> Case:
    """Draw a table of which so many rows have one hole, more than enough rows for a form that keeps none of them."""
    n, d = int(rng.integers(7, 11)), int(rng.integers(1, 4))
    table, radius = rng.normal(size=(n, d)), np.full((n, d), np.nan)
    for i in rng.choice(n, size=n_incomplete, replace=False):
        radius[i, rng.integers(d)] = 10.0 ** rng.uniform(-2.0, 0.0)
    loss = LOSSES[loss_name]
    y = rng.normal(size=n) if loss.task == "regression" else np.where(table[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    kappa = 0.0 if penalty == "l2" else 0.1 * float(np.abs(table.T @ y).max()) / n
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=n) if rng.random() < 0.3 else None
    if weight is not None:
        weight[:2] = 1.0
    X_test = rng.normal(size=(3, d))
    return vary_loss(
        rng, Case(intervals(table, radius), y, weight, loss, ElasticNet(10.0 ** rng.uniform(-2, 0.5), kappa), X_test)
    )


@pytest.mark.share(2)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_bounds_without_training_rows_hold_however_few_rows_are_incomplete(
    loss_name, penalty, intercept, report_proofs
):
    rng = np.random.default_rng([41, list(LOSSES).index(loss_name), len(penalty), intercept])
    for n_incomplete in (1, 2, 5 if penalty == "l2" and not intercept else 3):
        case = few_incomplete_rows(rng, loss_name, penalty, n_incomplete)
        case = with_intercept(case) if intercept else case
        made, wrong = prove(case, [train(case.problem)], inner=0, certificates=ROW_FREE)
        assert wrong == []
        report_proofs(made)


# --- forms of few rows -------------------------------------------------------------------------------------------


def slope_part(seed: int, loss_name: str, n_incomplete: int, n: int = 24, jumps: int | None = None) -> SlopeBounds:
    rng = np.random.default_rng([43, seed])
    table, radius = rng.normal(size=(n, 3)), np.full((n, 3), np.nan)
    for i in range(n_incomplete):
        radius[i, rng.integers(3)] = 0.3
        radius[i, rng.integers(3)] = 0.2
    y = np.where(table[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    case = Case(intervals(table, radius), y, None, LOSSES[loss_name], ElasticNet(0.1, 0.0), table[:1])
    with pytest.MonkeyPatch.context() as patch:
        if jumps is not None:
            patch.setattr(linearize_module, "MOST_JUMP_ROWS", jumps)
        part = certify_slopes(case.problem, train(case.problem, tol=1e-3)).part(SlopeBounds)
    assert part is not None
    return part


def lost_in_forms(part: SlopeBounds) -> list[str]:
    """Compare what all forms and the gradient add up to, before and after, also where the new form is smallest."""
    given = part.gradient, part.forms, part.form_rows, part.groups, part.n_incomplete
    free = few_rows.row_free_forms(*given, part.curvature, part.inverse)
    rng = np.random.default_rng(0)
    before = [*part.forms, *part.groups.forms, np.outer(part.gradient, part.gradient)]
    U = [*rng.normal(size=(20, len(part.w)))]
    U += [vector for form in (*before, np.sum(before, axis=0)) for vector in eigh(form, part.curvature)[1].T]

    def total(gradient: np.ndarray, forms: list[np.ndarray], u: np.ndarray) -> float:
        return abs(u @ gradient) + sum(np.sqrt(max(u @ form @ u, 0.0)) for form in forms)

    after = [*free.forms, *free.groups.forms]
    return [
        f"{u}: less"
        for u in U
        if not total(free.gradient, after, u) >= (1.0 - 1e-9) * total(part.gradient, before[:-1], u)
    ]


CASES = [("log_loss", 1), ("log_loss", 3), ("log_loss", 4), ("log_loss", 7), ("hinge", 2), ("hinge", 9)]


@pytest.mark.parametrize(("loss_name", "n_incomplete"), CASES)
def test_forms_without_training_rows_lose_nothing(loss_name, n_incomplete):
    for seed in range(4):
        part = slope_part(seed, loss_name, n_incomplete)
        assert lost_in_forms(part) == []
        again = part.without_training_rows()
        if again is not None:
            assert lost_in_forms(again) == []


def test_half_of_the_multiple_of_the_curvature_is_caught(monkeypatch):
    honest, part = few_rows.greatest_ratio_upper, slope_part(0, "log_loss", 3)

    def plant_error():
        monkeypatch.setattr(few_rows, "greatest_ratio_upper", lambda *forms: 0.5 * honest(*forms))

    assert_caught(lambda: lost_in_forms(part), plant_error)


def test_a_gradient_that_is_part_of_no_form_is_caught(monkeypatch):
    # The gradient of a model that is not trained to the end, beside rows that hardly move it.
    part = slope_part(0, "log_loss", 1)
    part = replace(part, gradient=100.0 * (np.abs(part.gradient) + 1.0))

    honest = few_rows.rounded_up

    def without_gradient(form, roundings):
        return honest(0.0 * form if np.linalg.matrix_rank(form) == 1 else form, roundings)

    assert_caught(lambda: lost_in_forms(part), lambda: monkeypatch.setattr(few_rows, "rounded_up", without_gradient))


def test_a_form_that_is_dropped_with_its_rows_is_caught(monkeypatch):
    honest, part = few_rows.joint_form, slope_part(0, "log_loss", 3)

    def plant_error():
        monkeypatch.setattr(few_rows, "joint_form", lambda forms, typical: honest(forms[1:], typical))

    assert_caught(lambda: lost_in_forms(part), plant_error)


@pytest.mark.parametrize("most", [0, 3])
def test_bounds_hold_where_rows_at_a_jump_are_not_kept(most, monkeypatch, report_proofs):
    monkeypatch.setattr(linearize_module, "MOST_JUMP_ROWS", most)
    monkeypatch.setattr(slices, "BLOCK_CELLS", SMALL_BLOCK)
    for seed in range(4):
        rng = np.random.default_rng([47, seed])
        case = few_incomplete_rows(rng, "hinge", "l2", 2)
        # Every row at the kink of the model that was trained, or nearly so.
        case = replace(case, matrix=intervals(np.ones((8, 1)), np.where(np.arange(8) < 2, 0.1, np.nan)[:, None]))
        case = replace(case, y=np.ones(8), weight=None, X_test=np.array([[1.0], [-0.5]]))
        certificates = {"slope": certify_slopes, "tight": certify_tight, **ROW_FREE}
        made, wrong = prove(case, [train(case.problem)], inner=1, certificates=certificates)
        assert wrong == []
        report_proofs(made)


# --- several blocks ----------------------------------------------------------------------------------------------


def test_the_largest_values_of_several_blocks_are_those_of_all(monkeypatch):
    rng = np.random.default_rng(3)
    values = rng.random((12, 2))
    values[5, 1] = np.nan

    def wrong() -> list[str]:
        found = []
        for count in (0, 1, 3, 20):
            parts = [LargestValues.of(part, count) for part in np.split(values, [2, 3, 9])]
            total = sum(parts[1:], parts[0]).sum_upper()
            exact = np.sort(values[:, 0])[::-1][:count].sum()
            if not exact <= total[0] <= exact + 1e-12 or (count > 0 and not np.isnan(total[1])):
                found.append(f"{count}: {total}, {exact}")
        return found

    honest = LargestValues.of.__func__

    def plant_error():
        monkeypatch.setattr(LargestValues, "of", classmethod(lambda cls, values, count: honest(cls, values, count - 1)))

    assert_caught(wrong, plant_error)


def small_rows(label_uncertainty: LabelUncertainty | None = None) -> MemoryRows:
    """Return rows in several blocks, with holes, a missing category, and rows of weight 0 that are large."""
    rng = np.random.default_rng(11)
    table = rng.normal(size=(12, 4))
    table[:, 2:] = np.eye(2)[rng.integers(0, 2, size=12)]
    weight = rng.choice([0.5, 1.0], size=12)
    weight[[1, 7]] = 0.0
    table[[1, 7], 0] = 1e6
    missing = np.zeros((12, 1), dtype=bool)
    missing[[2, 3, 11], 0] = True
    choices = MissingCategories.of(missing, [Levels(np.array([2, 3]))])
    choices.put(table)
    lower, upper = table.copy(), table.copy()
    for i, j, radius in ((0, 0, 0.5), (4, 1, 0.25), (4, 0, 1.0), (9, 1, 2.0), (11, 0, 0.125)):
        lower[i, j], upper[i, j] = table[i, j] - radius, table[i, j] + radius
    matrix = replace(IntervalMatrix.from_bounds(lower, upper), missing_categories=choices)
    return MemoryRows(matrix, np.where(rng.random(12) < 0.5, 1.0, -1.0), weight, label_uncertainty)


@pytest.fixture
def several_blocks(monkeypatch) -> None:
    monkeypatch.setattr(slices, "BLOCK_CELLS", SMALL_BLOCK)


def looks(rows: Rows) -> dict[str, Rows]:
    """Return the rows, and views of them, and views of views."""
    labels = rows.labels()
    other = np.where(labels.weight > 0.0, labels.weight, 0.0)[::-1].copy()
    layout = PositionLayout.of(rows)
    up = np.where(layout.center < 0, 1, 1).astype(np.float32)
    seen = {
        "rows": rows,
        "wrong labels": with_wrong_labels(rows, 2),
        "relabelled": with_labels(rows, -labels.y, other),
        "one class": one_class_against_rest(rows, 1.0),
        "ranges": with_label_uncertainty(rows, LabelUncertainty(np.full(12, 0.1), np.zeros(12))),
        "completed": Completion(rows, layout, up).completed(),
    }
    return seen | {f"{name} and ones": with_intercept_column(view) for name, view in seen.items()}


@reads(Reads.NORMS)
def _norms(block: Block) -> list[np.ndarray]:
    exact = np.sqrt((block.center[block.weight > 0.0] ** 2).sum(axis=0))
    return [block.column_norms, exact, block.center]


def wrong_norms(rows: Rows) -> list[str]:
    """Compare the norms that kernels see with those of the blocks that they see, in views that take turns."""
    found = []
    for _ in range(2):
        for name, view in looks(rows).items():
            for norms, exact, center in view.results(_norms):
                if norms.shape != exact.shape or not (exact <= norms).all() or not (norms <= exact + 1e-9).all():
                    found.append(f"{name}: {norms}, {exact}, {center}")
    return found


@pytest.mark.usefixtures("several_blocks")
def test_norms_are_those_of_the_view_that_a_kernel_sees():
    assert wrong_norms(small_rows()) == []


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("name", ["_with_labels", "_append_ones"])
def test_a_view_that_keeps_stale_norms_is_caught(name, monkeypatch):
    honest = getattr(views, name)

    @reads(Reads.LABELS)
    def stale(block, *args):
        # What an earlier pass left of the same block, seen otherwise.
        return replace(honest(block, *args), cache=block.cache)

    assert_caught(lambda: wrong_norms(small_rows()), lambda: monkeypatch.setattr(views, name, stale))


@pytest.mark.usefixtures("several_blocks")
def test_each_block_is_given_its_own_part(monkeypatch):
    def wrong() -> list[str]:
        rows = one_hole_a_row()
        layout, rng = PositionLayout.of(rows), np.random.default_rng(5)
        view, positions = with_labels(rows, np.arange(12.0), np.ones(12)), rng.choice([-1, 1], 12).astype(np.float32)
        table = Completion(rows, layout, positions).table()
        found = [] if np.array_equal(view.labels().y, np.arange(12.0)) else ["labels"]
        return found if np.array_equal(table, rows.matrix.completion(positions.astype(float))) else [*found, "cells"]

    honest = slices.own_parts

    def swapped(args, number):
        parts = (PerBlock((*arg.parts[1::-1], *arg.parts[2:])) if isinstance(arg, PerBlock) else arg for arg in args)
        return honest(tuple(parts), number)

    assert len(list(one_hole_a_row().blocks())) > 2
    assert_caught(wrong, lambda: monkeypatch.setattr(slices, "own_parts", swapped))
    assert wrong() == ["labels", "cells"]


def one_hole_a_row() -> MemoryRows:
    rng = np.random.default_rng(6)
    table, radius = rng.normal(size=(12, 4)), np.full((12, 4), np.nan)
    radius[np.arange(12), rng.integers(0, 4, size=12)] = rng.choice([0.25, 0.5], size=12)
    return MemoryRows(intervals(table, radius), np.ones(12))


@pytest.mark.usefixtures("several_blocks")
def test_levels_of_each_block_are_its_own():
    rows = small_rows()
    layout, rng = PositionLayout.of(rows), np.random.default_rng(5)
    positions = np.concatenate([rng.choice([-1, 1], layout.n_cells), [0, 1, 0]]).astype(np.float32)
    expected = rows.matrix.completion(positions[: layout.n_cells].astype(float))
    rows.matrix.missing_categories.put(expected, positions[layout.n_cells :].astype(int))
    np.testing.assert_array_equal(Completion(rows, layout, positions).table(), expected)


@pytest.mark.usefixtures("several_blocks")
def test_no_pass_writes_to_a_block():
    rows = small_rows()
    before = [(block.center.copy(), block.y.copy(), block.weight.copy()) for block in rows.blocks()]
    problem = Problem(with_intercept_column(with_wrong_labels(rows, 1)), LOSSES["log_loss"], ElasticNet(0.1, 0.0, 1))
    solution = train(problem)
    certify_tight(problem, solution).score_bounds(np.eye(5))
    attained_bounds(problem, solution, np.eye(5)[:1])
    for block, (center, y, weight) in zip(rows.blocks(), before, strict=True):
        assert np.array_equal(block.center, center)
        assert np.array_equal(block.y, y)
        assert np.array_equal(block.weight, weight)


# --- labels and an intercept -------------------------------------------------------------------------------------


@pytest.mark.share(2)
@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("option", [{"max_label_errors": 1}, {"unknown_labels": True}])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_what_uncertain_labels_attain_is_inside_with_an_intercept_too(option, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = (X[:, 0] > 0.0).astype(float)
    X[3, 1] = np.nan
    if "unknown_labels" in option:
        y[5] = np.nan
    clf = BoundedClassifier(fit_intercept=fit_intercept, **option).fit(X, y)
    attained, completions = clf.attained_bounds(X[6:9], return_completions=True)
    certified = clf.decision_bounds(X[6:9])
    assert (certified[:, 0] <= attained[:, 0]).all()
    assert (attained[:, 1] <= certified[:, 1]).all()
    assert (attained[:, 0] < attained[:, 1]).all()
    low = completions[0][0]
    assert low.table().shape == (len(low.targets()), 2)
    again = BoundedClassifier(fit_intercept=fit_intercept, tol=1e-12).fit(
        low.table(), low.targets(), sample_weight=low.weights()
    )
    np.testing.assert_allclose(again.decision_function(X[6:7]), attained[0, 0], rtol=1e-5)
