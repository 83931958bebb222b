"""Parquet files, streamed: the bounds of the same table in memory, however it is stored; and faults of files."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from ipub import BoundedClassifier, BoundedRegressor, Intervals, IpubError, certify, penalty_path
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from ipub.rows import engine_of, parquet_files
from ipub.rows.parquet import ParquetTable
from ipub.rows.parquet_files import ParquetWarning
from ipub.rows.pieces import PieceRows
from support.long_tables import stream_everything, write_files

N = 120


def table(n=N, n_classes=2, seed=0):
    """Return a frame with features, a target "y" and weights "w"."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) * [1.0, 20.0, 0.1], columns=["a", "b", "c"])
    score = frame["a"] + 0.05 * frame["b"] + rng.normal(size=n)
    frame["site"] = rng.choice(["north", "east"], n)
    frame = frame.mask(rng.random(frame.shape) < 0.04)
    frame["y"] = pd.qcut(score, n_classes, labels=False) if n_classes else score
    frame["w"] = rng.choice([0.0, 0.5, 1.0], n)
    return frame


def assert_the_same_bounds(model, frame, folder, weight=False, rows=6):
    """Fit in memory and from files; compare bounds to 1e-9, relative to max(|score|, 1)."""
    used = frame if weight else frame.drop(columns="w")
    X = frame.drop(columns=["y", "w"])
    bounds = "predict_bounds" if isinstance(model, BoundedRegressor) else "decision_bounds"
    model.fit(X, frame["y"].to_numpy(), sample_weight=frame["w"].to_numpy() if weight else None)
    expected, ranges = getattr(model, bounds)(X[:rows]), model.hole_ranges_
    model.fit(write_files(folder, used, 3, 17), "y", sample_weight="w" if weight else None)
    assert isinstance(engine_of(model.training_.models[0].problem.rows), PieceRows)
    found = getattr(model, bounds)(X[:rows])
    np.testing.assert_array_equal(model.hole_ranges_, ranges)
    assert np.isfinite(expected).all()
    assert (np.abs(found - expected) <= 1e-9 * np.maximum(1.0, np.abs(expected))).all()


