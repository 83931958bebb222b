"""`attained_bounds` as a user meets it: beside the certified bounds, with the fillings that attain an end."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix
from ipub.app.files.modelfile import load, save
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from support.small_problems import COMBINATIONS, draw_table

NAMES = list("abcde")
X_TEST = np.random.default_rng(1).normal(size=(3, 5))


def make(loss: str = "log_loss", l1_ratio: float = 0.0, **parameters):
    kind = BoundedRegressor if LOSSES[loss].task == "regression" else BoundedClassifier
    return kind(loss, l1_ratio=l1_ratio, **parameters)


def data_for(model, holes: float = 0.05, n: int = 120):
    return draw_table(n, holes=holes, task="regression" if isinstance(model, BoundedRegressor) else "classification")


def scores(model, X):
    return model.predict(X) if isinstance(model, BoundedRegressor) else model.decision_function(X)


def score_bounds(model, X):
    return model.predict_bounds(X) if isinstance(model, BoundedRegressor) else model.decision_bounds(X)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("loss", "l1_ratio"), [("log_loss", 0.5), ("hinge", 0.0), ("squared_error", 0.5), ("huber", 0.0)]
)
def test_attained_is_inside_certified_and_around_the_score(loss, l1_ratio):
    model = make(loss, l1_ratio, certificate="sphere")
    X, y = data_for(model, n=60)
    attained = model.fit(X, y).attained_bounds(X_TEST)
    assert attained.shape == (3, 2)
    for certificate in CERTIFICATES:
        again = clone(model).set_params(certificate=certificate, effort=0.2).fit(X, y)
        certified = score_bounds(again, X_TEST)
        assert (certified[:, 0] <= attained[:, 0]).all()
        assert (attained[:, 1] <= certified[:, 1]).all()
    assert (attained[:, 0] <= scores(model, X_TEST) + 1e-7).all()
    assert (scores(model, X_TEST) <= attained[:, 1] + 1e-7).all()


@pytest.mark.no_cover
@pytest.mark.share(2)
@pytest.mark.parametrize("holes", [0.01, 0.04])
@pytest.mark.parametrize(("loss", "l1_ratio"), COMBINATIONS)
def test_training_on_a_completion_gives_the_end(loss, l1_ratio, holes):
    model = make(loss, l1_ratio, certificate="sphere")
    X, y = data_for(model, holes)
    rows = X_TEST[:2]
    bounds, completions = model.fit(X, y).attained_bounds(rows, return_completions=True)
    assert len(completions) == len(rows)
    for x, ends, pair in zip(rows, bounds, completions, strict=True):
        for end, completion in zip(ends, pair, strict=True):
            table = completion.table()
            assert np.array_equal(table[~np.isnan(X)], X[~np.isnan(X)])
            assert abs(scores(clone(model).set_params(certificate=None).fit(table, y), [x])[0] - end) <= 1e-6


@pytest.mark.parametrize("make_frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_frames_give_what_arrays_give(make_frame):
    X, y = draw_table(holes=0.05)
    from_frame = make().fit(make_frame(X, columns=NAMES), y)
    frame = make_frame(X_TEST, columns=NAMES)
    bounds, completions = from_frame.attained_bounds(frame, return_completions=True)
    from_array = make().fit(X, y)
    assert np.array_equal(bounds, from_array.attained_bounds(X_TEST))
    assert completions[0][0].table().shape == X.shape


def test_holes_lie_in_the_intervals_that_were_given():
    X, y = draw_table(holes=0.05)
    ranges = np.tile([-0.5, 2.0], (5, 1))
    _, completions = make(intervals=ranges).fit(X, y).attained_bounds(X_TEST, return_completions=True)
    filled = completions[0][1].table()[np.isnan(X)]
    assert set(filled.round(12)) == {-0.5, 2.0}
    lower, upper = np.nan_to_num(X, nan=-0.5), np.nan_to_num(X, nan=2.0)
    bounds = make().fit(IntervalMatrix.from_bounds(lower, upper), y).attained_bounds(X_TEST)
    np.testing.assert_allclose(bounds, make(intervals=ranges).fit(X, y).attained_bounds(X_TEST))


@pytest.mark.no_cover
@pytest.mark.share(2)
@pytest.mark.parametrize("holes", [0.04, 0.01])
@pytest.mark.parametrize(("loss", "l1_ratio"), [("log_loss", 0.0), ("hinge", 0.5), ("squared_error", 0.0)])
def test_rows_with_holes_are_filled_as_well(loss, l1_ratio, holes):
    model = make(loss, l1_ratio)
    X, y = data_for(model, holes)
    rows = X_TEST.copy()
    rows[0, 2] = rows[1, :3] = np.nan
    bounds, completions = model.fit(X, y).attained_bounds(rows, return_completions=True)
    certified, complete = score_bounds(model, rows), model.attained_bounds(np.where(np.isnan(rows), 0.0, rows))
    assert (certified[:, 0] <= bounds[:, 0]).all()
    assert (bounds[:, 1] <= certified[:, 1]).all()
    assert bounds[1, 0] < complete[1, 0] < complete[1, 1] < bounds[1, 1]
    for x, ends, pair in zip(rows, bounds, completions, strict=True):
        for side, end, completion in zip((-1.0, 1.0), ends, pair, strict=True):
            again = clone(model).set_params(certificate=None).fit(completion.table(), y)
            best = np.where(side * np.ravel(again.coef_) > 0.0, model.hole_ranges_[:, 1], model.hole_ranges_[:, 0])
            assert abs(scores(again, [np.where(np.isnan(x), best, x)])[0] - end) <= 1e-6


@pytest.mark.parametrize("through", ["pickle", "deepcopy", "file"])
def test_a_model_without_its_training_table_says_so(through, tmp_path):
    model = make().fit(*draw_table(holes=0.05))
    if through == "file":
        save(model, tmp_path / "model.ipub")
        again = load(tmp_path / "model.ipub")
    else:
        again = pickle.loads(pickle.dumps(model)) if through == "pickle" else copy.deepcopy(model)
    assert np.array_equal(again.decision_bounds(X_TEST), model.decision_bounds(X_TEST))
    with pytest.raises(NotFittedError, match=r"needs the training table.*call fit again"):
        again.attained_bounds(X_TEST)
    assert model.attained_bounds(X_TEST).shape == (3, 2)


def test_a_file_without_rows_does_not_grow_with_the_table(tmp_path):
    sizes = []
    for n in (200, 20_000):
        X, y = draw_table(n)
        X[:5, 0] = np.nan
        save(make().fit(X, y), tmp_path / "model.ipub", rows=False)
        sizes.append((tmp_path / "model.ipub").stat().st_size)
    assert sizes[1] < sizes[0] + 1000


def test_a_large_table_changed_since_fit_is_noticed(monkeypatch):
    monkeypatch.setattr("ipub.training.fit.KEPT_CELLS", 0)
    X, y = draw_table(holes=0.05)
    model = make().fit(X, y)
    X[~np.isnan(X[:, 0]), 0] += 1.0
    with pytest.raises(ValueError, match="changed since fit"):
        model.attained_bounds(X_TEST)


def test_unfitted_models_say_so():
    with pytest.raises(NotFittedError):
        make().attained_bounds(X_TEST)


@pytest.mark.parametrize("verbose", [0, 1])
def test_progress_is_shown_if_asked_for(verbose, capsys):
    model = make(verbose=verbose).fit(*draw_table(holes=0.05))
    capsys.readouterr()
    model.attained_bounds(X_TEST)
    shown = capsys.readouterr()
    assert ("100%" in shown.out) == bool(verbose)
    assert shown.err == ""
