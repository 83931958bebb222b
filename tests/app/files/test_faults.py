"""What is written is whole or not there: killed at any moment, on a full disk, without a home that can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, Draws, IpubError

WRITERS = """
import os, random, resource, signal, sys, time
from pathlib import Path
import numpy as np
import pyarrow as pa
import ipub
from ipub.app.files.atomic import FileError
from ipub.app.files.tables import write_pieces

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
X[:20, 0] = np.nan
models = [ipub.BoundedRegressor(alpha=a, certificate="ball").fit(X, np.arange(300.0)) for a in (0.5, 5.0)]
for model in models:
    model.certificate_
columns = [{"a": pa.array(rng.normal(size=3000)), "b": pa.array(["x", "yy", "zzz"] * 1000)} for _ in range(2)]
WRITE = {
    "model.ipub": lambda path, k: ipub.save(models[k], path),
    "bounds.csv": lambda path, k: write_pieces(path, [columns[k]]),
    "bounds.csv.gz": lambda path, k: write_pieces(path, [columns[k]]),
    "bounds.parquet": lambda path, k: write_pieces(path, [columns[k]]),
}

def written(name):
    "Return the bytes of both versions of a file, the second one in place."
    found = []
    for k in (1, 0):
        WRITE[name](Path(name), k)
        found.append(Path(name).read_bytes())
    return found

def in_child(work):
    "Fork a process that does work again and again."
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child
"""

KILLED = (
    WRITERS
    + """
random.seed(0)
for name in WRITE:
    versions = written(name)
    for _ in range(8):
        child = in_child(lambda: [WRITE[name](Path(name), k % 2) for k in range(100_000)])
        time.sleep(random.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert Path(name).read_bytes() in versions, name
    assert ipub.load("model.ipub").alpha in (0.5, 5.0)
"""
)

FULL = (
    WRITERS
    + """
for name in WRITE:
    written(name)
    before = Path(name).read_bytes()
    def write_on_a_full_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            WRITE[name](Path(name), 1)
        except FileError as error:
            text = str(error)
            os.write(2, text.encode())
            os._exit(0 if text.startswith(f"{name} cannot be written (") and "make room there" in text else 3)
        except BaseException as error:
            os.write(2, f"{type(error)} {error}".encode())
            os._exit(4)
        os._exit(5)
    child = in_child(write_on_a_full_disk)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, name
    assert Path(name).read_bytes() == before, name
    assert not list(Path().glob(".ipub-*")), name
"""
)


def run_python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that is killed is forked")
@pytest.mark.parametrize("code", [KILLED, FULL], ids=["killed", "full"])
def test_the_old_file_or_the_new_one_is_there_whole(code, tmp_path):
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_home_that_cannot_be_written_changes_nothing(tmp_path):
    frame = pd.DataFrame({"a": [0.0, 1.0, np.nan, 3.0] * 5, "y": [0, 0, 1, 1] * 5})
    frame.to_csv(tmp_path / "train.csv", index=False)
    home = tmp_path / "home"
    home.write_text("a file, in which no folder can be made")
    code = """
from ipub.app import cli
for arguments in (
    ["fit", "train.csv", "--target", "y", "--alpha", "0.1", "--json"],
    ["predict", "model.ipub", "train.csv", "-o", "bounds.parquet"],
):
    try:
        cli.app(arguments, standalone_mode=True)
    except SystemExit as ended:
        assert not ended.code, ended.code
"""
    done = run_python(code, tmp_path, HOME=str(home), XDG_CACHE_HOME=str(home), XDG_CONFIG_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert {each.name for each in tmp_path.iterdir()} == {"train.csv", "home", "model.ipub", "bounds.parquet"}


def ends_its_process(X, rng):
    """Fill X in; in another process than that of the tests, end it."""
    if os.environ.get("IPUB_TESTS_PROCESS") != str(os.getpid()):
        os._exit(1)
    return np.where(np.isnan(X), rng.uniform(-1.0, 1.0, X.shape), X)


def test_a_worker_that_is_lost_is_told_with_the_remedy(monkeypatch):
    monkeypatch.setenv("IPUB_TESTS_PROCESS", str(os.getpid()))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] > 0.0
    X[:3, 1] = np.nan
    model = BoundedClassifier(uncertainty=Draws(ends_its_process, n_draws=3, n_jobs=2, clip=True, random_state=0))
    with pytest.raises(IpubError, match=r"ended before its work was done.* use n_jobs=None, or fewer"):
        model.fit(X, y).decision_bounds(X[5:6])
    assert not hasattr(model, "coef_")