@pytest.mark.no_cover
@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_every_certificate_has_the_bounds_of_memory(certificate, tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    rows = 2 if CERTIFICATES[certificate].retrains else 6
    assert_the_same_bounds(BoundedClassifier(certificate=certificate, effort=0.0), table(), tmp_path, rows=rows)


@pytest.mark.no_cover
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_the_bounds_of_memory(loss, tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    is_regression = LOSSES[loss].task == "regression"
    model = BoundedRegressor(loss, l1_ratio=0.2) if is_regression else BoundedClassifier(loss, l1_ratio=0.2)
    frame = table(n_classes=0 if is_regression else 2)
    assert_the_same_bounds(model.set_params(certificate="ball"), frame, tmp_path, weight=True)


@pytest.mark.parametrize(
    "parameters",
    [
        {"scale": "standard", "fit_intercept": False},
        {"scale": "minmax", "class_weight": "balanced"},
        {"intervals": Intervals({"a": (-1.0, 1.0)}, precision={"b": 0.5}), "scale": "standard"},
        {"max_label_errors": 1, "intervals": "observed"},
    ],
    ids=str,
)
def test_parameters_mean_the_same(parameters, tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    model = BoundedClassifier(alpha=0.5, certificate="ball", **parameters)
    assert_the_same_bounds(model, table(), tmp_path, weight=True)


def test_more_than_two_classes(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    assert_the_same_bounds(BoundedClassifier(certificate="sphere"), table(n_classes=3), tmp_path)


def test_a_table_long_enough_for_a_sample(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 1000)
    frame = table(6000).drop(columns="site").assign(site=0.0)
    model = BoundedClassifier(alpha=1.0, fit_intercept=False)
    assert model.set_params(scale="minmax") is model
    assert_the_same_bounds(model, frame, tmp_path)


def test_bits_do_not_depend_on_files_and_row_groups(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().drop(columns="w")
    results = []
    for k, (n_files, group) in enumerate([(1, N), (3, 17), (7, 1), (1, N)]):
        model = BoundedClassifier(certificate="ball", scale="standard")
        model.fit(write_files(tmp_path / str(k), frame, n_files, group), "y")
        results.append(np.concatenate([model.coef_bounds_.ravel(), model.coef_.ravel(), model.fill_values_]))
    assert all(np.array_equal(results[0], each) for each in results)


def test_attained_bounds_and_predictions_read_the_files(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().drop(columns=["w", "site"])
    X = frame.drop(columns="y")
    folder = write_files(tmp_path / "train", frame, 2, 40)
    models = BoundedClassifier(certificate="ball").fit(X, frame["y"]), BoundedClassifier(certificate="ball")
    models[1].fit(folder, "y")
    first, second = (model.attained_bounds(X[:1]) for model in models)
    np.testing.assert_allclose(first, second, rtol=1e-7, atol=1e-9)
    for name in ("predict", "decision_function", "predict_proba", "decision_bounds", "predict_set"):
        in_memory, streamed = (getattr(models[0], name)(rows) for rows in (X, folder))
        np.testing.assert_allclose(in_memory, streamed, rtol=1e-12, atol=1e-14)
    few = write_files(tmp_path / "few", X[:2], 1, 40)
    assert list(models[1].set_params(effort=0.0).predict_status(few)) == list(models[1].predict_status(X[:2]))


def test_a_small_file_is_read_into_memory_and_keeps_every_promise(tmp_path):
    frame = table().drop(columns="w")
    folder = write_files(tmp_path, frame, 2, 40)
    model = BoundedClassifier(certificate="ball").fit(folder, "y")
    again = BoundedClassifier(certificate="ball").fit(frame.drop(columns="y"), frame["y"])
    np.testing.assert_array_equal(model.coef_bounds_, again.coef_bounds_)
    assert not isinstance(engine_of(model.training_.models[0].problem.rows), PieceRows)


@pytest.mark.parametrize("kind", ["file", "folder", "text", "dataset", "table"])
def test_what_names_a_table(kind, tmp_path):
    folder = write_files(tmp_path, table().drop(columns="w"), 1, 40)
    source = {
        "file": lambda: folder / "part-0.parquet",
        "folder": lambda: folder,
        "text": lambda: str(folder),
        "dataset": lambda: ds.dataset(folder),
        "table": lambda: ParquetTable(folder, columns=["a", "b", "c", "site", "y"]),
    }[kind]()
    assert BoundedClassifier(certificate=None).fit(source, "y").n_features_in_ == 4


def test_columns_are_picked(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    picked = ParquetTable(write_files(tmp_path, table(), 1, 40), columns=["y", "a", "w"])
    model = BoundedClassifier(certificate="ball").fit(picked, "y", sample_weight="w")
    assert list(model.feature_names_in_) == ["a"]


def test_columns_of_different_types_are_numbers_and_levels_are_joined(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().drop(columns=["w", "a"])
    frame["b"] = np.arange(N) % 7
    frame["y"] = frame["y"].astype(np.int8)
    first, second = frame[:60].copy(), frame[60:].copy()
    second["b"] = second["b"].astype(float)
    second.loc[second.index[3], "b"] = 2.5
    second["y"] = second["y"].astype(np.int64)
    first["site"] = pd.Categorical(first["site"], categories=["east", "north", "south"])
    both = pd.concat([first.astype({"b": float}), second.astype({"b": float})])
    both["site"] = pd.Categorical(both["site"].astype(object), categories=["east", "north", "south"])
    folder = tmp_path / "both"
    folder.mkdir()
    for name, part in (("1", first), ("2", second)):
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"{name}.parquet")
    expected = BoundedClassifier(certificate="ball").fit(both.drop(columns="y"), both["y"])
    found = BoundedClassifier(certificate="ball").fit(folder, "y")
    assert list(found.get_feature_names_out()) == ["b", "c", "site_east", "site_north", "site_south"]
    np.testing.assert_allclose(found.coef_bounds_, expected.coef_bounds_, rtol=1e-9)


def test_pieces_without_rows_or_of_one_class_change_nothing(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().drop(columns="w").sort_values("y")
    expected = BoundedClassifier(certificate="ball").fit(write_files(tmp_path / "plain", frame, 1, N), "y")
    folder = write_files(tmp_path / "odd", frame, 4, 11)
    empty = pa.Table.from_pandas(frame[:0], preserve_index=False)
    pq.write_table(empty, folder / "a-first.parquet")
    schema = pq.read_schema(folder / "part-3.parquet")
    with pq.ParquetWriter(folder / "z-last.parquet", schema) as writer:
        writer.write_table(empty.cast(schema), row_group_size=10)
    found = BoundedClassifier(certificate="ball").fit(folder, "y")
    np.testing.assert_array_equal(found.coef_bounds_, expected.coef_bounds_)


# --- what is wrong with files ----------------------------------------------------------------------


def spoil(kind, folder):
    """Make the second of two files one that cannot be used with the first."""
    path = folder / "part-1.parquet"
    good = pq.read_table(path)
    if kind == "cut short":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif kind == "a page is broken":
        content = bytearray(path.read_bytes())
        content[4:400] = bytes(396)
        path.write_bytes(content)
    elif kind == "no Parquet":
        path.write_text("a,b\n1,2\n")
    elif kind == "no target":
        pq.write_table(good.drop_columns(["y"]), path)
    elif kind == "one more column":
        pq.write_table(good.append_column("z", good["a"]), path)
    elif kind == "text":
        pq.write_table(good.set_column(0, "a", pa.array(["x"] * len(good))), path)
    elif kind == "lists":
        pq.write_table(good.set_column(0, "a", pa.array([[1.0]] * len(good))), path)
    elif kind == "dates":
        pq.write_table(good.set_column(0, "a", pa.array([0] * len(good), pa.timestamp("s"))), path)
    elif kind == "infinity":
        values = good["b"].to_numpy().copy()
        values[5] = np.inf
        pq.write_table(good.set_column(1, "b", pa.array(values)), path)
    elif kind == "no label":
        pq.write_table(good.set_column(4, "y", pa.array([None, *good["y"].to_pylist()[1:]], pa.int64())), path)


FAULTS = {
    "cut short": "part-1.parquet cannot be read as a Parquet file.*write it again",
    "a page is broken": "part-1.parquet cannot be read as a Parquet file",
    "no Parquet": "part-1.parquet cannot be read as a Parquet file",
    "no target": "part-1.parquet has no column 'y', unlike .*part-0.parquet",
    "one more column": "part-1.parquet has a column 'z', unlike .*part-0.parquet",
    "text": "'a' holds numbers in .*part-0.parquet and text in .*part-1.parquet",
    "lists": "'a' of .*part-1.parquet has the type list.*drop the column",
    "dates": "'a' of .*part-1.parquet has the type timestamp",
    "infinity": "part-1.parquet: X contains infinity in row 5, column 'b'",
    "no label": "part-1.parquet: Input y contains NaN: row 0 has no label",
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_named_with_their_file(kind, tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    folder = write_files(tmp_path, table().drop(columns="w"), 2, 30)
    model = BoundedClassifier(certificate="ball").fit(folder, "y")
    before = dict(vars(model))
    spoil(kind, folder)
    with pytest.raises(IpubError, match=FAULTS[kind]):
        model.fit(folder, "y")
    assert vars(model) == before


def test_a_file_that_changes_between_passes_raises_an_error(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    folder = write_files(tmp_path, table().drop(columns="w"), 2, 30)
    model = BoundedClassifier(certificate="ball").fit(folder, "y")
    path = folder / "part-1.parquet"
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    with pytest.raises(IpubError, match=r"part-1.parquet has changed since it was first read"):
        model.attained_bounds(table().drop(columns=["w", "y"])[:1])
    path.unlink()
    with pytest.raises(IpubError, match=r"part-1.parquet is no longer there"):
        model.attained_bounds(table().drop(columns=["w", "y"])[:1])


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        BoundedClassifier().fit(tmp_path / "nothing.parquet", "y")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "has no file whose name ends with .parquet"),
        (lambda folder: write_files(folder / "year=2020", table(), 1, 50), "year=2020"),
        (lambda folder: write_files(folder, table()[:0], 1, 50), "The table has no rows"),
    ],
    ids=["empty", "columns in names", "no rows"],
)
def test_folders_that_cannot_be_used(make, message, tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    make(tmp_path)
    with pytest.raises(IpubError, match=message):
        BoundedClassifier().fit(tmp_path, "y")


def test_folders_and_files_that_are_links_are_followed_and_those_that_lead_nowhere_named(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    write_files(tmp_path / "elsewhere", table().drop(columns="w"), 1, 50)
    folder = tmp_path / "table"
    folder.mkdir()
    (folder / "part").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "around").symlink_to(folder)
    model = BoundedClassifier(certificate=None).fit(folder, "y")
    assert model.training_.models[0].problem.rows.n_rows == N
    (folder / "z.parquet").symlink_to(tmp_path / "nowhere")
    with pytest.raises(IpubError, match="link to a file that is not there"):
        BoundedClassifier().fit(folder, "y")


def test_targets_may_be_numbers_written_as_text(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table(n_classes=0).drop(columns="w")
    expected = BoundedRegressor(certificate=None).fit(write_files(tmp_path / "numbers", frame, 2, 30), "y")
    frame["y"] = [repr(float(value)) for value in frame["y"]]
    model = BoundedRegressor(certificate=None).fit(write_files(tmp_path / "text", frame, 2, 30), "y")
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("method", ["predict", "decision_bounds"])
def test_errors_of_rows_to_predict_name_the_file_and_its_row(method, tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().drop(columns="w")
    model = BoundedClassifier(certificate="sphere").fit(frame.drop(columns="y"), frame["y"])
    frame.loc[70, "a"] = np.inf
    folder = write_files(tmp_path, frame, 2, 30)
    with pytest.raises(IpubError, match="infinit") as caught:
        getattr(model, method)(folder)
    assert caught.value.row == 70 - len(frame) // 2
    assert str(caught.value).startswith(str(sorted(tmp_path.rglob("*.parquet"))[1]))


def test_many_classes_are_no_matter_of_a_warning(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().drop(columns="w")
    frame["y"] = np.arange(N) % 24
    BoundedClassifier(certificate=None).fit(write_files(tmp_path, frame, 2, 30), "y")


def test_datasets_that_are_more_than_their_files(tmp_path):
    write_files(tmp_path / "year=2020", table(), 1, 50)
    with pytest.raises(IpubError, match="names of their folders"):
        BoundedClassifier().fit(ds.dataset(tmp_path, partitioning="hive"), "y")
    with pytest.raises(IpubError, match="InMemoryDataset is no dataset of files"):
        BoundedClassifier().fit(ds.dataset(pa.table({"y": [1]})), "y")
    with pytest.raises(IpubError, match="filter"):
        BoundedClassifier().fit(ds.dataset(tmp_path / "year=2020").filter(ds.field("a") > 0), "y")
    with pytest.raises(IpubError, match="open ParquetFile"):
        BoundedClassifier().fit(pq.ParquetFile(tmp_path / "year=2020" / "part-0.parquet"), "y")


def test_a_column_that_cannot_be_used_is_no_matter_unless_it_is_read(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().assign(when=pd.Timestamp("2020-01-01")).drop(columns="w")
    files = ParquetTable(write_files(tmp_path, frame, 2, 50))
    with pytest.raises(IpubError, match=r"'when' of .* has the type timestamp"):
        BoundedClassifier(certificate=None).fit(files, "y")
    picked = ParquetTable(tmp_path, columns=["a", "b", "y"])
    assert BoundedClassifier(certificate=None).fit(picked, "y").n_features_in_ == 2


def test_row_numbers_of_pandas_are_left_out_with_a_warning(tmp_path):
    frame = table().drop(columns="w")
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=True), tmp_path / "a.parquet")
    names = pq.read_schema(tmp_path / "a.parquet").names
    assert parquet_files.INDEX in names
    with pytest.warns(ParquetWarning, match="row numbers"):
        model = BoundedClassifier(certificate=None).fit(tmp_path, "y")
    assert model.n_features_in_ == 4


def test_a_path_of_penalties_and_the_choice_of_one_stream_too(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    frame = table().drop(columns=["w", "site"])
    X, folder = frame.drop(columns="y"), write_files(tmp_path, frame, 2, 50)
    model = BoundedClassifier(certificate="sphere", fit_intercept=False)
    first, second = (penalty_path(model, *args, X[:5], alphas=[1.0, 0.1]) for args in ((X, frame["y"]), (folder, "y")))
    np.testing.assert_allclose(first.bounds, second.bounds, rtol=1e-9)
    model.set_params(alpha="1se", certificate=None)
    assert clone(model).fit(folder, "y").alpha_ == clone(model).fit(X, frame["y"]).alpha_


def test_progress_is_shown_for_each_pass(tmp_path, monkeypatch, capsys):
    stream_everything(monkeypatch, 50)
    folder = write_files(tmp_path, table().drop(columns=["w", "site"]), 2, 50)
    BoundedClassifier(certificate="sphere", fit_intercept=False, verbose=1).fit(folder, "y")
    assert "Pass 3 over the table" in capsys.readouterr().out


def test_what_needs_the_whole_table_says_so(tmp_path, monkeypatch):
    stream_everything(monkeypatch, 50)
    from ipub.promises import Budget

    folder = write_files(tmp_path, table().drop(columns="w"), 1, 50)
    with pytest.raises(IpubError, match="uncertainty=Budget needs the whole training table in memory"):
        BoundedClassifier(uncertainty=Budget(cells=1)).fit(folder, "y")
    with pytest.raises(IpubError, match="X_lower"):
        BoundedClassifier().fit(folder, "y", X_lower=np.zeros((N, 4)), X_upper=np.ones((N, 4)))
    with pytest.raises(IpubError, match="read it into a DataFrame first"):
        certify(LogisticRegression(C=0.1).fit(np.eye(4), [0, 1, 0, 1]), folder, "y")
    model = BoundedClassifier(certificate="ball").fit(folder, "y")
    with pytest.raises(IpubError, match="memory"):
        model.flip_distance(table().drop(columns=["w", "y"]).dropna()[:1])


# --- memory ----------------------------------------------------------------------------------------

IN_LITTLE_MEMORY = """
import sys, numpy as np
from pathlib import Path
from ipub import BoundedClassifier
from ipub.rows.parquet import ParquetTable

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

BoundedClassifier(certificate="sphere", fit_intercept=False).fit(sys.argv[1], "y")
before = peak()
BoundedClassifier(certificate="sphere", fit_intercept=False).fit(sys.argv[2], "y")
print(peak() - before)
"""


@pytest.mark.no_cover
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="resident memory is read from /proc")
def test_a_longer_table_takes_no_more_memory(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("short", 100_000), ("long", 800_000)):
        (tmp_path / name).mkdir()
        for part in range(n // 100_000):
            X = rng.random(size=(100_000, 16), dtype=np.float32)
            X[rng.random(len(X)) < 0.01, part] = np.nan
            columns = {f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(16)}
            columns["y"] = pa.array((X[:, 9] > 0.5).astype(np.int8))
            pq.write_table(pa.table(columns), tmp_path / name / f"{part}.parquet", compression="none")
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, str(tmp_path / "short"), str(tmp_path / "long")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    as_floats = 800_000 * 16 * 8
    assert int(done.stdout) < as_floats / 2
