"""`ipub ranges` drafts what `ipub fit --ranges` reads; `ipub path` shows what each penalty gives."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub.app import cli
from ipub.app.files.tables import read_ranges


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 80).astype(float), "body weight": rng.uniform(50, 90, 80)})
    frame["sort"] = rng.choice(["a", "b"], 80)
    frame["y"] = np.where(frame["age"] + rng.normal(0, 8, 80) > 40, "old", "young")
    frame.loc[:4, "age"] = -999.0
    frame.loc[10:15, "body weight"] = np.nan
    frame.to_csv("train.csv", index=False)
    return frame


def ran(*arguments, code=0):
    done = CliRunner().invoke(cli.app, list(arguments))
    assert done.exit_code == code, done.output
    return done


def test_a_draft_is_read_by_fit_and_leaves_marks_out(table):
    done = ran("ranges", "train.csv", "--target", "y", "-o", "ranges.toml")
    assert "-999 in 5 rows" in " ".join(done.output.split())
    found = read_ranges("ranges.toml", ["age", "body weight", "sort"])
    weights = table["body weight"]
    assert found == {"body weight": (weights.min(), weights.max())}
    assert "# age = [20, " in Path("ranges.toml").read_text(encoding="utf-8")
    ran("fit", "train.csv", "--target", "y", "--ranges", "ranges.toml", "--alpha", "0.1", "--json")


def test_the_command_that_comes_next_repeats_the_options(table):
    table.to_csv("semi.csv", index=False, sep=";")
    given = ["--target", "y", "--drop", "sort", "--drop", "age", "--delimiter", ";", "-o", "ranges.toml"]
    (following,) = [line for line in ran("ranges", "semi.csv", *given).stdout.splitlines() if "ipub fit" in line]
    words = shlex.split(following)
    assert words[words.index("--ranges") + 1] == "ranges.toml"
    assert [words[k + 1] for k, word in enumerate(words) if word == "--drop"] == ["sort", "age"]
    assert words[-2:] == ["--delimiter", ";"]
    assert "--drop sort --drop age" in Path("ranges.toml").read_text(encoding="utf-8")
    ran(*words[1:], "--alpha", "0.1", "--json")


def test_a_draft_is_printed_as_toml_and_as_json():
    text = ran("ranges", "train.csv", "--drop", "y").stdout
    assert set(tomllib.loads(text)) == {"body weight"}
    columns = {each["column"]: each for each in json.loads(ran("ranges", "train.csv", "--json").stdout)["columns"]}
    assert columns["age"]["kind"] == "whole numbers"
    assert columns["age"]["marks"][0]["value"] == -999.0
    assert columns["sort"] == {"column": "sort", "missing": 0, "kind": "categories", "levels": 2}


def test_a_path_is_shown_written_and_drawn():
    common = ["path", "train.csv", "--target", "y", "--alphas", "3"]
    done = ran(*common, "-o", "path.csv", "--figure", "path.png")
    assert "ipub fit train.csv --target y --alpha" in done.output
    written = pd.read_csv("path.csv")
    assert list(written) == ["alpha", "loss", "accuracy", "guaranteed_score", "certain", "width"]
    assert (written["guaranteed_score"] <= written["certain"]).all()
    assert Path("path.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(ran(*common, "--json").stdout)["alpha"] == pytest.approx(written["alpha"])


def test_no_model_that_predicts_one_class_alone_is_recommended(table):
    common = ["path", "train.csv", "--target", "y"]
    # Nearly all are young: the strongest penalties predict that everywhere, and most often right.
    table["y"] = np.where(table["body weight"].rank() > 70, "old", "young")
    table.assign(noise=np.arange(80) % 7).drop(columns="body weight").to_csv("train.csv", index=False)
    found = json.loads(ran(*common, "--alphas", "6", "--json").stdout)
    output = " ".join(ran(*common, "--alphas", "6").output.split())
    least = float(re.search(r"From alpha (\S+) on every row", output)[1])
    assert found["alpha"][int(np.argmax(found["guaranteed_score"]))] >= least * 0.999
    offered = re.search(r"--alpha (\S+)", output)
    assert "where not every row is" in output if offered is None else float(offered[1]) < least


def test_the_command_of_a_path_repeats_its_options():
    given = "--loss squared_hinge --drop sort"
    output = ran("path", "train.csv", "--target", "y", "--alphas", "4", *given.split()).output
    assert output.strip().endswith(given)


def test_a_path_of_other_rows_needs_no_labels_of_theirs(table):
    table.drop(columns="y").head(9).to_csv("test.csv", index=False)
    done = ran("path", "train.csv", "--target", "y", "--test", "test.csv", "--alphas", "2")
    assert "no column 'y'" in " ".join(done.output.split())


def test_mistakes_are_named():
    assert "Did you mean 'age'" in ran("ranges", "train.csv", "--target", "agee", code=2).output
    assert "suffix" in ran("path", "train.csv", "--target", "y", "--figure", "path.xyz", code=2).output
