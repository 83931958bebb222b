import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import measure, run
from experiments.__main__ import app
from support import tiny_run
from support.small_sources import serving

TESTS = Path(__file__).parents[1]


@pytest.fixture
def tiny(monkeypatch):
    tiny_run.prepare(monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")


def experiments(*arguments, code=0):
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


def cells(folder="out/results/cells"):
    return sorted(path.stem for path in Path(folder).glob("*.json"))


def test_a_run_writes_a_page_with_figures_beside_it(tiny):
    done = experiments("--data-dir", "data", "-o", "out")
    assert "drive: 88 of 88 rows, from drive.parquet" in done.stdout
    assert "24 measurements made, 0 taken from an earlier run" in done.stdout
    assert "Written to out/results.md" in " ".join(done.stdout.split())
    page = Path("out/results.md").read_text()
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert len(pictures) == 4
    for picture in pictures:
        assert (Path("out") / picture).read_bytes().startswith(b"\x89PNG")
    for name in ("### default", "### drive", "### HIGGS (part)", "### HIGGS-shaped synthetic"):
        assert page.count(f"{name}\n") == 3
    assert "`python -m experiments --data-dir DIR`" in page
    assert str(Path.cwd()) not in page
    assert f"on: {run.machine()}." in page
    assert not [name for name in os.listdir("out/results") if name.startswith(".")]


def test_a_second_run_measures_nothing_and_says_the_same(tiny):
    experiments("--dataset", "drive", "--data-dir", "data", "-o", "out")
    first = Path("out/results.md").read_text()
    done = experiments("--dataset", "drive", "--data-dir", "data", "-o", "out")
    assert "0 measurements made, 6 taken from an earlier run" in done.stdout
    assert Path("out/results.md").read_text() == first


def test_a_killed_run_goes_on_where_it_stopped(tiny):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    killed = subprocess.run([sys.executable, tiny_run.__file__, "3"], env=environment, capture_output=True, text=True)
    assert killed.returncode == -9, killed.stderr
    assert len(cells()) == 7
    before = {name: Path(f"out/results/cells/{name}.json").stat().st_mtime_ns for name in cells()}
    assert not Path("out/results.md").exists()
    done = experiments("--dataset", "default", "--dataset", "drive", "--data-dir", "data", "-o", "out")
    assert "5 measurements made, 7 taken from an earlier run" in done.stdout
    assert {name: Path(f"out/results/cells/{name}.json").stat().st_mtime_ns for name in before} == before


def test_an_interrupted_run_says_what_is_kept(tiny, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure_imputation", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.reproduce(["drive"], Path("data"), Path("out"))
    done = experiments("--dataset", "drive", "--data-dir", "data", "-o", "out", code=130)
    assert "2 finished measurements are kept in out/results/cells" in done.stderr
    assert len(cells()) == 2


def test_where_a_measurement_was_made_is_kept_with_it(tiny, monkeypatch):
    run.reproduce(["drive"], Path("data"), Path("out"))
    first = run.machine()
    Path("out/results/cells/drive_lambda0.1_b0.01_a0.5_bounds.json").unlink()
    monkeypatch.setattr(run, "machine", lambda: "zz, a faster machine")
    run.reproduce(["drive"], Path("data"), Path("out"))
    assert f"on: {first}. And on: zz, a faster machine." in Path("out/results.md").read_text()


def test_a_new_version_measures_again(tiny, monkeypatch):
    run.reproduce(["drive"], Path("data"), Path("out"))
    monkeypatch.setattr(run, "__version__", "99")
    done = experiments("--dataset", "drive", "--data-dir", "data", "-o", "out")
    assert "6 measurements made, 0 taken" in done.stdout


def test_other_data_are_measured_again(tiny):
    run.reproduce(["default"], Path("data"), Path("out"))
    frame = pd.read_parquet("data/default.parquet")
    frame["AGE"] += np.arange(len(frame))
    frame.to_parquet("data/default.parquet")
    done = experiments("--dataset", "default", "--data-dir", "data", "-o", "out")
    assert "6 measurements made, 0 taken" in done.stdout


def test_a_quick_run_says_so_and_needs_no_gigabytes(tiny):
    Path("data/higgs_51k.parquet").unlink()
    done = experiments("--quick", "--dataset", "HIGGS", "--data-dir", "data")
    page = Path("reproduction-quick/results.md").read_text()
    assert "A quick run" in page
    assert "HIGGS-shaped synthetic" in page
    assert "`python -m experiments --quick --dataset HIGGS --data-dir DIR`" in page
    assert "a synthetic table stands for it" in done.stdout
    assert "HIGGS-shaped synthetic" in done.stdout
    experiments("--quick", "--dataset", "drive", "--data-dir", "data", "-o", "out")
    assert "HIGGS" not in Path("out/results.md").read_text()


def test_imputation_is_repeated_more_often_in_one_setting(tiny):
    run.reproduce(["drive"], Path("data"), Path("out"))
    page = Path("out/results.md").read_text()
    assert "T = 7: range of the predictions (in 1 of 2 settings)" in page
    assert "T = 5: range of the predictions |" in page


def test_bad_input_is_refused_in_a_sentence_before_any_work(tiny, monkeypatch):
    assert (
        "no data set 'adult' in the paper: it has default, drive, HIGGS"
        in experiments("--dataset", "adult", code=2).stderr
    )
    assert "folder none does not exist" in experiments("--data-dir", "none", code=2).stderr
    with serving({}) as server:
        for name in ("default", "HIGGS"):
            source = run.SOURCES[name]
            monkeypatch.setitem(run.SOURCES, name, replace(source, url=f"{server.address}/{name}.zip"))
    Path("data/higgs_51k.parquet").unlink()
    Path("data/default.parquet").unlink()
    refused = experiments("--data-dir", "data", "-o", "out", code=2)
    for name in ("default", "higgs"):
        assert f"put it in data as {name}.parquet" in " ".join(refused.stderr.split())
    assert not Path("out").exists()


def test_without_matplotlib_it_says_how_to_get_it(tiny, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "ipub[plots]"' in experiments("--data-dir", "data", code=2).stderr


def test_the_machine_is_described():
    assert re.search(r"\d+ cores.*Python 3\.\d+\.\d+, NumPy", run.machine())
