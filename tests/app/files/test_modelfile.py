import dataclasses
import json
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.app.files import model_archive
from ipub.app.files.atomic import FileError
from ipub.app.files.modelfile import OLDEST, VERSION, ModelFileError, load, load_with_metadata, save
from ipub.certificates import Region, SlopeBounds
from ipub.certificates.slopes import attempt as attempt_module
from ipub.estimators.fitted_state import as_saved
from support.stored_models import STORED, bounds_of, stored_models

NAMES = ["a", "b", "c"]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:6, 2] = np.nan
    return X, X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.normal(size=60)


@pytest.fixture
def model(table, tmp_path):
    X, t = table
    path = tmp_path / "m.ipub"
    fitted = BoundedClassifier().fit(pd.DataFrame(X, columns=NAMES), t > 0)
    save(fitted, path)
    return fitted, path


def attributes(estimator):
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()
    return type(a) is type(b) and (repr(a) == repr(b))


@pytest.mark.parametrize(
    "estimator",
    [
        BoundedClassifier(),
        BoundedClassifier("hinge", alpha=0.5, certificate="sphere"),
        BoundedClassifier(l1_ratio=0.3, intervals={"c": (-2.0, 2.5), "a": "observed"}),
        BoundedClassifier(intervals=np.array([[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]])),
        BoundedClassifier(intervals=[[-1, 1], [-2, 2], [-3, 3]], tol=1e-6, random_state=3),
        BoundedClassifier(fit_intercept=False, class_weight={False: 2.0, True: 0.5}),
        BoundedClassifier("hinge", class_weight="balanced"),
        BoundedRegressor(certificate="ball", intervals="observed"),
        BoundedClassifier("squared_hinge"),
        BoundedClassifier("smoothed_hinge", hinge_width=0.3),
        BoundedRegressor("huber", huber_delta=0.7),
        BoundedRegressor(fit_intercept=False),
    ],
    ids=lambda estimator: f"{estimator.loss}-{estimator.certificate}-{type(estimator.intervals).__name__}",
)
def test_a_loaded_model_predicts_and_bounds_bit_by_bit_as_the_saved_one(table, tmp_path, estimator):
    X, t = table
    frame = pd.DataFrame(X, columns=NAMES)
    y = t if isinstance(estimator, BoundedRegressor) else t > 0
    fitted = clone(estimator).fit(frame, y)
    save(fitted, tmp_path / "m.ipub")
    loaded = load(tmp_path / "m.ipub")
    assert type(loaded) is type(fitted)
    assert set(attributes(loaded)) == set(attributes(fitted))
    for name, value in attributes(fitted).items():
        assert same(value, getattr(loaded, name)), name
    for before, after in zip(regions_of(fitted), regions_of(loaded), strict=True):
        assert before.name == after.name
        assert before.radius == after.radius
        assert (before.center == after.center).all()
        assert (before.box == after.box).all()
        assert before.n_free == after.n_free == int(estimator.fit_intercept)
    complete = frame.iloc[6:]
    method = "predict_bounds" if isinstance(estimator, BoundedRegressor) else "decision_bounds"
    assert (getattr(fitted, method)(complete) == getattr(loaded, method)(complete)).all()
    assert (fitted.predict(frame) == loaded.predict(frame)).all()
    assert repr(loaded) == repr(fitted)
    clone(loaded).fit(frame, y)


def regions_of(fitted):
    return fitted.certificate_.parts_of(Region)


def assert_same_parts(a, b):
    """Compare two certificates part by part, down to the bits of their arrays."""
    assert type(a) is type(b)
    if dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a):
            assert_same_parts(getattr(a, field.name), getattr(b, field.name))
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same_parts(one, other)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    else:
        assert a == b


