"""Mistakes on the command line: each ends in one sentence that says where and what to do, and nothing is written."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub.app import cli

N = 30


def table(**changes):
    """A table of two numbers, a category and a target; a pair (row, value) changes one cell, else a whole column."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "c": ["x", "y"] * (N // 2)})
    frame["y"] = rng.normal(size=N)
    frame.loc[2, "a"] = np.nan
    for name, change in changes.items():
        if isinstance(change, tuple):
            frame[name] = frame[name].astype(object)
            frame.loc[change[0], name] = change[1]
        else:
            frame[name] = change
    return frame


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments):
    """Run a command that must fail; return the one sentence that it says."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    done = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    return sentence.removeprefix("Error: ")


def write(path, content):
    content.to_csv(path, index=False) if isinstance(content, pd.DataFrame) else Path(path).write_text(content)


FIT = [
    (table(), ["--target", "yy"], "t.csv has no column 'yy'. Did you mean 'y'?"),
    (table(y=(4, np.nan)), [], "The target 'y' is missing in 1 of 30 rows of t.csv, the first of them row 5. Only"),
    (table(y=(4, "inf")), [], "The target 'y' is inf in row 5 of t.csv, beyond 1e+150: correct it, or remove the row."),
    (table(y=(4, 1e200)), [], "The target 'y' is 1e+200 in row 5 of t.csv, beyond 1e+150: correct it, or remove"),
    (table(y=(4, "red")), [], "The target 'y' holds numbers, but 'red' in row 5: correct it or remove the row, or"),
    (table(y=(4, "red")), ["--loss", "huber"], "The target 'y' holds numbers, but 'red' in row 5: correct it"),
    (table(y="u"), [], "The target 'y' is u in every row: there is nothing to learn."),
    (table(y=["u", "v"] * 15), ["--loss", "huber"], "--loss huber needs a target of numbers, but 'y' is u in row 1"),
    (table(a=(5, "inf")), [], "X contains infinity in row 6, column 'a': leave the cell empty (a hole), or give a fin"),
    (table(b=np.nan), [], "Column 'b' has no observed value"),
    (
        table(b=[*map(str, np.arange(29) / 2), "red"]),
        [],
        "Column 'b' holds numbers written as text",
    ),
    (table(c=[f"id{i}" for i in range(N)]), [], "Column 'c' holds a different category in each row"),
    (table()[:1], [], "The table has one row: at least two are needed"),
    ("", [], "t.csv is empty: it needs a line with the names of the columns, and one for each row."),
    ("\n \n", [], "t.csv is empty: it needs a line"),
    ("a,b,y\n", [], "t.csv has no rows below its header."),
    ("a,b,y\n1,2,3\n4,5\n", [], "t.csv has 2 cells in row 2 ('4,5'), and 3 columns: give each row as many cells as"),
    ('a,b,y\n1,"x\nz",3\n4,z,5\n6,7,8,9\n', [], "t.csv has 4 cells in row 3 ('6,7,8,9'), and 3 columns"),
    ("a,a,y\n1,2,3\n4,5,6\n", [], "t.csv has more than one column named 'a': rename them."),
    (table(), ["--drop", "y"], "--drop leaves out the target 'y': name another column to leave out."),
    (table(), ["--drop", "q"], "t.csv has no column 'q'. It has 'a', 'b', 'c', 'y'."),
    (table(), ["--loss", "foo"], "--loss foo is not known: use auto, "),
    (table(), ["--certificate", "foo"], "--certificate foo is not known: use sphere, "),
    (table(), ["--intervals", "foo"], "--intervals foo is not known: use quantile, observed, conditional."),
    (table(), ["--alpha", "0"], "Invalid value for '--alpha': '0' is neither 1se nor min nor a number above 0"),
    (table(), ["--alpha", "1e-200"], "The strength of the l2 penalty, alpha * (1 - l1_ratio), is 1e-200; it must be"),
    (table(), ["--alpha", "big"], "Invalid value for '--alpha'"),
    (table(), ["--foo"], "No such option: --foo. See `ipub fit --help`."),
    (table(), ["-o", "no/m.ipub"], "The folder no does not exist: create it first, or write elsewhere."),
    (table(), ["-o", "t.csv"], "t.csv is an input as well and would be lost: write elsewhere with -o."),
]
"""A table, options, and how the sentence begins."""


@pytest.mark.parametrize(("content", "options", "beginning"), FIT, ids=[case[2][:40] for case in FIT])
def test_fit_says_what_is_wrong_and_where(content, options, beginning):
    write("t.csv", content)
    target = [] if "--target" in options else ["--target", "y"]
    assert refused("fit", "t.csv", *target, *options).startswith(beginning)


@pytest.mark.parametrize(
    ("line", "beginning"),
    [
        (
            "a = [3, 1]",
            "The range of column 'a' has its lower end 3 above its upper end 1. Swap them, or correct them.",
        ),
        ("a = [0, inf]", "The range of column 'a' must be finite, got (0, inf)."),
        (
            "c = [0, 1]",
            "r.toml gives a range for column 'c', which holds categories: a missing one is any of",
        ),
        ("y = [0, 1]", "r.toml gives a range for a column that is no feature. The training table has no column 'y'."),
        ("a = 3..4", "r.toml is no valid TOML file: "),
    ],
)
def test_a_range_that_cannot_be_taken_is_named(line, beginning):
    write("t.csv", table())
    write("r.toml", line)
    assert refused("fit", "t.csv", "--target", "y", "--ranges", "r.toml").startswith(beginning)


def test_what_a_command_needs_is_named():
    write("t.csv", table())
    Path("folder.csv").mkdir()
    assert refused("fit", "t.csv") == "Missing option '--target'. See `ipub fit --help`."
    assert refused("fit", "folder.csv", "--target", "y").startswith("The folder folder.csv has no file")
    assert refused("demo", "-o", "x.foo") == "x.foo has the suffix '.foo': use .png, .pdf or .svg."


PREDICT = [
    (table().drop(columns="b"), "p.csv has no column 'b'. It has 'a', 'c', 'y'."),
    (table(b=(3, "red")), "Column(s) 'b' ('red' in row 4) held numbers in training, and hold text now: convert them"),
    (table(a=(3, "-inf")), "X contains infinity in row 4, column 'a': leave the cell empty (a hole), or give"),
    ("a,b,c\n1,2,x\n4,5\n", "p.csv has 2 cells in row 2 ('4,5'), and 3 columns"),
]


def test_predict_says_what_is_wrong_and_where():
    write("t.csv", table())
    fitted = CliRunner().invoke(cli.app, ["fit", "t.csv", "--target", "y", "-o", "m.ipub"])
    assert fitted.exit_code == 0
    for content, beginning in PREDICT:
        write("p.csv", content)
        assert refused("predict", "m.ipub", "p.csv", "-o", "out.csv").startswith(beginning)
    with zipfile.ZipFile("m.ipub") as model, zipfile.ZipFile("old.ipub", "w") as old:
        for name in model.namelist():
            content = model.read(name)
            old.writestr(name, json.dumps({**json.loads(content), "version": 1}) if name.endswith("json") else content)
    write("text.ipub", "not a model")
    for name, beginning in [
        ("old.ipub", "old.ipub was written by an older version of ipub"),
        ("text.ipub", "text.ipub is not an ipub model, or not a whole one. Make it with `ipub fit`"),
        ("none.ipub", "none.ipub: No such file or directory."),
    ]:
        assert refused("predict", name, "t.csv", "-o", "out.csv").startswith(beginning)
    assert refused("predict", "m.ipub", "t.csv", "-o", "out.txt").startswith(
        "out.txt has the suffix '.txt'; the suffix determines the format"
    )


def test_columns_of_dates_are_named_with_the_options_that_leave_them_out():
    days = pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d")
    table(day=days, **{"last visit": days}).to_csv("t.csv", index=False)
    sentence = refused("fit", "t.csv", "--target", "y")
    assert (
        "'day' (type date32[day]), 'last visit' (type date32[day]) of t.csv hold neither numbers nor text" in sentence
    )
    assert "--drop day --drop 'last visit'" in sentence


def test_classes_of_one_row_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7},{'yes' if k % 2 else 'no'}" for k in range(40)] + ["3,Yes", "4,yess"]
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *rows]) + "\n")
    done = CliRunner().invoke(cli.app, ["fit", "t.csv", "--target", "y", "--alpha", "1", "--certificate", "sphere"])
    assert "the target has 4 classes" in done.stdout
    assert "Yes, yess occur once: is it misspelled?" in " ".join(done.stdout.split())


def test_numbers_with_a_decimal_comma_are_no_categories(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f'"{k},5",{k % 2}' for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *rows]) + "\n")
    done = CliRunner().invoke(cli.app, ["fit", "t.csv", "--target", "y"])
    assert done.exit_code == 2
    assert "holds numbers written as text" in " ".join(done.stderr.split())
