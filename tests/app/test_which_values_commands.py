"""`ipub influence` and `ipub plan`: what the library says, on the screen, as JSON and as a file."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub import BoundedClassifier
from ipub.app import cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("which")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(110, 2)), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] + frame["b"] + 0.5 * rng.normal(size=110) > 0, "yes", "no")
    frame["amount"] = frame["a"] + 0.1 * rng.normal(size=110)
    frame.loc[:7, "b"] = frame.loc[5:9, "a"] = np.nan
    frame[:60].to_csv(path / "train.csv", index=False)
    frame[60:].to_csv(path / "test.csv", index=False)
    for target, other in (("y", "amount"), ("amount", "y")):
        arguments = ["fit", "train.csv", "--target", target, "--drop", other, "--alpha", "0.5", "-o", f"{target}.ipub"]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path)
            done = CliRunner().invoke(cli.app, arguments)
        assert done.exit_code == 0, done.output
    return path


@pytest.fixture(autouse=True)
def in_it(folder, monkeypatch):
    monkeypatch.chdir(folder)


def ran(*arguments, code=0):
    done = CliRunner().invoke(cli.app, list(arguments))
    assert done.exit_code == code, done.output
    return done


def fitted():
    train = pd.read_csv("train.csv")
    return BoundedClassifier(alpha=0.5, scale="standard").fit(train[["a", "b"]], train["y"])


def test_influence_is_that_of_the_library_with_rows_counted_from_1():
    test = pd.read_csv("test.csv")
    expected = fitted().influence(test[["a", "b"]])
    found = json.loads(ran("influence", "y.ipub", "test.csv", "--json").stdout)
    ran("influence", "y.ipub", "test.csv", "-o", "out.csv")
    written = pd.read_csv("out.csv")
    for columns in (found, written):
        assert list(columns["row"]) == [row + 1 for row in expected["row"]]
        assert list(columns["column"]) == list(expected["column"])
        np.testing.assert_allclose(columns["lower"], expected["lower"], rtol=1e-6, atol=1e-12)
    shown = ran("influence", "y.ipub", "--by", "column").stdout
    assert [line.split()[0] for line in shown.splitlines() if line.startswith((" a", " b"))]
    assert "lower and upper: proved" in shown


def test_a_plan_is_that_of_the_library():
    test = pd.read_csv("test.csv")
    expected = fitted().measurement_plan(test[["a", "b"]], 6, {"a": 2.0})
    found = json.loads(ran("plan", "y.ipub", "test.csv", "--budget", "6", "--cost", "a=2", "--json").stdout)
    assert found["cells"]["row"] == [row + 1 for row in expected.cells["row"]]
    assert found["cells"]["cost"] == expected.cells["cost"].tolist()
    assert found["curve"]["certain_at_least"] == expected.curve["certain_at_least"].tolist()
    assert (found["n_rows"], found["n_missing"]) == (50, 13)
    piped = ran("plan", "y.ipub", "test.csv", "--by", "row", "-o", "-").stdout
    assert piped.splitlines()[0] == "row,values,cost,total_cost"
    assert "certain_at_least" in ran("plan", "y.ipub", "test.csv").stdout
    test.assign(a=test["a"].mask(test.index == test["a"].abs().idxmin())).to_csv("own.csv", index=False)
    shown = " ".join(ran("plan", "y.ipub", "own.csv").stdout.split())
    assert "1 row has missing values of its own, which the plan does not look up" in shown
    assert "n_cells" in ran("plan", "amount.ipub", "test.csv", "--threshold", "0.1", "--budget", "2").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["influence", "y.ipub", "--by", "cells"], "--by"),
        (["influence", "y.ipub", "--train", "test.csv"], "does not give the model"),
        (["plan", "y.ipub", "test.csv", "--cost", "a"], "COLUMN=NUMBER"),
        (["plan", "y.ipub", "test.csv", "--cost", "z=1"], "'z'"),
        (["plan", "y.ipub", "test.csv", "--budget", "-1"], "a positive number"),
        (["plan", "amount.ipub", "test.csv"], "give a threshold"),
        (["plan", "y.ipub", "test.csv", "-o", "train.xyz"], "train.xyz"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_sentence(arguments, sentence):
    assert sentence in ran(*arguments, code=2).stderr