@pytest.mark.parametrize("training_rows", [True, False])
@pytest.mark.parametrize("certificate", ["sphere", "slope", "tight"])
@pytest.mark.parametrize(("loss", "l1_ratio"), [("log_loss", 0.0), ("log_loss", 0.3), ("hinge", 0.0), ("huber", 0.0)])
def test_every_part_of_a_certificate_is_stored(
    table, tmp_path, loss, l1_ratio, certificate, training_rows, monkeypatch
):
    # The mean value is there even where it gains nothing.
    monkeypatch.setattr(attempt_module, "MEAN_VALUE_GAIN", np.inf)
    X, t = table
    kind = BoundedRegressor if loss == "huber" else BoundedClassifier
    fitted = kind(loss, l1_ratio=l1_ratio, certificate=certificate).fit(X, t if kind is BoundedRegressor else t > 0)
    save(fitted, tmp_path / "m.ipub", rows=training_rows)
    stored, parts = load(tmp_path / "m.ipub").certificate_, fitted.certificate_
    assert_same_parts(stored, parts if training_rows else as_saved(fitted, rows=False).certificate_)
    slope = stored.part(SlopeBounds)
    if slope is not None:
        assert (slope.cells is not None) == training_rows
        has_row_sums = "row sums" in {part.name for part in parts.parts}
        assert (slope.mean_value is not None) == (loss != "hinge" and l1_ratio == 0.0 and not has_row_sums)
        low, high = parts.without_training_rows().score_bounds(np.eye(4)).T
        stored_low, stored_high = stored.score_bounds(np.eye(4)).T
        assert (stored_low >= low).all()
        assert (high >= stored_high).all()
    assert (slope is None) == (certificate == "sphere")


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([-1.0, 2.0]),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([3, 7], dtype=np.int8),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(table, tmp_path, labels):
    X, t = table
    y = labels[(t > 0).astype(int)]
    fitted = BoundedClassifier().fit(X, y)
    save(fitted, tmp_path / "m.ipub")
    loaded = load(tmp_path / "m.ipub")
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert not hasattr(loaded, "feature_names_in_")


def test_metadata_travels_with_the_model(model, tmp_path):
    metadata = {"target": "y", "n": 3, "none": None, "odd": [float("inf"), (1, "é")], "array": np.arange(3)}
    save(model[0], tmp_path / "m.ipub", metadata)
    back = load_with_metadata(tmp_path / "m.ipub").metadata
    assert back.pop("array").tolist() == [0, 1, 2]
    assert back == {"target": "y", "n": 3, "none": None, "odd": [float("inf"), (1, "é")]}


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    save(model[0], tmp_path / "again.ipub")
    assert (tmp_path / "again.ipub").read_bytes() == model[1].read_bytes()


def test_only_fitted_estimators_of_the_package_are_saved(table, tmp_path):
    X, t = table
    with pytest.raises(NotFittedError):
        save(BoundedRegressor(), tmp_path / "m.ipub")
    with pytest.raises(ModelFileError, match="not Pipeline"):
        save(make_pipeline(StandardScaler(), BoundedRegressor()).fit(X, t), tmp_path / "m.ipub")
    assert os.listdir(tmp_path) == []


def test_what_would_need_pickle_is_refused_by_name(table, tmp_path):
    X, t = table
    fitted = BoundedRegressor(random_state=np.random.RandomState(0)).fit(X, t)
    with pytest.raises(ModelFileError, match=r"'random_state' .* RandomState would need pickle"):
        save(fitted, tmp_path / "m.ipub")
    assert os.listdir(tmp_path) == []


