"""A model saved without rows holds no training row: the file is searched for every one of them."""

import copy
import dataclasses
import io
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest

import ipub
from ipub import BoundedClassifier, BoundedRegressor, penalty_path
from ipub.app import cli
from ipub.app.files.modelfile import load_with_metadata, save
from ipub.certificates import Certificate
from ipub.estimators.fitted_state import keeps_training_rows

N, D = 120, 5
PROPORTIONAL = 1e-9
"""Vectors count as the same row, up to a factor, if the sine of their angle is less."""


def table(n_holed, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)).round(3) + 0.5
    t = X @ rng.normal(size=D) + 0.3 * rng.normal(size=N)
    holed = X.copy()
    holed[np.arange(n_holed), rng.integers(0, D, n_holed)] = np.nan
    return holed, t


def vectors_in(array, length):
    """Yield all that an array holds of vectors of a length: along any axis, and the leading vectors of its forms."""
    for axis in range(array.ndim):
        if array.shape[axis] >= length:
            for start in range(array.shape[axis] - length + 1):
                part = np.moveaxis(array, axis, -1)[..., start : start + length]
                yield from part.reshape(-1, length)
    if array.ndim >= 2 and array.shape[-1] == array.shape[-2] >= length:
        for form in array.reshape(-1, *array.shape[-2:]):
            if np.isfinite(form).all():
                values, vectors = np.linalg.eigh(0.5 * (form + form.T))
                # A form of one row has one direction that stands out.
                if values[-1] > 0.0 and np.abs(values[:-1]).max(initial=0.0) < 1e-9 * values[-1]:
                    yield from (vectors[start : start + length, -1] for start in range(len(form) - length + 1))


def recovered(arrays, X, ranges):
    """Return which training rows some vector is proportional to, uncertain cells at their centers or not looked at."""
    found = set()
    middle = ranges.mean(axis=1)
    for array in arrays:
        if array.dtype.kind != "f":
            continue
        for vector in vectors_in(np.asarray(array, dtype=float), D):
            size = np.linalg.norm(vector)
            if not 0.0 < size < np.inf:
                continue
            rows = np.where(np.isnan(X), middle, X)
            seen = (rows, np.ones_like(X)), (np.nan_to_num(X), ~np.isnan(X)), (np.abs(rows), np.ones_like(X))
            for rows_seen, keep in seen:
                here = vector * keep
                norms = np.linalg.norm(rows_seen, axis=1) * np.linalg.norm(here, axis=1)
                with np.errstate(divide="ignore", invalid="ignore"):
                    cosine = (rows_seen * here).sum(axis=1) / norms
                found |= set(np.flatnonzero(1.0 - np.abs(cosine) < PROPORTIONAL).tolist())
    return found


def arrays_of(path):
    with zipfile.ZipFile(path) as archive:
        return [np.load(io.BytesIO(archive.read(name))) for name in archive.namelist() if name.endswith(".npy")]


def arrays_in(value):
    """Yield the arrays of dataclasses, tuples and mappings, at any depth."""
    if isinstance(value, np.ndarray):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from arrays_in(getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from arrays_in(part)
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))


MODELS = {
    "log_loss": BoundedClassifier(),
    "hinge": BoundedClassifier("hinge"),
    "hinge, weak": BoundedClassifier("hinge", alpha=0.01),
    "smoothed hinge": BoundedClassifier("smoothed_hinge"),
    "elastic net": BoundedClassifier(l1_ratio=0.3),
    "wrong labels": BoundedClassifier(max_label_errors=2),
    "no intercept": BoundedClassifier(fit_intercept=False),
    "ball": BoundedClassifier(certificate="ball"),
    "sphere": BoundedClassifier(certificate="sphere"),
    "pointwise": BoundedClassifier(certificate="pointwise"),
    "regression": BoundedRegressor(),
    "huber": BoundedRegressor("huber"),
}


@pytest.mark.no_cover
@pytest.mark.share(4)
@pytest.mark.parametrize("n_holed", [1, 2, 4, 6, 30])
@pytest.mark.parametrize("name", MODELS)
def test_no_training_row_can_be_read_from_a_saved_model(name, n_holed, tmp_path):
    X, t = table(n_holed)
    model = copy.deepcopy(MODELS[name]).fit(X, t if isinstance(MODELS[name], BoundedRegressor) else t > t.mean())
    save(model, tmp_path / "m.ipub", rows=False)
    arrays = arrays_of(tmp_path / "m.ipub")
    assert recovered(arrays, X, model.hole_ranges_) == set()
    contents = b"".join(array.tobytes() for array in arrays)
    rows = np.where(np.isnan(X), model.hole_ranges_.mean(axis=1), X)
    assert not any(row.tobytes() in contents for row in rows)
    assert not load_with_metadata(tmp_path / "m.ipub").training_rows


