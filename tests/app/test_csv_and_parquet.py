"""One table gives one model, whether it is a CSV or a Parquet file."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub.app import cli
from ipub.app.files.modelfile import load


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with columns of every kind, written twice."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n).round(6),
            "whole": rng.integers(0, 50, size=n),
            "whole with missing": pd.array(rng.integers(0, 9, size=n), dtype="Int64"),
            "flag": rng.random(n) < 0.4,
            "flag with missing": pd.array(rng.random(n) < 0.4, dtype="boolean"),
            "text": rng.choice(["red", "blue, pale", 'a "b"', "ö"], size=n),
            "category": pd.Categorical(rng.choice(["low", "mid", "high"], size=n)),
        }
    )
    frame["label"] = np.where(frame["number"] + 0.1 * frame["whole"] + rng.normal(size=n) > 2.5, "yes", "no")
    for name in ("number", "whole with missing", "flag with missing", "text", "category"):
        frame.loc[rng.random(n) < 0.05, name] = None
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    return frame


def run(*arguments):
    done = CliRunner().invoke(cli.app, [*arguments])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize("target", ["label", "number", "flag"])
def test_the_model_and_its_predictions_are_the_same(table, target):
    table.dropna(subset=[target]).to_csv("t.csv", index=False)
    table.dropna(subset=[target]).to_parquet("t.parquet")
    for kind in ("csv", "parquet"):
        run("fit", f"t.{kind}", "--target", target, "--alpha", "1", "-o", f"{kind}.ipub", "--json")
        run("predict", f"{kind}.ipub", f"t.{kind}", "-o", f"of_{kind}.csv")
    models = [load(f"{kind}.ipub") for kind in ("csv", "parquet")]
    assert [*models[0].feature_names_in_] == [*models[1].feature_names_in_]
    for name in ("coef_", "intercept_", "coef_bounds_", "intercept_bounds_"):
        np.testing.assert_array_equal(*(getattr(model, name) for model in models), err_msg=name)
    written = [pd.read_csv(f"of_{kind}.csv", dtype=str) for kind in ("csv", "parquet")]
    pd.testing.assert_frame_equal(*written)
