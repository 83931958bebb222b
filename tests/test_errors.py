"""Errors and warnings: fields, composed by the library and by the command line, whatever a column is called."""

import ast
import copy
import importlib
import pickle
import pkgutil
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Intervals, IpubError, IpubWarning, penalty_path
from ipub.app import cli
from ipub.app.files.tables import TableError, toml_key
from ipub.app.screen import CommandLineWording, sentence_of
from ipub.errors import LIBRARY_WORDING, DropColumn, GiveRange, IpubTypeError, MakeMissing, Message, WithMessage

NAMES = [
    "row 3",
    "intervals={x: (low, high)}",
    "{row}",
    "{0!r}",
    "{",
    "[bold]",
    "a[/bold]",
    "[link=x]y",
    ":smile:",
    "two  spaces",
    'it\'s "so"',
    "column",
    "--drop",
]
each_name = pytest.mark.parametrize("name", NAMES)
N = 40


def table(name, **columns):
    """A frame with a column of that name, made of what is given as `it`."""
    rng = np.random.default_rng(0)
    frame = {"other": rng.normal(size=N), **{(name if key == "it" else key): value for key, value in columns.items()}}
    return pd.DataFrame({**frame, "target": rng.normal(size=N)})


def with_value(value, row=3):
    values = np.random.default_rng(1).normal(size=N).astype(object)
    values[row] = value
    return values


FAULTS = {
    "no value": (lambda: np.full(N, np.nan), "Column {} has no observed value", GiveRange, None),
    "infinity": (lambda: with_value(np.inf).astype(float), "infinity in {row}, column {}: ", MakeMissing, 3),
    "huge": (lambda: with_value(1e200).astype(float), "1e+200 in {row}, column {}, beyond", None, 3),
    "names": (lambda: [f"row {i}" for i in range(N)], "Column {} holds a different category", DropColumn, None),
    "numbers": (
        lambda: [f"{i}.5" for i in range(N - 1)] + ["red"],
        "Column {} holds numbers written",
        MakeMissing,
        None,
    ),
}
"""How a column comes to be refused: its values, what is said of it, the remedy and the row."""
each_fault = pytest.mark.parametrize("fault", FAULTS)


@each_name
@each_fault
def test_the_library_names_column_and_row_as_they_are(name, fault):
    values, message, remedy, row = FAULTS[fault]
    frame = table(name, it=values())
    with pytest.raises(IpubError) as caught:
        BoundedRegressor().fit(frame[["other", name]], frame["target"])
    error = caught.value
    expected = message.replace("{row}", f"row {row}").replace("{}", repr(name))
    assert expected in str(error)
    assert (error.column, error.row) == (name, row)
    assert isinstance(error.remedy, remedy or type(None))
    if fault == "no value":
        assert f"intervals={{{name!r}: (low, high)}}, or drop the column." in str(error)