@pytest.mark.parametrize("name", ["log_loss", "hinge", "wrong labels"])
def test_the_search_finds_the_rows_of_a_file_that_holds_them(name, tmp_path):
    X, t = table(6)
    model = copy.deepcopy(MODELS[name]).fit(X, t > t.mean())
    save(model, tmp_path / "m.ipub")
    found = recovered(arrays_of(tmp_path / "m.ipub"), X, model.hole_ranges_)
    assert found >= set(range(6))
    if name != "log_loss":
        assert len(found) > 6  # complete rows too, which only consent allows
    assert load_with_metadata(tmp_path / "m.ipub").training_rows


@pytest.mark.parametrize("name", ["log_loss", "hinge", "wrong labels"])
def test_a_file_without_rows_bounds_what_the_model_does(name, tmp_path):
    X, t = table(6)
    model = copy.deepcopy(MODELS[name]).fit(X, t > t.mean())
    model.save(tmp_path / "m.ipub", rows=False)
    again, rows = ipub.load(tmp_path / "m.ipub"), X[40:60]
    assert recovered(arrays_in(vars(again)), X, model.hole_ranges_) == set()
    (low, high), attained = again.decision_bounds(rows).T, model.attained_bounds(rows)
    assert (low <= attained[:, 0] + 1e-9).all()
    assert (attained[:, 1] <= high + 1e-9).all()


@pytest.mark.parametrize("name", ["log_loss", "hinge", "wrong labels"])
def test_files_and_pickles_bound_as_the_model_and_hold_no_training_table(name, tmp_path):
    X, t = table(6)
    model = copy.deepcopy(MODELS[name]).fit(X, t > t.mean())
    model.save(tmp_path / "m.ipub")
    for again in (pickle.loads(pickle.dumps(model)), ipub.load(tmp_path / "m.ipub")):
        assert not again.training_.models
        np.testing.assert_array_equal(again.decision_bounds(X), model.decision_bounds(X))


def test_the_former_name_of_rows_is_taken_with_a_warning(tmp_path):
    X, t = table(6)
    with pytest.warns(FutureWarning, match=r"save\(rows=False\)"):
        save(BoundedRegressor().fit(X, t), tmp_path / "m.ipub", training_rows=False)
    assert not load_with_metadata(tmp_path / "m.ipub").training_rows


def test_a_deep_copy_in_the_same_process_bounds_as_the_model():
    X, t = table(6)
    model = BoundedClassifier().fit(X, t > t.mean())
    np.testing.assert_array_equal(copy.deepcopy(model).decision_bounds(X[40:]), model.decision_bounds(X[40:]))


def test_several_classes_and_paths_hold_no_rows_either(tmp_path):
    X, t = table(6)
    y = np.digitize(t, np.quantile(t, [0.33, 0.66]))
    model = BoundedClassifier().fit(X, y)
    save(model, tmp_path / "m.ipub", rows=False)
    assert recovered(arrays_of(tmp_path / "m.ipub"), X, model.hole_ranges_) == set()
    path = penalty_path(BoundedClassifier(), X, t > t.mean(), X[60:], alphas=[1.0, 0.1])
    save(path.estimators[1], tmp_path / "p.ipub", rows=False)
    assert recovered(arrays_of(tmp_path / "p.ipub"), X, path.estimators[1].hole_ranges_) == set()


def test_a_certificate_says_whether_it_keeps_rows():
    X, t = table(6)
    certificate = BoundedClassifier().fit(X, t > t.mean()).certificate_
    assert isinstance(certificate, Certificate)
    assert keeps_training_rows(certificate)
    assert not keeps_training_rows(certificate.without_training_rows())


@pytest.mark.parametrize("option", ["", "--without-rows", "--keep-training-rows"])
def test_the_screen_and_the_file_say_which(option, tmp_path, capsys):
    X, t = table(6)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["target"] = np.where(t > t.mean(), "yes", "no")
    frame.to_csv(tmp_path / "train.csv", index=False)
    model = str(tmp_path / "m.ipub")
    arguments = ["fit", str(tmp_path / "train.csv"), "--target", "target", "-o", model, *filter(None, [option])]
    cli.app(arguments, standalone_mode=False)
    printed = "".join(capsys.readouterr())
    has_rows = option != "--without-rows"
    assert ("holds training rows, which" if has_rows else "holds no training rows") in " ".join(printed.split())
    assert ("is what is done without it" in " ".join(printed.split())) == (option == "--keep-training-rows")
    assert load_with_metadata(model).training_rows is has_rows
    cli.app(["predict", model, str(tmp_path / "train.csv")], standalone_mode=False)
    assert ("holds training rows" in " ".join("".join(capsys.readouterr()).split())) is has_rows