def test_a_crash_while_saving_keeps_the_old_model(model, monkeypatch):
    fitted, path = model
    before = path.read_bytes()

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(FileError, match="No space"):
        save(fitted, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_other_files_are_not_models(tmp_path):
    for content in (b"", b"a,b\n1,2\n", os.urandom(500)):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(ModelFileError, match="is not an ipub model"):
            load(tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(ModelFileError, match="is not an ipub model"):
        load(tmp_path / "x")
    with pytest.raises(ModelFileError, match="folder"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def rewritten(path, change):
    """Return a copy of a model file whose header was changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["model.json"])
    change(header)
    copy = path.with_name("changed.ipub")
    with zipfile.ZipFile(copy, "w") as archive:
        for name, content in {**members, "model.json": json.dumps(header)}.items():
            archive.writestr(name, content)
    return copy


def test_a_newer_version_says_to_upgrade(model):
    path = rewritten(model[1], lambda header: header.update(version=VERSION + 1, written_by="ipub 9.9"))
    with pytest.raises(ModelFileError, match=r"newer version of ipub \(ipub 9.9.*upgrade"):
        load(path)


@pytest.mark.parametrize("version", [1, OLDEST - 1])
def test_a_file_of_an_older_format_says_in_one_sentence_how_to_make_a_new_one(model, version):
    path = rewritten(model[1], lambda header: header.update(version=version, written_by="ipub 0.1.0"))
    with pytest.raises(ModelFileError, match=r"older version of ipub \(ipub 0.1.0\).*fit the model again") as caught:
        load(path)
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize("path", sorted(STORED.iterdir()), ids=lambda path: path.stem)
def test_files_of_the_last_two_versions_load_and_bound_as_they_did(path):
    loaded, metadata, _ = load_with_metadata(path)
    np.testing.assert_allclose(bounds_of(loaded), metadata["bounds"], rtol=1e-9, atol=1e-12)
    clone(loaded).fit(np.eye(2).repeat(3, axis=0), [0, 1] * 3)


def test_there_are_files_of_the_last_two_versions():
    names = {path.stem for path in STORED.iterdir()}
    assert names == {f"version_{version}_{name}" for version in (OLDEST, VERSION) for name in stored_models()}


@pytest.mark.parametrize("uncertainty", [Budget(cells=1), Budget(share=1.0), "worst"], ids=str)
def test_loaded_row_sums_bound_and_decide_as_the_saved_ones(table, tmp_path, uncertainty):
    X, t = table
    fitted = BoundedClassifier(alpha=0.1, uncertainty=uncertainty).fit(X, t > 0)
    assert "row sums" in {part.name for part in fitted.certificate_.parts}
    save(fitted, tmp_path / "m.ipub")
    loaded = load(tmp_path / "m.ipub")
    assert_same_parts(loaded.certificate_, fitted.certificate_)
    rows = np.nan_to_num(X)
    assert (loaded.decision_bounds(rows) == fitted.decision_bounds(rows)).all()
    if uncertainty != "worst":
        save(fitted, tmp_path / "box.ipub", rows=False)
        box = load(tmp_path / "box.ipub")
        # Of any filling, which many of the missing values meet, there are slopes too.
        assert [part.name for part in box.certificate_.parts] == ["supports", "box", "slope"]
        low, high = box.decision_bounds(rows).T
        attained = fitted.attained_bounds(rows)
        assert (low <= attained[:, 0]).all()
        assert (attained[:, 1] <= high).all()
    # Each loaded part is used as it is: in ranges on the way from w scores are ruled out.
    assert ((loaded.predict_status(rows) == "certain") == (fitted.predict_status(rows) == "certain")).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("version"),
        lambda header: header.pop("fitted"),
        lambda header: header["fitted"].pop("certificate_"),
        lambda header: header["fitted"].update(n_features_in_=7),
        lambda header: header["fitted"].update(coef_={"array": "missing.npy"}),
        lambda header: header["fitted"].update(__class__="x"),
        lambda header: header["fitted"].update(predict="x"),
        lambda header: header["fitted"].update(certificate_={"record": "Popen", "fields": {}}),
        lambda header: header["fitted"].update(certificate_={"surprise": 1}),
        lambda header: header["parameters"].update(colour="red"),
        lambda header: header["parameters"].update(fit_intercept=False),
        lambda header: header["fitted"].update(intercept_bounds_=3.0),
        lambda header: header.update(parameters=5),
    ],
)
def test_a_header_that_was_tampered_with_is_refused(model, change):
    with pytest.raises(ModelFileError, match="damaged"):
        load(rewritten(model[1], change))


def test_an_unknown_class_is_refused(model):
    with pytest.raises(ModelFileError, match="does not know"):
        load(rewritten(model[1], lambda header: header.update({"class": "OrderedDict"})))


def test_arrays_of_objects_are_never_unpickled(model):
    path = rewritten(model[1], lambda header: header["fitted"].update(coef_={"array": "evil.npy"}))
    with zipfile.ZipFile(path, "a") as archive, archive.open("evil.npy", "w") as member:
        np.lib.format.write_array(member, np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_no_cut_and_no_changed_byte_gives_a_traceback_or_a_wrong_model(model):
    fitted, path = model
    content = path.read_bytes()
    frame = pd.DataFrame(np.eye(3), columns=NAMES)
    expected = fitted.decision_bounds(frame)
    rng = np.random.default_rng(0)
    damaged = path.with_name("damaged.ipub")
    for cut in rng.integers(0, len(content), 40):
        damaged.write_bytes(content[:cut])
        with pytest.raises(ModelFileError):
            load(damaged)
    for at in rng.integers(0, len(content), 200):
        changed = bytearray(content)
        changed[at] ^= int(rng.integers(1, 256))
        damaged.write_bytes(changed)
        try:
            loaded = load(damaged)
        except ModelFileError:
            continue
        assert (loaded.decision_bounds(frame) == expected).all()


# --- bounded in memory -----------------------------------------------------------------------------------------------


def with_member(path, name, content, **changes):
    """Return a copy of a model file with another member, whose entry in the list of members may say what is not so."""
    copy = path.with_name("other.ipub")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as other:
        for info in archive.infolist():
            if info.filename != name:
                other.writestr(info.filename, archive.read(info))
        other.writestr(name, content)
        info = other.getinfo(name)
        for field, value in changes.items():
            setattr(info, field, value)
    return copy


def peak_of_loading(path):
    """Return how many bytes Python and NumPy had at once for a file that is refused."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="damaged") as caught:
            load(path)
        assert str(caught.value).count(". ") == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def npy(header):
    return np.lib.format.magic(1, 0) + struct.pack("<H", len(header)) + header.encode()


@pytest.mark.parametrize(
    "shape",
    ["(10000000000,)", "(1000000, 1000000)", "(-1,)", "(2.5,)", "('a',)"],
    ids=["long", "wide", "-1", "2.5", "a"],
)
def test_an_array_of_a_huge_or_impossible_shape_takes_no_memory(model, shape):
    content = npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n") + bytes(800)
    assert peak_of_loading(with_member(model[1], "array0.npy", content)) < 10**7


def test_a_file_that_unpacks_to_much_more_than_its_size_is_refused(model, monkeypatch):
    monkeypatch.setattr(model_archive, "USUAL_SIZE", 10**6)
    assert peak_of_loading(with_member(model[1], "array0.npy", bytes(10**8))) < 10**7


def test_a_member_that_unpacks_to_more_than_it_says_is_cut_off(model):
    said = {"file_size": 800}
    assert peak_of_loading(with_member(model[1], "array0.npy", bytes(10**8), **said)) < 10**7


def test_a_huge_header_is_refused(model, monkeypatch):
    monkeypatch.setattr(model_archive, "LARGEST_HEADER", 10**5)
    path = rewritten(model[1], lambda header: header["metadata"].update(long=[[[]]] * 10**5))
    assert peak_of_loading(path) < 10**7
    with pytest.raises(ModelFileError, match=r"cannot be stored: it has .* bytes of text and lists"):
        save(model[0], path, {"long": "x" * 10**5})


@pytest.mark.parametrize("deep", ['{"tuple": [' * 3000 + "1" + "]}" * 3000, "[" * 10**5 + "]" * 10**5])
def test_a_deep_header_is_refused(model, deep):
    with zipfile.ZipFile(model[1]) as archive:
        text = archive.read("model.json").decode()
    path = with_member(model[1], "model.json", text.replace('"metadata": {', f'"metadata": {{"deep": {deep}', 1))
    assert peak_of_loading(path) < 10**8


def test_a_file_that_would_unpack_to_too_much_is_not_compressed_and_loads(model, monkeypatch, tmp_path):
    monkeypatch.setattr(model_archive, "USUAL_SIZE", 10**5)
    zeros = np.zeros(10**6)
    save(model[0], tmp_path / "zeros.ipub", {"zeros": zeros})
    assert (tmp_path / "zeros.ipub").stat().st_size > zeros.nbytes
    assert load_with_metadata(tmp_path / "zeros.ipub").metadata["zeros"].tobytes() == zeros.tobytes()