def command(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.mark.no_cover
@pytest.mark.share(5)
@each_name
@each_fault
def test_the_command_line_names_them_too_and_counts_rows_from_one(name, fault, tmp_path):
    values, message, remedy, row = FAULTS[fault]
    train, model = tmp_path / "t.csv", tmp_path / "m.ipub"
    frame = table(name, it=values())
    frame.to_csv(train, index=False) if fault != "numbers" else frame.to_parquet(train := tmp_path / "t.parquet")
    done = command("fit", train, "--target", "target", "-o", model)
    assert done.exit_code == 2
    (sentence,) = done.stderr.splitlines()
    assert message.replace("{row}", f"row {row and row + 1}").replace("{}", repr(name)) in sentence
    if remedy is MakeMissing:
        assert "leave the cell empty" in sentence
    if remedy in (GiveRange, DropColumn):
        drop = shlex.split(re.search(r"leave it out with (--drop .*)\.$", sentence)[1])
        assert drop == ["--drop", name]
        assert command("fit", train, "--target", "target", "-o", model, *drop).exit_code == 0
    if remedy is GiveRange:
        line = re.search(r"Give its range, a line (.*) in a file for --ranges, or ", sentence)[1]
        assert tomllib.loads(line.replace("[low, high]", "[1, 2]")) == {name: [1, 2]}
        (tmp_path / "r.toml").write_text(line.replace("[low, high]", "[1, 2]"), encoding="utf-8")
        fitted = command("fit", train, "--target", "target", "-o", model, "--ranges", tmp_path / "r.toml")
        assert fitted.exit_code == 0
        assert name in fitted.stdout


@each_name
def test_a_new_category_and_text_for_numbers_are_told_in_both_ways(name, tmp_path):
    frame = table(name, it=["a", "b"] * (N // 2), size=np.arange(N) / 7.0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert command("fit", tmp_path / "t.csv", "--target", "target", "-o", tmp_path / "m.ipub").exit_code == 0
    other = frame.copy()
    other.loc[3, name] = "row 3"
    other.to_csv(tmp_path / "other.csv", index=False)
    done = command("predict", tmp_path / "m.ipub", tmp_path / "other.csv")
    assert done.exit_code == 0
    assert done.stderr.count(f"Note: Training did not see 'row 3' in column {name!r} (1 row): predicted as a ") == 1
    X = frame.drop(columns="target")
    strict = BoundedRegressor(intervals=Intervals(handle_unknown="error")).fit(X, frame["target"])
    with pytest.raises(IpubError) as caught:
        strict.predict(other.drop(columns="target"))
    assert f"Column {name!r} has the category 'row 3' in row 3, which" in str(caught.value)
    assert (caught.value.column, caught.value.row, caught.value.value) == (name, 3, "row 3")
    numbers = table(name, it=np.arange(N) / 7.0)
    numbers.to_csv(tmp_path / "t.csv", index=False)
    assert command("fit", tmp_path / "t.csv", "--target", "target", "-o", tmp_path / "m.ipub").exit_code == 0
    numbers.astype({name: object}).assign(**{name: "row 7"}).to_csv(tmp_path / "other.csv", index=False)
    said = command("predict", tmp_path / "m.ipub", tmp_path / "other.csv").stderr
    assert f"Column(s) {name!r} ('row 7' in row 1) held numbers in training" in said


WARNINGS = {
    "constant": (
        np.where(np.arange(N) == 3, np.nan, 7.0),
        lambda name: f"give a range: intervals={{{name!r}: (low, high)}}.",
        lambda name: f"{toml_key(name)} = [low, high] in a file",
    ),
    "coded": (
        np.where(np.arange(N) % 8 == 0, -999.0, np.arange(N) + 20.5),
        lambda name: f"column(s) {name!r} (-999). If it stands for a missing value, make it NaN.",
        lambda name: "leave the cell empty.",
    ),
    "words": (
        [*["1", "2", "3"] * 13, "red"],
        lambda name: f"Column {name!r} holds numbers written as text ('1', '2', '3', but 'red' in row 39)",
        lambda name: "in row 40): where a text stands for a missing value, leave the cell empty; then",
    ),
    "many": (
        [f"v{i % 30}" for i in range(N)],
        lambda name: f"Column {name!r} has 30 different categories in 40 rows",
        lambda name: f"--drop {shlex.quote(name)};",
    ),
}


@pytest.mark.share(2)
@each_name
@pytest.mark.parametrize("kind", WARNINGS)
def test_warnings_name_columns_as_they_are_in_both_ways(name, kind, tmp_path):
    values, library, command_line = WARNINGS[kind]
    frame = table(name, it=values)
    with pytest.warns(IpubWarning) as caught:
        BoundedRegressor().fit(frame[["other", name]], frame["target"])
    (warning,) = caught
    assert library(name) in str(warning.message)
    frame.to_parquet(tmp_path / "t.parquet")
    done = command("fit", tmp_path / "t.parquet", "--target", "target", "-o", tmp_path / "m.ipub")
    assert done.exit_code == 0
    (sentence,) = [line for line in done.stderr.splitlines() if "--scale" not in line]
    assert repr(name) in sentence
    assert command_line(name) in sentence


@each_name
def test_names_in_a_file_of_ranges_and_unknown_columns_are_literal(name, tmp_path):
    table(name, it=np.arange(N)).to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "target", "-o", tmp_path / "m.ipub")
    (tmp_path / "r.toml").write_text(f"{toml_key(name)} = 3\n", encoding="utf-8")
    assert (
        f"two numbers for {name!r}, like {toml_key(name)} = [0, 120]"
        in command(*fit, "--ranges", tmp_path / "r.toml").stderr
    )
    (tmp_path / "r.toml").write_text(f"{toml_key(name)} = [3, 1]\n", encoding="utf-8")
    said = command(*fit, "--ranges", tmp_path / "r.toml").stderr
    assert f"The range of column {name!r} has its lower end 3 above its upper end 1." in said
    assert f"no column {name + 'qqqqqqqqqqq'!r}" in command(*fit, f"--drop={name}qqqqqqqqqqq").stderr


@each_name
def test_files_of_any_name_are_named_as_they_are(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = f"{name.replace('/', '_')}.csv"
    Path(path).write_text("a,y\n")
    said = command("fit", "--target", "y", "--", path).stderr
    assert said == f"Error: {path} has no rows below its header.\n"


def test_a_phrase_never_takes_what_it_is_given_for_a_template():
    phrase = Message("{value!r} of {column} in {row}: {remedy}", value="{row}", column="{value}", row=3, remedy="{row}")
    assert phrase.text(LIBRARY_WORDING) == "'{row}' of '{value}' in row 3: {row}"
    assert phrase.text(CommandLineWording()) == "'{row}' of '{value}' in row 4: {row}"
    assert Message("{row}").text(LIBRARY_WORDING) == "{row}"
    assert Message("{columns}", columns=["row 3", 2]).text(CommandLineWording()) == "'row 3', 2"


def test_errors_of_others_are_said_as_they_are_on_one_line():
    assert sentence_of(ValueError("row 3 of\n intervals={x: (low, high)}")) == "row 3 of intervals={x: (low, high)}"


def test_errors_and_warnings_go_to_other_processes_with_their_fields():
    for kind in (IpubError, IpubTypeError, IpubWarning, TableError):
        error = kind("{column} in {row}: {remedy}", column="row 3", row=2, remedy=GiveRange("row 3"))
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(again) is kind
            assert str(again) == str(error) == "'row 3' in row 2: intervals={'row 3': (low, high)}"
            assert (again.row, again.column, again.remedy) == (2, "row 3", GiveRange("row 3"))
            assert again.text(CommandLineWording()).startswith("'row 3' in row 3: a line")


PACKAGE = Path(ipub.__file__).parent
MODULES = [
    importlib.import_module(info.name)
    for info in pkgutil.walk_packages([str(PACKAGE)], "ipub.")
    if "__main__" not in info.name
]
FAMILY = {
    thing
    for module in MODULES
    for thing in vars(module).values()
    if isinstance(thing, type) and issubclass(thing, Exception) and thing.__module__.startswith("ipub.")
}


def test_every_error_and_warning_of_the_package_is_of_one_family():
    assert {kind.__name__ for kind in FAMILY} >= {"TableError", "ModelFileError", "CategoryWarning"}
    for kind in FAMILY - {WithMessage}:
        assert issubclass(kind, IpubError if not issubclass(kind, Warning) else IpubWarning)
        assert issubclass(kind, ValueError if not issubclass(kind, Warning) else UserWarning)


@cache
def calls() -> dict[str, list[ast.Call | ast.Raise]]:
    """Return what each file of the package calls or raises."""
    return {
        str(path.relative_to(PACKAGE)): [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Raise)]
        for path in sorted(PACKAGE.rglob("*.py"))
        for tree in [ast.parse(path.read_text())]
    }


def test_a_message_with_fields_is_no_formatted_string():
    """Else a name that was put in could be taken for a field."""
    template = {**{kind.__name__: 0 for kind in FAMILY}, "Message": 0, "refuse": 1}
    for file, node in ((file, node) for file, nodes in calls().items() for node in nodes):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in template and node.args:
            parts = list(ast.walk(node.args[template[node.func.id]]))
            if node.keywords:
                assert not any(isinstance(part, ast.JoinedStr) for part in parts), f"{file}, line {node.lineno}"
            elif not any(isinstance(part, ast.JoinedStr) for part in parts):
                texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                assert not any("{{" in text for text in texts), f"{file}, line {node.lineno}"


PLAIN_ERRORS = {
    "rows/device/array.py": "Python asks for a TypeError of what is no index",
    "rows/sparse_array.py": "a kernel would make a dense table of a sparse one: no user can cause it",
    "rows/block.py": "names a kernel that was written without its declaration: no user can cause it",
    "model_sets/region.py": "regions of two problems in one certificate: no user can cause it",
    "app/files/modelfile.py": "`load_with_metadata` and `save` say of each in which file it is, as a ModelFileError",
    "app/files/model_archive.py": "the archive of a model file: `modelfile` says of each in which file it is",
    "certificates/row_sums/checked_fields.py": "what a model file holds: `modelfile` says in which file it is",
    "certificates/row_sums/upper.py": "rows that another table was read for: no user can cause it",
}
"""Where a plain ValueError or TypeError may be raised, and why it does not reach a user as it is."""


def test_every_error_that_is_raised_joins_the_family():
    """Else a user who catches IpubError misses it, and the command line cannot word it."""
    plain = {"ValueError", "TypeError", "Exception", "RuntimeError", "KeyError", "IndexError"}
    files = set()
    for file, nodes in calls().items():
        made = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        raised = {node.exc.id for node in nodes if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name)}
        if plain & (made | raised):
            files.add(file)
    assert files == set(PLAIN_ERRORS)


def test_fields_are_there_for_arrays_and_bounds_too():
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(IpubError) as caught:
        BoundedRegressor().fit(np.where(X == 7.0, np.inf, X), X[:, 0])
    assert (caught.value.row, caught.value.column, caught.value.value) == (3, 1, np.inf)
    with pytest.raises(IpubError) as caught:
        BoundedRegressor().fit(X, X[:, 0], X_lower=X - (X == 7.0), X_upper=X)
    assert (caught.value.row, caught.value.column, caught.value.value) == (3, 1, 6.0)
    cells = X.astype(object)
    cells[3, 1] = "row 3"
    with pytest.raises(IpubError, match="X contains 'row 3' in row 3, column 1") as caught:
        BoundedRegressor().fit(cells, X[:, 0])
    cells[3, 1] = {}
    with pytest.raises(TypeError, match=r"row 3, column 1 of X") as caught:
        BoundedRegressor().fit(cells, X[:, 0])
    assert isinstance(caught.value, IpubError)


def test_fields_are_there_for_labels_weights_and_parameters():
    X = np.arange(40.0).reshape(20, 2)
    y = np.arange(20) % 2
    at = np.arange(20) == 4

    def caught(do):
        with pytest.raises(IpubError) as info:
            do()
        return info.value

    for error in (
        caught(lambda: BoundedRegressor().fit(X, np.where(at, np.nan, y))),
        caught(lambda: BoundedRegressor().fit(X, np.where(at, np.inf, y))),
        caught(lambda: BoundedClassifier().fit(X, np.where(at, np.inf, y))),
        caught(lambda: BoundedRegressor().fit(X, np.where(at, 1e200, y))),
        caught(lambda: BoundedRegressor().fit(X, np.where(at, "red", "1"))),
        caught(lambda: BoundedRegressor().fit(X, y, sample_weight=np.where(at, -1.0, 1.0))),
        caught(lambda: BoundedRegressor().fit(X, y, sample_weight=np.where(at, 1e-160, 1.0))),
        caught(lambda: BoundedRegressor().fit(X, y, y_lower=y, y_upper=np.where(at, np.inf, y))),
        caught(lambda: BoundedRegressor().fit(X, y, y_lower=y, y_upper=np.where(at, -7.0, y))),
        caught(lambda: BoundedRegressor().fit(X, np.where(at, 9.0, y), y_lower=y, y_upper=y)),
        caught(lambda: BoundedRegressor().fit(X, y, sample_weight=np.where(at, "red", "1"))),
        caught(lambda: BoundedRegressor().fit(X, y, y_lower=y, y_upper=np.where(at, "red", "1"))),
        caught(lambda: penalty_path(BoundedRegressor(), X, y, X, np.where(at, "red", "1"))),
        caught(lambda: penalty_path(BoundedRegressor(), X, y, X, np.where(at, np.nan, y))),
        caught(lambda: penalty_path(BoundedClassifier(), X, y, X, np.where(at, 7, y))),
    ):
        assert error.row == 4
        assert " row 4" in str(error)
        assert " row 5" in error.text(CommandLineWording())
    days = np.datetime64("2020-01-01") + np.arange(20)
    assert "y holds dates or durations" in str(caught(lambda: BoundedRegressor().fit(X, days)))
    assert caught(lambda: BoundedRegressor(alpha=1e-151).fit(X, y)).value == 1e-151
    assert caught(lambda: BoundedRegressor("huber", huber_delta=1e120).fit(X, y)).value == 1e120
    assert caught(lambda: penalty_path(BoundedRegressor(), X, y, X, alphas=[1.0, -1.0])).value == -1.0


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_no_target_is_advised_to_become_a_hole(value):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2.0
    y[4] = value
    for model in (BoundedRegressor(), BoundedClassifier()):
        with pytest.raises(IpubError, match="Input y contains infinity in row 4: correct it, or drop the row"):
            model.fit(X, y)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_no_bound_is_advised_to_become_a_hole(value):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2.0
    upper = X.copy()
    upper[4, 1] = value
    with pytest.raises(IpubError, match="X_upper contains infinity in row 4, column 1: give a finite bound for every"):
        BoundedRegressor().fit(X, y, X_lower=X, X_upper=upper)
