"""`ipub explain` and `ipub tip`: the answers of the methods, in files, as JSON and on the screen."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub import BoundedClassifier, CategoryWarning
from ipub.app import cli
from ipub.app.model_and_table import refitted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("tipping")
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80), "site": rng.choice(["n", "s"], 80)})
    frame["y"] = np.where(frame["a"] + 0.5 * frame["b"] + 0.3 * rng.normal(size=80) > 0.0, "yes", "no")
    frame["amount"] = frame["a"] + 3.0
    frame.loc[:14, "b"], frame.loc[20:23, "site"] = np.nan, None
    frame[:60].to_csv(path / "train.csv", index=False)
    frame[60:].to_csv(path / "test.csv", index=False)
    for target, other in (("y", "amount"), ("amount", "y")):
        arguments = ["fit", str(path / "train.csv"), "--target", target, "--drop", other, "--alpha", "0.05"]
        done = CliRunner().invoke(cli.app, [*arguments, "-o", str(path / f"{target}.ipub")])
        assert done.exit_code == 0, done.output
    return path


@pytest.fixture(autouse=True)
def in_it(folder, monkeypatch):
    monkeypatch.chdir(folder)


def run(*arguments, code=0):
    done = CliRunner().invoke(cli.app, list(arguments))
    assert done.exit_code == code, done.output
    return done


def test_tipping_points_are_those_of_the_method(folder):
    run("tip", "y.ipub", "test.csv", "-o", "tip.csv", "--figure", "tip.png")
    written = pd.read_csv("tip.csv")
    model = refitted(folder / "y.ipub")
    points = model.tipping_points(pd.read_csv("test.csv")[["a", "b", "site"]])
    np.testing.assert_array_equal(written["at_most"], points.rows["at_most"])
    assert written["row"].tolist() == list(range(1, 21))
    assert (folder / "tip.png").stat().st_size > 1000
    answer = json.loads(run("tip", "y.ipub", "test.csv", "--json").stdout)
    assert answer["missing"] == 19
    assert answer["share"] == points.share._asdict()
    assert len(answer["rows"]) == 20
    assert {each["column"] for each in answer["columns"]} == {"b", "site"}
    screen = run("tip", "y.ipub", "test.csv").stdout
    assert "rows" in screen
    assert "inf" not in screen
    assert any(each["at_most"] is None for each in answer["rows"])
    assert "never" in screen or "none found" in screen


def test_an_explanation_has_changes_that_flip_the_class(folder):
    tip = json.loads(run("tip", "y.ipub", "test.csv", "--json").stdout)
    row = next(each["row"] for each in tip["rows"] if each["at_most"])
    run("explain", "y.ipub", "test.csv", "--row", str(row), "-o", "changes.csv", "--filling", "filled.csv")
    changes, filled, train = (pd.read_csv(name) for name in ("changes.csv", "filled.csv", "train.csv"))
    for _, change in changes.iterrows():
        assert str(filled.loc[change["row"] - 1, change["column"]]) == str(change["value"])
        assert pd.isna(train.loc[change["row"] - 1, change["column"]])
    names = ["a", "b", "site"]
    assert filled["y"].tolist() == train["y"].tolist()
    run("fit", "filled.csv", "--target", "y", "--alpha", "0.05", "-o", "filled.ipub")
    assert not filled[names].isna().any().any()
    asked = pd.read_csv("test.csv")[names].iloc[[row - 1]]
    # Scales are learnt from the observed values: those of the file.
    model = refitted(folder / "y.ipub")
    again = model.explain(asked)
    assert len(again.changes) == len(changes) == again.tipping.at_most
    answer = json.loads(run("explain", "y.ipub", "test.csv", "--row", str(row), "--json", "--growth").stdout)
    assert answer["tipping"]["at_most"] == len(changes) == len(answer["changes"])
    assert answer["prediction"] == again.prediction
    assert [each["source"] for each in answer["parts"]] == ["training table", "row", "both"]
    screen = run("explain", "y.ipub", "test.csv", "--row", str(row), "--figure", "why.png").stdout
    assert "The probability of yes is" in screen
    assert "instead" not in screen
    assert (folder / "why.png").exists()
    assert isinstance(model, BoundedClassifier)


def test_how_to_repeat_a_written_filling_is_said(folder):
    given = "fit", "train.csv", "--target", "y", "--drop", "amount", "--alpha", "0.05"
    run(*given, "--scale", "none", "-o", "plain.ipub")
    for model, words in (("y.ipub", "a scaling of its own"), ("plain.ipub", "--scale none --alpha 0.05")):
        tip = json.loads(run("tip", model, "test.csv", "--json").stdout)
        row = str(next(each["row"] for each in tip["rows"] if each["at_most"]))
        shown = run("explain", model, "test.csv", "--row", row, "--filling", "repeat.csv").stdout
        assert words in " ".join(shown.split())
    run("fit", "repeat.csv", "--target", "y", "--alpha", "0.05", "--scale", "none", "-o", "again.ipub")
    found = []
    for model in ("plain.ipub", "again.ipub"):
        run("predict", model, "test.csv", "-o", "found.csv")
        found.append(pd.read_csv("found.csv")["prediction"][int(row) - 1])
    assert found[0] != found[1]
    assert "scaling and the penalty of this one" in " ".join(run("explain", "--help").stdout.split())


def test_a_category_that_training_did_not_see_is_a_missing_one_with_one_note(folder):
    test = pd.read_csv("test.csv")
    test.loc[2, "site"] = "west"
    test.to_csv("unseen.csv", index=False)
    for command in (["explain", "y.ipub", "unseen.csv", "--row", "3"], ["plan", "y.ipub", "unseen.csv"]):
        done = run(*command)
        assert " ".join(done.stderr.split()).count("Training did not see 'west'") == 1
    model = refitted(folder / "y.ipub")
    with pytest.warns(CategoryWarning) as found:
        why = model.explain(pd.read_csv("unseen.csv")[["a", "b", "site"]].iloc[[2]])
    assert len(found) == 1
    assert why.parts[1].width > 0.0


def test_an_error_about_the_row_names_its_number_in_the_file(folder):
    test = pd.read_csv(folder / "test.csv")
    test.loc[4, "a"] = np.inf
    test.to_csv("infinite.csv", index=False)
    assert "row 5" in run("explain", "y.ipub", "infinite.csv", "--row", "5", code=2).stderr


def test_shifts_are_a_grid(folder):
    run("tip", "y.ipub", "test.csv", "--shift", "b=-1:1:3", "--shift", "site=n,s", "-o", "grid.csv")
    grid = pd.read_csv("grid.csv")
    assert grid[["b", "site"]].to_numpy().tolist() == [[b, site] for b in (-1.0, 0.0, 1.0) for site in "ns"]
    answer = json.loads(run("tip", "y.ipub", "test.csv", "--shift", "b=0.5:2:4", "--multiply", "--json").stdout)
    assert [each["b"] for each in answer["points"]] == [0.5, 1.0, 1.5, 2.0]
    assert "whole_cell" in answer["promise"]
    assert (folder / "grid.csv").exists()


def test_a_regression_needs_a_threshold():
    assert "threshold" in run("tip", "amount.ipub", "test.csv", code=2).stderr
    assert "crosses 3" in run("tip", "amount.ipub", "test.csv", "--threshold", "3").stdout
    assert "Its side of 3" in run("explain", "amount.ipub", "test.csv", "--row", "1", "--threshold", "3").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "y.ipub", "test.csv", "--row", "21"], "test.csv has 20 rows: --row 21"),
        (["explain", "y.ipub", "test.csv", "--row", "1", "--train", "test.csv"], "does not give the model"),
        (["tip", "y.ipub", "test.csv", "--shift", "b"], "write --shift COLUMN=FROM:TO"),
        (["tip", "y.ipub", "test.csv", "--shift", "b=x:y"], "write --shift b=FROM:TO"),
        (["tip", "y.ipub", "test.csv", "--shift", "site=east"], "is a category"),
        (["tip", "y.ipub", "test.csv", "--shift", "a=0:1"], "has no missing value"),
        (["tip", "y.ipub", "test.csv", "-o", "train.csv", "--train", "train.csv"], "train.csv"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message):
    done = run(*arguments, code=2)
    assert message in " ".join(done.stderr.split())
    assert done.stderr.count("Error") == 1
