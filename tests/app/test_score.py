"""`ipub score`: ranges of metrics on the screen, as JSON and as a file; what cannot be answered is said."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub.app import cli
from ipub.app.files.modelfile import load

FEATURES = ["a", "b"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("score")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(90, 2)), columns=FEATURES)
    frame["y"] = np.where(frame["a"] + 0.5 * rng.normal(size=90) > 0, "yes", "no")
    frame["amount"] = frame["a"] + 0.1 * rng.normal(size=90)
    frame["site"] = rng.choice(["x", "z"], 90)
    frame.loc[:12, "b"] = np.nan
    frame[:50].to_csv(path / "train.csv", index=False)
    frame[50:].to_csv(path / "test.csv", index=False)
    for target, other in (("y", "amount"), ("amount", "y")):
        arguments = ["fit", "train.csv", "--target", target, "--drop", other, "--drop", "site", "--alpha", "0.05"]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path)
            done = CliRunner().invoke(cli.app, [*arguments, "-o", f"{target}.ipub"])
        assert done.exit_code == 0, done.output
    return path


@pytest.fixture(autouse=True)
def in_it(folder, monkeypatch):
    monkeypatch.chdir(folder)


def scored(*arguments, model="y.ipub", test="test.csv", code=0):
    done = CliRunner().invoke(cli.app, ["score", model, test, *arguments])
    assert done.exit_code == code, done.output
    return done


def test_the_screen_json_and_a_file_say_what_the_library_says():
    test = pd.read_csv("test.csv")
    metrics = ["accuracy", "roc_auc"]
    expected = load("y.ipub").score_range(test[FEATURES], test["y"], metrics, groups=test["site"])
    chosen = ["--scoring", "accuracy", "--scoring", "roc_auc", "--groups", "site"]
    found = json.loads(scored(*chosen, "--json").stdout)
    scored(*chosen, "-o", "out.csv")
    written = pd.read_csv("out.csv")
    names = ["metric", "group", "value", "lower", "upper"]
    assert list(written) == names
    for name in names:
        assert found[name] == expected[name].tolist()
        assert written[name].tolist() == expected[name].tolist()
    shown = scored(*chosen).stdout
    assert "(largest difference)" in shown
    assert "Always: the bounds hold for every filling" in shown
    assert scored("-o", "-").stdout.startswith("metric,value,lower,upper\n")


def test_rows_without_a_group_are_a_group_of_their_own():
    test = pd.read_csv("test.csv")
    test.loc[3:5, "site"] = None
    test.to_csv("no_site.csv", index=False)
    scored("--groups", "site", "-o", "ranges.csv", test="no_site.csv")
    found, model = pd.read_csv("ranges.csv"), load("y.ipub")
    assert found["group"].tolist()[1:4] == ["x", "z", "(missing)"]
    rows = test[3:6]
    alone = model.score_range(rows[FEATURES], rows["y"], "accuracy", search=False)
    ends = found.loc[found["group"] == "(missing)", ["lower", "upper"]].to_numpy()[0]
    np.testing.assert_allclose(ends, [alone.lower, alone.upper])
    test.assign(site=test["site"].map({"x": 1.0, "z": 2.0})).to_csv("no_site.csv", index=False)
    shown = scored("--groups", "site", test="no_site.csv").stdout
    assert "(missing)" in shown
    assert "nan" not in shown
    of_numbers = model.score_range(test[FEATURES], test["y"], "accuracy", groups=[1.0, np.nan] * 20, search=False)
    assert "(missing)" in of_numbers["group"].tolist()


def test_what_is_printed_as_an_end_is_a_bound():
    found = json.loads(scored("--scoring", "neg_log_loss", "--json").stdout)
    line = next(each for each in scored("--scoring", "neg_log_loss").stdout.splitlines() if "neg_log_loss" in each)
    _, _, lower, upper = line.split()
    assert found["lower"][0] - 1e-3 < float(lower) <= found["lower"][0]
    assert found["upper"][0] <= float(upper) < found["upper"][0] + 1e-3


def test_a_search_shows_what_fillings_reach_and_a_regression_has_r2():
    found = json.loads(scored("--search", "--json", model="amount.ipub").stdout)
    assert found["metric"] == ["r2"]
    assert found["lower"][0] <= found["attained_lower"][0] < found["attained_upper"][0] <= found["upper"][0]
    assert "fillings reach" in scored("--search", model="amount.ipub").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scoring", "acuracy"], "Did you mean 'accuracy'?"),
        (["--groups", "sit"], "test.csv has no column 'sit'. Did you mean 'site'?"),
        (["--target", "z"], "test.csv has no column 'z'"),
        (["--target", "site"], "y is 'z' in row 1, which is no class of the model: these are 'no', 'yes'"),
        (["-o", "test.csv"], "is an input as well"),
        (["--search", "--train", "test.csv"], "does not give the model of y.ipub"),
    ],
)
def test_what_cannot_be_answered_is_said(arguments, words):
    assert words in " ".join(scored(*arguments, code=2).output.split())
