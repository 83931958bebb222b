"""The command line on tables that do not fit into memory: the same models and bounds, streamed."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from ipub.app.cli import app
from ipub.app.files import long_tables
from ipub.app.files.modelfile import load
from ipub.training import alpha_choice
from support.long_tables import stream_everything, write_files

N = 400


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 3)), columns=["age", "size", "dose"])
    table["site"] = rng.choice(["north", "east"], N)
    answer = np.where(table["age"] + rng.normal(size=N) > 0.0, "yes", "no")
    return table.mask(rng.random(table.shape) < 0.02).assign(answer=answer)


@pytest.fixture
def little_memory(monkeypatch):
    def use():
        stream_everything(monkeypatch, 100)
        monkeypatch.setattr(long_tables, "available_memory", lambda: 1000)

    return use


@pytest.mark.parametrize("kind", ["folder", "file", "csv"])
def test_fit_and_predict_stream_what_does_not_fit(kind, frame, tmp_path, monkeypatch, little_memory):
    monkeypatch.chdir(tmp_path)
    folder = write_files(tmp_path / "files", frame, 2, 90)
    source = {"folder": folder, "file": tmp_path / "a.parquet", "csv": tmp_path / "a.csv"}[kind]
    if kind == "file":
        pq.write_table(pq.read_table(folder), source)
    elif kind == "csv":
        frame.to_csv(source, index=False)
    options = ["--target", "answer", "--certificate", "ball", "--alpha", "0.1"]
    first = run("fit", source, *options, "-o", "memory.ipub")
    assert first.exit_code == 0, first.output
    assert run("predict", "memory.ipub", source, "-o", "memory.csv").exit_code == 0
    little_memory()
    second = run("fit", source, *options, "-o", "streamed.ipub")
    assert second.exit_code == 0, second.output
    assert "streamed" in second.output
    assert f"{N} rows, 4 features" in second.output
    holes = [line for line in first.output.splitlines() if line.startswith("Holes:")]
    assert holes == [line for line in second.output.splitlines() if line.startswith("Holes:")]
    models = load("memory.ipub"), load("streamed.ipub")
    np.testing.assert_allclose(models[0].coef_bounds_, models[1].coef_bounds_, rtol=1e-9, atol=1e-9)
    done = run("predict", "streamed.ipub", source, "-o", "streamed.csv")
    assert done.exit_code == 0, done.output
    assert f"{N} rows:" in done.output
    columns = pd.read_csv("memory.csv"), pd.read_csv("streamed.csv")
    assert list(columns[0]) == list(columns[1])
    assert (columns[0]["prediction"] == columns[1]["prediction"]).all()
    np.testing.assert_allclose(columns[0]["lower"], columns[1]["lower"], rtol=1e-6)
    shown = run("predict", "streamed.ipub", source)
    assert f"... and {N - 20} more rows" in shown.output


def test_alpha_is_picked_on_a_sample(frame, tmp_path, monkeypatch, little_memory):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(alpha_choice, "MOST_ROWS", 150)
    folder = write_files(tmp_path / "files", frame, 2, 90)
    little_memory()
    done = run("fit", folder, "--target", "answer", "--certificate", "none", "--drop", "site")
    assert done.exit_code == 0, done.output
    assert "on a sample of 150 of 400 rows" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "nothing"], "no column 'nothing'"),
        (["--target", "answer", "--budget", "5%"], "needs the whole training table in memory"),
        (["--target", "same"], "is 1 in every row"),
        (["--target", "late"], "missing in 1 of"),
    ],
)
def test_mistakes_end_in_one_sentence_and_leave_no_file(options, message, frame, tmp_path, monkeypatch, little_memory):
    monkeypatch.chdir(tmp_path)
    late = [None if i == 333 else i % 2 for i in range(N)]
    folder = write_files(tmp_path / "files", frame.assign(same=1, late=pd.array(late, dtype="Int64")), 2, 90)
    little_memory()
    done = run("fit", folder, *options)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "model.ipub").exists()
