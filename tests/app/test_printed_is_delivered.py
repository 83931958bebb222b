"""What `ipub fit` prints of its training rows is what `ipub predict` prints of the same rows."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub.app import cli, predictions
from ipub.datasets import load_mammographic_masses


def masses():
    X, y = load_mammographic_masses()
    return pd.DataFrame(X, columns=list("abcd")).assign(target=y)


def with_categories():
    rng = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(2), columns=list("abc"))
    frame["kind"] = rng.choice(["red", "green", "blue"], n)
    score = frame["a"] - frame["b"] + (frame["kind"] == "red") + 0.5 * rng.normal(size=n)
    frame.loc[rng.choice(n, 8, replace=False), "a"] = np.nan
    frame.loc[rng.choice(n, 8, replace=False), "kind"] = None
    return frame.assign(target=np.where(score > 0.2, "yes", "no"))


@pytest.mark.parametrize("certificate", ["tight", "pointwise"])
@pytest.mark.parametrize("option", [[], ["--without-rows"]], ids=["with rows", "without rows"])
@pytest.mark.parametrize("make", [masses, with_categories])
def test_fit_prints_the_count_that_predict_prints(make, option, certificate, tmp_path, monkeypatch):
    # Time may end the summary of a fit earlier: then it says on how many rows it is.
    monkeypatch.setattr(predictions, "LEAST_SECONDS", 1e6)
    train, model = str(tmp_path / "train.csv"), str(tmp_path / "m.ipub")
    make().to_csv(train, index=False)
    arguments = ["fit", train, "--target", "target", "-o", model, "--alpha", "0.1", "--certificate", certificate]
    found = []
    for command in ([*arguments, *option], ["predict", model, train, "-o", str(tmp_path / "bounds.csv")]):
        done = CliRunner().invoke(cli.app, command)
        assert done.exit_code == 0, done.output
        found += re.findall(r"[0-9]+ of [0-9]+ predictions \([0-9]+ %\) are certain", done.stdout)
    assert len(found) == 2
    assert found[0] == found[1]
