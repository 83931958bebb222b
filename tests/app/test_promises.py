"""Promises on the command line: `ipub fit` with each of them, `ipub predict` and `ipub check`."""

import re

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.datasets import load_wine
from typer.main import get_command
from typer.testing import CliRunner

from ipub import BoundedClassifier, Budget, Draws, IpubWarning
from ipub.app import cli
from ipub.app.advice import SameCommand
from ipub.app.files.modelfile import load

N = 60


@pytest.fixture(autouse=True)
def frame(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "c": rng.choice(["x", "y"], size=N)})
    frame["y"] = np.where(frame["a"] + (frame["c"] == "x") > 0.5, "yes", "no")
    frame.loc[[2, 30], "a"] = np.nan
    frame.loc[[5, 40], "c"] = None
    frame.to_csv("t.csv", index=False)
    return frame


def run(*arguments):
    done = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.parametrize(
    ("options", "uncertainty", "words"),
    [
        ([], "worst", "Always: the bounds hold for every filling"),
        (["--budget", "50%"], Budget(share=0.5), "at most 2 of the 4 missing values"),
        (["--budget", "1"], Budget(cells=1), "at most 1 of the 4 missing values"),
        (
            ["--budget", "1", "--wrong-cells", "1", "--wrong-by", "0.2"],
            Budget(cells=1, wrong_cells=1, precision=0.2),
            "at most 1 of the observed cells",
        ),
        (["--draws", "3", "--draw-radius", "0.2"], Draws(n_draws=3, radius=0.2, random_state=0), "0.2 half-widths"),
        (["--draws", "3", "--seed", "7"], Draws(n_draws=3, random_state=7), "'hot_deck'"),
        (["--draws", "3", "--imputer", "chained"], Draws("chained", n_draws=3, random_state=0), "'chained'"),
    ],
)
def test_fit_and_predict_say_what_is_promised(frame, options, uncertainty, words):
    fitted = run("fit", "t.csv", "--target", "y", "--alpha", "0.3", *options)
    predicted = run("predict", "model.ipub", "t.csv", "-o", "bounds.csv")
    assert words in fitted.stdout
    assert words in predicted.stdout
    expected = BoundedClassifier(alpha=0.3, scale="standard", uncertainty=uncertainty).fit(
        frame.drop(columns="y"), frame["y"]
    )
    rows = frame.drop(columns="y").dropna()
    assert np.allclose(load("model.ipub").decision_bounds(rows), expected.decision_bounds(rows), rtol=1e-6)


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("5%", "Note: 5 % of 4 missing values is less than one: the budget is 0; --budget 1 lets one differ."),
        ("500", "Note: --budget 500: only 4 missing values are there, so all may differ, as in any filling."),
        ("0", ""),
        ("0%", ""),
        ("4", ""),
    ],
)
def test_a_budget_of_none_or_of_more_than_all_is_noted(budget, words):
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.3", "--budget", budget)
    text = " ".join(done.stderr.split())
    assert text.count("udget") == words.count("udget")
    assert words in text


@pytest.mark.parametrize("command", ["fit", "check"])
def test_help_says_for_what_so_many_draws_are_needed(command):
    help_of = {each.name: each.help for each in get_command(cli.app).commands[command].params if hasattr(each, "help")}
    assert "37 for a class, 199 for a score, with 99 %" in help_of["draws"]
    numbers = Draws(n_draws=37), Draws(n_draws=199)
    assert min(numbers[0].class_probability, numbers[1].probability) >= 0.99


def test_a_table_without_missing_values_is_not_checked(frame):
    frame.dropna().to_csv("t.csv", index=False)
    assert run("check", "t.csv", "--target", "y").stdout == "Nothing is missing: there is nothing to check.\n"


def test_a_share_of_less_than_one_missing_value_warns_once(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    clf = BoundedClassifier(alpha=0.3, uncertainty=Budget(share=0.05))
    with pytest.warns(IpubWarning, match=r"5 % of 4 missing .* Budget\(cells=1\) lets one differ") as found:
        clf.fit(X, y)
    clf.decision_bounds(X.dropna())  # warnings are errors: nothing is said again
    assert len(found) == 1
    for explicit in (Budget(cells=0), Budget(share=0.0)):
        BoundedClassifier(alpha=0.3, uncertainty=explicit).fit(X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--budget", "150%"], "--budget 150% is out of range"),
        (["--budget=-3"], "--budget -3 is out of range"),
        (["--budget", "some"], "--budget some is no number of cells"),
        (["--budget", "1", "--draws", "3"], "different promises"),
        (["--wrong-by", "1"], "give --wrong-cells"),
        (["--imputer", "chained"], "give --draws"),
        (["--draw-radius", "0.2"], "give --draws"),
        (["--seed", "3"], "give --draws"),
        (["--draws", "1"], "at least 2"),
        (["--draws", "3", "--imputer", "mean"], "--imputer mean is not known"),
        (["--draws", "3", "--draw-radius", "3"], "--draw-radius"),
    ],
)
def test_fit_refuses_what_promises_nothing(options, words):
    done = CliRunner().invoke(cli.app, ["fit", "t.csv", "--target", "y", *options])
    assert done.exit_code == 2
    (sentence,) = done.stderr.splitlines()
    assert words in sentence


