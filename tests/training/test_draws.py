"""Estimators fitted to draws: all that a fitted model does, reproducible in any number of processes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Intervals, IpubError
from ipub.app.files.modelfile import load, save
from ipub.errors import IpubWarning
from ipub.promises import Draws
from support.draws import fit_draws


def table(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + X[:, 1] > 0.3 * rng.normal(size=n)).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


DRAWS = Draws(n_draws=6, random_state=0)
T = np.random.default_rng(9).normal(size=(8, 3))


@pytest.fixture(scope="module")
def fitted():
    return fit_draws(BoundedClassifier(alpha=0.02, scale="standard"), *table(), DRAWS)


def test_the_model_is_the_mean_of_the_draws_and_inside_their_range(fitted):
    bounds = fitted.certificate_.parts[0]
    assert np.allclose(np.append(fitted.coef_[0], fitted.intercept_), bounds.weights.mean(axis=0))
    scores, ends = fitted.decision_function(T), fitted.decision_bounds(T)
    plain = bounds.plain(np.column_stack([fitted.scaling_.rows(T), np.ones(len(T))]))
    for low, high in (ends.T, plain.T):
        assert (low <= scores).all()
        assert (scores <= high).all()
    assert (ends[:, 0] <= plain[:, 0]).all()
    assert (ends[:, 1] >= plain[:, 1]).all()
    assert (fitted.coef_bounds_[:, 0] <= fitted.coef_[0]).all()
    assert (fitted.coef_[0] <= fitted.coef_bounds_[:, 1]).all()
    assert fitted.predict_set(T).shape == (8, 2)
    assert "99" not in fitted.certificate_.promise
    assert "probability 71.4285 %" in fitted.certificate_.promise


def test_the_bounds_are_narrower_than_those_of_any_filling(fitted):
    worst = BoundedClassifier(alpha=0.02, scale="standard").fit(*table())
    assert (np.ptp(fitted.decision_bounds(T), axis=1) < 0.5 * np.ptp(worst.decision_bounds(T), axis=1)).all()


def test_holes_of_test_rows_stay_the_worst_case(fitted):
    row = T[:1].copy()
    row[0, 1] = np.nan
    low, high = fitted.decision_bounds(row)[0]
    for value in np.linspace(*fitted.hole_ranges_[1], 5):
        filled = row.copy()
        filled[0, 1] = value
        ends = fitted.decision_bounds(filled)[0]
        assert low <= ends[0]
        assert ends[1] <= high


def test_the_same_seed_gives_the_same_bounds_in_any_number_of_processes(fitted):
    again, in_two, other = (
        fit_draws(BoundedClassifier(alpha=0.02, scale="standard"), *table(), Draws(n_draws=6, **changed))
        for changed in ({"random_state": 0}, {"random_state": 0, "n_jobs": 2}, {"random_state": 1})
    )
    assert np.array_equal(again.decision_bounds(T), fitted.decision_bounds(T))
    assert np.array_equal(in_two.decision_bounds(T), fitted.decision_bounds(T))
    assert not np.array_equal(other.decision_bounds(T), fitted.decision_bounds(T))


@pytest.mark.parametrize("training_rows", [False, True])
def test_a_model_file_holds_the_bounds_of_all_draws(fitted, tmp_path, training_rows):
    save(fitted, tmp_path / "model.ipub", rows=training_rows)
    loaded, here = load(tmp_path / "model.ipub").decision_bounds(T), fitted.decision_bounds(T)
    if training_rows:
        assert np.array_equal(loaded, here)
        assert np.array_equal(pickle.loads(pickle.dumps(fitted)).decision_bounds(T), here)
    else:
        assert (loaded[:, 0] <= here[:, 0] + 1e-9).all()
        assert (loaded[:, 1] >= here[:, 1] - 1e-9).all()


def test_more_than_two_classes_have_a_range_each():
    X, _ = table(90)
    y = np.arange(90) % 3
    model = fit_draws(BoundedClassifier(alpha=0.1), X, y, Draws(n_draws=3, random_state=0))
    ends = model.decision_bounds(T)
    assert ends.shape == (8, 3, 2)
    assert (ends[..., 0] <= model.decision_function(T)).all()
    assert (model.decision_function(T) <= ends[..., 1]).all()


@pytest.mark.parametrize("certificate", ["sphere", "ball", "slope", "pointwise"])
def test_every_certificate_certifies_draws(certificate):
    X, y = table()
    model = fit_draws(BoundedClassifier(alpha=0.2, certificate=certificate), X, y, Draws(n_draws=2, random_state=0))
    assert np.isfinite(model.decision_bounds(T)).all()
    assert ("'tight'" in model.certificate_.note) == (certificate == "pointwise")


def test_uncertain_labels_stay_uncertain_in_every_draw():
    X, y = table()
    certain = fit_draws(BoundedClassifier(alpha=0.5), X, y, DRAWS)
    wrong = fit_draws(BoundedClassifier(alpha=0.5, max_label_errors=2), X, y, DRAWS)
    assert (np.ptp(wrong.decision_bounds(T), axis=1) > np.ptp(certain.decision_bounds(T), axis=1)).all()
    known = fit_draws(BoundedRegressor(alpha=0.5), X, 1.0 * y, DRAWS)
    between = fit_draws(BoundedRegressor(alpha=0.5), X, None, DRAWS, y_lower=y - 0.2, y_upper=y + 0.2)
    assert (np.ptp(between.predict_bounds(T), axis=1) > 0.1 + np.ptp(known.predict_bounds(T), axis=1)).all()


def test_many_cells_are_bounded_by_columns(monkeypatch, fitted):
    monkeypatch.setattr("ipub.training.draws.MOST_KEPT", 1)
    model = fit_draws(BoundedClassifier(alpha=0.02, scale="standard"), *table(), DRAWS)
    assert not model.certificate_.keeps_training_rows
    assert np.ptp(model.decision_bounds(T), axis=1).max() < 1.5 * np.ptp(fitted.decision_bounds(T), axis=1).max()


def test_progress_is_shown_if_asked_for(capfd):
    fit_draws(BoundedClassifier(verbose=1), *table(), Draws(n_draws=2))
    assert "Draws" in "".join(capfd.readouterr())


def test_a_file_in_memory_is_refused(tmp_path):
    X, y = table()
    mapped = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    with pytest.raises(IpubError, match=r"numpy.array\(X\)"):
        fit_draws(BoundedClassifier(), mapped, y, DRAWS)


def test_the_seed_of_the_estimator_serves_draws_without_one():
    X, y = table()
    first, second, other = (
        BoundedClassifier(alpha=0.1, random_state=seed, uncertainty=Draws(n_draws=2)).fit(X, y).decision_bounds(T)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_draws_without_a_radius_warn_that_imputers_do_not_see_the_labels():
    with pytest.warns(IpubWarning, match="labels included"):
        fit_draws(BoundedClassifier(alpha=0.5), *table(), Draws(n_draws=2, radius=0.0, random_state=0))


# With a weak penalty row sums, which know no budget of cells, are so narrow that a budget gains nothing.
@pytest.mark.filterwarnings("ignore:radius=0")
@pytest.mark.parametrize(("alpha", "gain"), [(0.5, 0.9), (0.1, 1.0)], ids=["slopes", "row sums"])
def test_some_cells_may_differ_from_every_draw_by_any_amount(alpha, gain):
    X, y = table()
    draws = Draws(n_draws=3, radius=0.0, random_state=0)
    near = BoundedClassifier(alpha=alpha, uncertainty=draws).fit(X, y)
    far = BoundedClassifier(alpha=alpha, uncertainty=replace(draws, cells=1)).fit(X, y)
    worst = BoundedClassifier(alpha=alpha).fit(X, y)
    bounds, inner, outer = (model.decision_bounds(T) for model in (far, near, worst))
    assert (bounds[:, 0] <= inner[:, 0] + 1e-9).all()
    assert (inner[:, 1] <= bounds[:, 1] + 1e-9).all()
    assert (np.ptp(bounds, axis=1) <= gain * np.ptp(outer, axis=1)).all()
    assert "at most 1 of them" in far.certificate_.promise
    captured = []
    spy = Draws(lambda Z, rng: captured.append(hot(Z, rng)) or captured[-1], n_draws=3, radius=0.0, cells=1)
    model = BoundedClassifier(alpha=alpha, uncertainty=spy).fit(X, y)
    bounds, rng = model.decision_bounds(T), np.random.default_rng(1)
    for drawn in captured[-3:]:
        for i, j in rng.permutation(np.argwhere(np.isnan(X)))[:12]:
            for end in model.hole_ranges_[j]:
                other = drawn.copy()
                other[i, j] = end
                full = BoundedClassifier(alpha=alpha, tol=1e-12, certificate=None).fit(other, y)
                scores = full.decision_function(T)
                assert (bounds[:, 0] <= scores + 1e-9).all()
                assert (scores <= bounds[:, 1] + 1e-9).all()


def hot(X, rng):
    """Fill each hole with a value inside the intervals, near the middle."""
    return np.where(np.isnan(X), rng.uniform(-0.5, 0.5, size=X.shape), X)


def test_cells_that_may_differ_are_for_missing_values_alone():
    X, y = table()
    with pytest.raises(IpubError, match="precision makes every observed cell uncertain"):
        BoundedClassifier(intervals=Intervals(precision=0.1), uncertainty=Draws(n_draws=2, cells=1)).fit(X, y)
    with pytest.raises(IpubError, match="cells is -1"):
        BoundedClassifier(uncertainty=Draws(n_draws=2, cells=-1)).fit(X, y)
    hinge = BoundedClassifier("hinge", alpha=0.5, uncertainty=Draws(n_draws=2, cells=1, random_state=0)).fit(X, y)
    assert (
        "'hinge' has a kink; take one without, as 'smoothed_hinge'. Those of any filling are used"
        in hinge.certificate_.note
    )
