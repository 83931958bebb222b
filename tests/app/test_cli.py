import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Intervals
from ipub.app import cli, demo, options
from ipub.app.files.modelfile import load, save
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from ipub.promises.budget import FILLINGS

runner = CliRunner()


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table():
    """Four columns on one scale, holes in two of them, a text label, a number, and an id that is no feature."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(120, 4)), columns=["a", "b", "c", "d"])
    score = frame["a"] + frame["b"] + 0.1 * rng.normal(size=120)
    frame.loc[:2, "c"] = np.nan
    frame.loc[3, "d"] = np.nan
    frame["label"] = np.where(score > 0, "yes", "no")
    frame["amount"] = score
    frame["id"] = [f"row{i}" for i in range(120)]
    return frame


@pytest.fixture
def train(table):
    table.to_csv("train.csv", index=False)
    return table


def run(*arguments):
    """Run a command that must succeed; return what it prints."""
    done = runner.invoke(cli.app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


def refused(*arguments):
    """Run a command that must fail; return its one sentence."""
    done = runner.invoke(cli.app, [str(argument) for argument in arguments])
    assert done.exit_code == 2
    assert done.exception is None or isinstance(done.exception, SystemExit)
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    return sentence


def close(written, expected):
    """Compare up to the last bits, which depend on how rows lie in memory."""
    np.testing.assert_allclose(written, expected, rtol=1e-12, atol=1e-14)


def demo_rows(done):
    return [line for line in done.stdout.splitlines() if line.rstrip().endswith((" certain", " open", " unproved"))]


def fit(*arguments):
    return run("fit", "train.csv", *arguments)


CLASSIFY = ("--target", "label", "--drop", "id", "--drop", "amount")


# --- fit


def test_fit_says_what_it_saw_and_where_the_model_is(train):
    done = fit(*CLASSIFY)
    assert "120 rows, 4 features, target 'label'" in done.stdout
    assert "log_loss (the target has two values, no and yes)" in done.stdout
    assert "4 cells in 4 rows" in done.stdout
    low, high = np.quantile(train["c"].dropna(), [0.05, 0.95])
    assert re.search(rf"c +3 +{low:.6g} +{high:.6g}", done.stdout)
    assert "duality gap" not in done.stdout
    assert "Saved to model.ipub" in done.stdout
    assert done.stderr == ""


def test_fit_gives_the_model_of_the_library(train):
    fit(*CLASSIFY, "--alpha", 0.3, "--l1-ratio", 0.2, "--interval-level", 0.5, "--certificate", "ball", "-o", "m.ipub")
    names = ["a", "b", "c", "d"]
    expected = BoundedClassifier(
        alpha=0.3, l1_ratio=0.2, intervals=Intervals(level=0.5), certificate="ball", scale="standard"
    )
    expected.fit(train[names], train["label"])
    loaded = load("m.ipub")
    assert (loaded.coef_ == expected.coef_).all()
    assert (loaded.decision_bounds(train[names][5:]) == expected.decision_bounds(train[names][5:])).all()


def test_the_intercept_can_be_left_out(train):
    assert "without intercept" not in fit(*CLASSIFY).stdout
    assert load("model.ipub").intercept_[0] != 0.0
    assert "), without intercept" in fit(*CLASSIFY, "--no-intercept").stdout
    assert load("model.ipub").intercept_[0] == 0.0


@pytest.mark.parametrize(
    ("values", "loss"),
    [([0, 1], "log_loss"), ([True, False], "log_loss"), ([1, 2, 3], "squared_error"), ([0.5, 1.5], "squared_error")],
)
def test_the_loss_follows_the_target(values, loss):
    n = 30
    X = np.random.default_rng(0).uniform(size=n)
    pd.DataFrame({"x": X, "y": np.resize(values, n)}).to_parquet("t.parquet")
    done = run("fit", "t.parquet", "--target", "y")
    assert f"Loss: {loss}" in done.stdout
    assert "Holes: none" in done.stdout
    assert load("model.ipub").loss == loss


def test_few_whole_numbers_may_be_classes(table):
    few = table.assign(label=[0.0, 1.0, 2.0] * 40)
    few.to_csv("few.csv", index=False)
    arguments = ("few.csv", "--target", "label", "--drop", "id", "--alpha", 1)
    assert "different values; if they are classes: --loss log_loss)" in " ".join(run("fit", *arguments).stdout.split())
    run("fit", *arguments, "--loss", "log_loss")
    assert load("model.ipub").classes_.tolist() == [0, 1, 2]
    few.assign(label=few["label"] + 0.5).to_csv("few.csv", index=False)
    assert "classes" not in run("fit", *arguments).stdout
    refused("fit", *arguments, "--loss", "log_loss")


def test_ranges_and_observed_intervals(train):
    Path("r.toml").write_text("[ranges]\nc = [-5, 5.5]\n", encoding="utf-8")
    done = fit(*CLASSIFY, "--ranges", "r.toml", "--intervals", "observed")
    assert re.search(r"c +3 +-5 +5\.5", done.stdout)
    assert re.search(rf"d +1 +{train['d'].min():.6g} +{train['d'].max():.6g}", done.stdout)


def test_warnings_of_the_library_are_notes(table):
    table["c"] = np.where(table["c"].isna(), np.nan, 1.0)
    table["a"] *= 100.0
    table.to_csv("train.csv")
    done = fit(*CLASSIFY, "--scale", "none")
    assert "Note: train.csv has a column without a name" in done.stderr
    assert "Note: Missing values of column(s) 'c' have an interval of zero length" in done.stderr
    assert "Note: Bounds widen with the size of the columns (a goes up to" in done.stderr
    assert "Warning" not in done.stderr


def test_a_failed_fit_leaves_the_old_model_alone(train):
    fit(*CLASSIFY)
    before = Path("model.ipub").read_bytes()
    refused("fit", "train.csv", *CLASSIFY, "--alpha", -1)
    assert Path("model.ipub").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.csv", "--target", "label"], ["none.csv", "No such file"]),
        (["train.txt", "--target", "label"], ["train.txt", ".parquet"]),
        (["train.csv", "--target", "lable"], ["train.csv", "'lable'", "Did you mean 'label'?"]),
        (["train.csv", "--target", "label", "--drop", "ids"], ["'ids'", "Did you mean 'id'?"]),
        (["train.csv", "--target", "label"], ["'id' holds a different category in each row ('row0'", "drop"]),
        (["train.csv", "--target", "id", "--drop", "label"], ["'id' has 120 different values", "at most 100 classes"]),
        (["train.csv", *CLASSIFY, "--loss", "log"], ["--loss log", "auto"]),
        (["train.csv", *CLASSIFY, "--loss", "squared_error"], ["needs a target of numbers"]),
        (
            ["train.csv", "--target", "amount", "--drop", "id", "--drop", "label", "--loss", "hinge"],
            ["120 different values", "squared_error"],
        ),
        (["train.csv", *CLASSIFY, "--alpha", "0"], ["'--alpha'"]),
        (["train.csv", *CLASSIFY, "--l1-ratio", "1"], ["'l1_ratio'"]),
        (["train.csv", *CLASSIFY, "--certificate", "magic"], ["--certificate magic", "tight"]),
        (["train.csv", *CLASSIFY, "--intervals", "magic"], ["magic", "observed"]),
        (["train.csv", *CLASSIFY, "--interval-level", "2"], ["--interval-level"]),
        (["train.csv", *CLASSIFY, "--ranges", "none.toml"], ["none.toml", "No such file"]),
        (["train.csv", *CLASSIFY, "-o", "none/model.ipub"], ["none does not exist"]),
        (["train.csv", *CLASSIFY, "-o", "."], ["is a folder"]),
        (["train.csv", *CLASSIFY, *(f"--drop={name}" for name in "abcd")], ["no column left"]),
    ],
)
def test_fit_refuses_bad_input_in_one_sentence(train, arguments, words):
    sentence = refused("fit", *arguments)
    for word in words:
        assert word in sentence
    assert os.listdir() == ["train.csv"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,0\n2,\n3,1\n", ["'y' is missing in 1 of 3 rows", "remove"]),
        ("x,y\n1,0\n2,0\n", ["'y' is 0 in every row"]),
        ("x,y\n,0\n,1\n", ["'x'", "no observed value"]),
        ("x,y\ninf,0\n1,1\n", ["infinity", "'x'"]),
        ("x,y\n1,0\n2\n", ["t.csv", "1 cells in row 2", "2 columns"]),
        ("", ["t.csv", "is empty"]),
    ],
)
def test_fit_refuses_bad_tables_in_one_sentence(text, words):
    Path("t.csv").write_text(text, encoding="utf-8")
    sentence = refused("fit", "t.csv", "--target", "y")
    for word in words:
        assert word in sentence


# --- predict


def test_predict_writes_what_the_library_bounds(train):
    fit(*CLASSIFY, "--alpha", 0.01)
    train[["d", "b", "label", "c", "a"]].to_csv("test.csv", index=False)
    done = run("predict", "model.ipub", "test.csv", "-o", "bounds.csv")
    bounds = pd.read_csv("bounds.csv")
    assert bounds.columns.tolist() == ["prediction", "probability", "lower", "upper", "certain"]
    model, X = load("model.ipub"), train[["a", "b", "c", "d"]]
    assert bounds["prediction"].tolist() == model.predict(X).tolist()
    close(bounds["probability"], model.predict_proba(X)[:, 1])
    close(bounds[["lower", "upper"]], model.predict_proba_bounds(X))
    assert (bounds["certain"] == (model.predict_set(X).sum(axis=1) == 1)).all()
    n_certain = int(bounds["certain"].sum())
    assert 0 < n_certain < 120
    assert f"{n_certain} of 120 predictions" in done.stdout
    assert "label (the target)" in done.stderr


def test_rows_with_holes_get_bounds_over_their_own_holes_too(train):
    fit(*CLASSIFY)
    done = run("predict", "model.ipub", "train.csv", "-o", "bounds.parquet")
    bounds = pd.read_parquet("bounds.parquet")
    assert bounds.notna().all().all()
    filled = train[["a", "b", "c", "d"]].fillna(0.1)
    inside = load("model.ipub").predict_proba_bounds(filled)
    assert (bounds["lower"] <= inside[:, 0] + 1e-9).all()
    assert (inside[:, 1] <= bounds["upper"] + 1e-9).all()
    assert "4 of 120 rows have missing cells themselves" in done.stderr


def test_columns_of_text_are_categories_and_columns_are_scaled(train):
    train["site"] = np.where(train["a"] > 0.3, "high", np.where(train["b"] > 0.0, "middle", "low"))
    train["income"] = 1e4 * train["a"] + 3e4
    train.loc[5:7, "site"] = None
    train.to_csv("train.csv", index=False)
    Path("ranges.toml").write_text("income = [0, 100000]\n")
    done = fit(*CLASSIFY, "--ranges", "ranges.toml")
    assert load("model.ipub").scale == "standard"
    assert re.search(r"site +3 +any +category", done.stdout)
    assert "--scale" not in done.stderr
    assert "try --scale standard" in fit(*CLASSIFY, "--scale", "none").stderr
    assert load("model.ipub").scale is None
    fit(*CLASSIFY)
    done = run("predict", "model.ipub", "train.csv", "-o", "bounds.csv")
    assert "7 of 120 rows have missing cells themselves" in done.stderr
    model = load("model.ipub")
    close(
        pd.read_csv("bounds.csv")[["lower", "upper"]], model.predict_proba_bounds(train[list(model.feature_names_in_)])
    )
    train.assign(site="outside").to_csv("test.csv", index=False)
    done = run("predict", "model.ipub", "test.csv")
    assert done.stderr.count("Note: Training did not see 'outside' in column 'site' (120 rows): predicted as") == 1
    assert "--scale robust is not known: use none, standard, minmax." in refused(
        "fit", "train.csv", *CLASSIFY, "--scale", "robust"
    )


def test_several_classes_are_told_apart(train):
    train["kind"] = np.where(train["a"] > 0.3, "high", np.where(train["b"] > 0.0, "middle", "low"))
    train.to_csv("train.csv", index=False)
    arguments = ["--target", "kind", "--drop", "label", "--drop", "amount", "--drop", "id"]
    done = fit(*arguments)
    assert "log_loss (the target has 3 classes" in done.stdout
    done = run("predict", "model.ipub", "train.csv", "-o", "bounds.csv")
    written = pd.read_csv("bounds.csv")
    clf = load("model.ipub")
    labels = clf.predict_set(train[["a", "b", "c", "d"]])
    assert (written["certain"] == (labels.sum(axis=1) == 1)).all()
    assert written["possible"][0] == ", ".join(clf.classes_[labels[0]])
    assert ((written["lower"] <= written["probability"]) & (written["probability"] <= written["upper"])).all()
    assert "the probability of the class that is predicted" in done.stdout
    assert "possible" in run("predict", "model.ipub", "train.csv").stdout


def test_a_table_of_nothing_but_incomplete_rows_is_predicted(train):
    fit(*CLASSIFY)
    train[:3].to_csv("test.csv", index=False)
    done = run("predict", "model.ipub", "test.csv")
    assert "of 3 predictions" in done.stdout
    assert "3 of 3 rows have missing cells themselves" in done.stderr


def test_without_output_the_first_rows_are_shown(train):
    fit(*CLASSIFY)
    done = run("predict", "model.ipub", "train.csv")
    shown = [line.split() for line in done.stdout.splitlines() if re.match(r" +\d+ +(yes|no) ", line)]
    assert [line[0] for line in shown] == [str(i) for i in range(1, 21)]
    assert shown[0][5] in ("yes", "no")
    assert "and 100 more rows" in done.stdout
    assert "lower and upper bound the probability of yes" in done.stdout


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "smoothed_hinge"])
def test_the_hinges_bound_the_score(train, loss):
    done = fit(*CLASSIFY, "--loss", loss, "--hinge-width", 0.25)
    assert f"Loss: {loss} (as requested)" in done.stdout
    assert load("model.ipub").hinge_width == 0.25
    run("predict", "model.ipub", "train.csv", "-o", "bounds.csv")
    bounds = pd.read_csv("bounds.csv")
    assert bounds.columns.tolist() == ["prediction", "score", "lower", "upper", "certain"]
    expected = load("model.ipub").decision_bounds(train[["a", "b", "c", "d"]][4:])
    close(bounds[["lower", "upper"]][4:], expected)


@pytest.mark.parametrize(
    ("loss", "alpha", "sentence"),
    [
        ("log_loss", 0.1, r"[1-9]\d* of 120 predictions \(\d+ %\) are certain"),
        ("hinge", 1e-8, "No prediction is certain"),
    ],
)
def test_the_summary_says_how_many_predictions_no_filling_changes(train, loss, alpha, sentence):
    done = run(
        "fit", "train.csv", "--target", "label", "--drop", "amount", "--drop", "id", "--loss", loss, "--alpha", alpha
    )
    assert re.search(f"On the training rows: {sentence}", " ".join(done.stdout.split()))


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_regression_bounds_the_prediction_and_has_no_certain(train, loss):
    fit("--target", "amount", "--drop", "id", "--drop", "label", "--loss", loss, "--huber-delta", 0.5)
    assert load("model.ipub").huber_delta == 0.5
    done = run("predict", "model.ipub", "train.csv", "-o", "bounds.csv")
    bounds = pd.read_csv("bounds.csv")
    assert bounds.columns.tolist() == ["prediction", "lower", "upper"]
    expected = load("model.ipub").predict_bounds(train[["a", "b", "c", "d"]][4:])
    close(bounds[["lower", "upper"]][4:], expected)
    assert "median width" in done.stdout


def test_predict_refuses_bad_input_in_one_sentence(train):
    fit(*CLASSIFY)
    train.rename(columns={"a": "A1", "b": "bb"}).to_csv("renamed.csv", index=False)
    train.assign(a="x").to_csv("text.csv", index=False)
    Path("cut.ipub").write_bytes(Path("model.ipub").read_bytes()[:500])
    save(BoundedRegressor().fit(np.eye(3), [1.0, 2.0, 3.0]), "nameless.ipub")
    before = sorted(os.listdir())
    for arguments, words in [
        (["none.ipub", "train.csv"], ["none.ipub", "No such file"]),
        (["train.csv", "train.csv"], ["train.csv is not an ipub model"]),
        (["cut.ipub", "train.csv"], ["cut.ipub is not an ipub model, or not a whole one"]),
        (["nameless.ipub", "train.csv"], ["without column names"]),
        (["model.ipub", "none.csv"], ["none.csv"]),
        (["model.ipub", "renamed.csv"], ["renamed.csv has no columns 'a', 'b'", "'bb' for 'b'"]),
        (["model.ipub", "text.csv"], ["'a' ('x' in row 1)", "held numbers in training"]),
        (["model.ipub", "train.csv", "-o", "bounds.xlsx"], ["bounds.xlsx", ".parquet"]),
        (["model.ipub", "train.csv", "-o", "none/bounds.csv"], ["none does not exist"]),
    ]:
        sentence = refused("predict", *arguments)
        for word in words:
            assert word in sentence
    assert sorted(os.listdir()) == before


# --- demo and the program itself


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(demo, "REPEATS", 1)


def test_demo_tells_the_story_and_saves_the_figure(quick):
    done = run("demo", "--output", "story.png")
    assert "160 values are missing:\nage 5, shape 31, margin 48, density 76." in done.stdout
    n_certain = int(re.search(r"(\d+) of 150 predictions certain", done.stdout)[1])
    n_open, n_unproved = (int(re.search(rf"(\d+) {state}:", done.stdout)[1]) for state in ("open", "unproved"))
    assert n_certain + n_open + n_unproved == 150
    assert min(n_certain, n_open) > 0
    listed = re.search(r"Open rows: ([\d,\s]+)", done.stdout)[1].split(",")
    assert len(listed) == n_open
    rows = demo_rows(done)
    assert sum(row.rstrip().endswith("certain") for row in rows) == demo.SHOWN_CERTAIN
    assert len(rows) == demo.SHOWN_CERTAIN + demo.SHOWN_OTHERS
    shown_as_open = {row.split()[0] for row in rows if row.rstrip().endswith("open")}
    assert shown_as_open <= {row.strip() for row in listed}
    probabilities = [float(row.split()[5]) for row in rows]
    assert probabilities == sorted(probabilities)
    assert re.search(r"as long as \d+ plain trainings", done.stdout)
    assert int(re.search(r"now, (\d+) more predictions are certain \(proved\)", done.stdout)[1]) > 0
    assert Path("story.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == ""


@pytest.fixture
def shorter(quick, monkeypatch):
    X, y = demo.load_mammographic_masses()
    monkeypatch.setattr(demo, "load_mammographic_masses", lambda: (X[:200], y[:200]))
    monkeypatch.setattr(demo, "TEST_ROWS", 15)


@pytest.mark.no_cover
def test_demo_is_the_same_for_the_same_seed(shorter):
    first, again, other = (demo_rows(run("demo", "--seed", seed, "--alpha", 10)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("alpha", ["0.001", "100"])
def test_demo_shows_rows_whatever_the_penalty(shorter, alpha):
    assert "of 15 predictions certain" in run("demo", "--alpha", alpha).stdout


@pytest.mark.no_cover
def test_demo_without_matplotlib_names_the_extra(shorter, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("demo")
    assert 'pip install "ipub[plots]"' in done.stdout
    assert os.listdir() == []


def test_demo_refuses_bad_input_in_one_sentence(quick):
    assert "does not exist" in refused("demo", "-o", "none/demo.png")
    assert "'alpha'" in refused("demo", "--alpha", "0")
    assert "xyz" in refused("demo", "-o", "demo.xyz")
    assert os.listdir() == []


def test_version():
    assert run("--version").stdout == f"ipub {ipub.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["predict", "--help"], ["demo", "--help"]])
def test_help(arguments):
    assert "Usage" in run(*arguments).stdout


def test_the_real_program_in_a_plain_pipe(train):
    program = Path(sys.executable).with_name("ipub")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}

    def start(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, env=environment)

    fitted = start("fit", "train.csv", *CLASSIFY)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "\x1b" not in fitted.stdout
    predicted = start("predict", "model.ipub", "train.csv")
    assert predicted.returncode == 0
    failed = start("predict", "model.ipub", "none.csv")
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert failed.stderr == "Error: none.csv: No such file or directory.\n"


def test_help_lists_what_the_library_knows():
    assert tuple(LOSSES) == options.LOSS_NAMES
    assert tuple(CERTIFICATES) == options.CERTIFICATE_NAMES
    assert options.FILLING_NAMES == FILLINGS


def test_help_loads_no_library():
    code = "import sys\nfrom ipub.app.cli import app\napp(['fit', '--help'], standalone_mode=False)\n"
    code += "assert not {'numpy', 'pyarrow', 'sklearn'} & set(sys.modules)"
    assert "--target" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_module_is_a_program_too():
    done = subprocess.run([sys.executable, "-m", "ipub.app.cli", "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("ipub ")


def test_an_input_is_never_overwritten(tmp_path):
    train = tmp_path / "train.csv"
    train.write_text("a,b,y\n1,2,no\n2,1,yes\n3,5,no\n,4,yes\n")
    before = train.read_bytes()
    model = tmp_path / "model.csv"
    for arguments in (
        ["fit", str(train), "--target", "y", "-o", str(train)],
        ["fit", str(train), "--target", "y", "-o", str(tmp_path / "." / "train.csv")],
    ):
        result = CliRunner().invoke(cli.app, arguments)
        assert result.exit_code == 2
        assert "would be lost" in " ".join(result.output.split())
    assert CliRunner().invoke(cli.app, ["fit", str(train), "--target", "y", "-o", str(model)]).exit_code == 0
    for goal in (train, model):
        kept = goal.read_bytes()
        result = CliRunner().invoke(cli.app, ["predict", str(model), str(train), "-o", str(goal)])
        assert result.exit_code == 2
        assert goal.read_bytes() == kept
    assert train.read_bytes() == before


def test_a_remedy_is_an_option_of_the_command_line(tmp_path):
    train = tmp_path / "train.csv"
    train.write_text("a,b,y\n1,,no\n2,,yes\n3,,no\n")
    result = CliRunner().invoke(cli.app, ["fit", str(train), "--target", "y", "-o", str(tmp_path / "m.ipub")])
    assert result.exit_code == 2
    assert "--ranges" in result.output


def test_rows_are_counted_from_one_whoever_finds_the_fault(tmp_path):
    train = tmp_path / "train.csv"
    for cell, code in (("inf", 2), ("1e200", 2), ("red", 0)):
        train.write_text(f"a,b,y\n1,2,no\n{cell},1,yes\n3,5,no\n")
        result = CliRunner().invoke(cli.app, ["fit", str(train), "--target", "y", "-o", str(tmp_path / "m.ipub")])
        assert result.exit_code == code
        assert "row 2" in " ".join(result.output.split())


def test_a_category_that_looks_like_a_number_in_the_test_file_stays_text(table):
    table["stage"] = np.where(np.arange(120) % 4 == 0, "3a", (1 + np.arange(120) % 2).astype(str))
    table.to_csv("train.csv", index=False)
    fit(*CLASSIFY, "-o", "model.ipub")
    table.assign(stage=" 2").head(5).to_csv("test.csv", index=False)
    run("predict", "model.ipub", "test.csv", "-o", "bounds.csv")
    assert len(pd.read_csv("bounds.csv")) == 5


def test_a_dictionary_in_a_parquet_file_declares_levels(table):
    table = table.drop(columns=["label", "id"])
    table["site"] = pd.Categorical([*["a", "b"] * 59, None, None], categories=["b", "a", "c"])
    table.to_parquet("t.parquet")
    done = run("fit", "t.parquet", "--target", "amount", "--alpha", "0.1")
    assert re.search(r"site +2 +any +category", done.stdout)
    model = load("model.ipub")
    assert model.encoder_.levels[-1] == ("a", "b", "c")
    expected = BoundedRegressor(scale="standard").fit(table.drop(columns="amount"), table["amount"])
    np.testing.assert_array_equal(model.coef_bounds_, expected.coef_bounds_)
    table.assign(site="c").to_csv("test.csv", index=False)
    run("predict", "model.ipub", "test.csv", "-o", "bounds.csv")
    table.to_csv("t.csv", index=False)
    run("fit", "t.csv", "--target", "amount")
    assert load("model.ipub").encoder_.levels[-1] == ("a", "b")