def test_check_shows_one_promise_after_another_and_a_command_to_go_on_with(frame):
    done = run("check", "t.csv", "--target", "y", "--draws", "3", "--imputer", "median", "--seconds", "1000")
    lines = [line.split("  ")[0] for line in done.stdout.splitlines()]
    names = ["3 plain draws", "3 draws", "1 hole differs", "any filling"]
    assert [line for line in lines if line in names] == names
    assert "unproved" in done.stdout
    assert "filled in with the median of its column" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Next: ipub fit t.csv --target y")
    frame.drop(columns="y").assign(a=0.0, b=0.0, c="y").iloc[:3].to_csv("test.csv", index=False)
    options = "--draws", "3", "--alpha", "0.5", "--test", "test.csv", "--rows", "2", "--quick"
    done = run("check", "t.csv", "--target", "y", *options)
    assert "2 rows of test.csv are looked at" in done.stdout
    assert "1 hole differs" not in done.stdout
    assert "Next: ipub fit t.csv --target y --alpha 0.5" in done.stdout


def test_a_note_names_its_promises_and_a_line_whose_bounds_are_those_of_any_filling_says_so():
    frame = load_wine(as_frame=True).frame.sample(frac=1.0, random_state=0)[:120].reset_index(drop=True)
    frame.loc[frame.index % 15 == 0, "hue"] = frame.loc[frame.index % 20 == 3, "ash"] = np.nan
    frame["target"] = frame["target"].map({0: "a", 1: "b", 2: "c"})
    frame.to_csv("wine.csv", index=False)
    given = "--draws", "3", "--alpha", "0.0056", "--seconds", "1000"
    done = run("check", "wine.csv", "--target", "target", *given)
    lines = [line for line in done.stdout.splitlines() if line.endswith("as any filling")]
    assert lines
    assert lines[-1].startswith("20 % differ")
    assert not any(line.startswith("any filling") for line in lines)
    notes = [line for line in done.stderr.splitlines() if line.startswith("Note: ")]
    assert any(re.match(r"Note: .*'20 % differ': No bounds around the filled-in table", each) for each in notes)
    assert all(each.startswith("Note: '") for each in notes)


def test_check_says_what_it_skips(frame):
    done = run("check", "t.csv", "--target", "y", "--draws", "3", "--alpha", "0.5", "--seconds", "0")
    for name in ("3 draws", "1 hole differs", "any filling"):
        assert any(line.startswith(name) and "skipped" in line for line in done.stdout.splitlines())
    assert "3 plain draws" in done.stdout
    assert "Nothing was proved" in done.stdout
    # The draws of the check have been looked at.
    assert done.stdout.splitlines()[-1].endswith("--draws 3 --seed 1")
    done = run("check", "t.csv", "--target", "y", "--draws", "3", "--alpha", "0.5", "--seconds", "0", "--seed", "4")
    assert done.stdout.splitlines()[-1].endswith("--draws 3 --seed 5")


def test_check_of_a_regression_compares_widths(frame):
    frame.assign(y=frame["a"].fillna(0.0) + 0.25).to_csv("numbers.csv", index=False)
    done = run("check", "numbers.csv", "--target", "y", "--draws", "3", "--alpha", "0.5", "--seconds", "1000")
    assert "certain" not in done.stdout
    assert "Median width of the bounds" in done.stdout


def test_a_command_that_is_offered_draws_others_than_were_looked_at():
    def offered(given, **changes):
        context = typer.main.get_command(cli.app).commands["fit"].make_context("fit", list(given))
        return SameCommand(context).with_options(**changes).split()

    given = ["t.csv", "--target", "y", "-o", "m.ipub"]
    assert offered(given, draws=199)[-2:] == ["--draws", "199"]  # those that were tried once
    assert offered([*given, "--draws", "19", "--seed", "4"], alpha=2.0)[-4:] == ["--draws", "19", "--seed", "5"]
    assert "--seed" not in offered(given, alpha=2.0)
