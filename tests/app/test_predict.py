"""`ipub predict`: which rows, in which order, with which names; three states; pipes and JSON."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub.app import cli
from ipub.app.files.modelfile import load

FEATURES = ["a", "b"]


def table(n=60):
    """Two columns of which one has holes, labels, a number, and a name for each row."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(n, 2)), columns=FEATURES)
    frame["y"] = np.where(frame["a"] + 0.2 * frame["b"] > 0, "yes", "no")
    frame["amount"] = frame["a"]
    frame["id"] = [f"row {k}" for k in range(n)]
    frame.loc[:20, "b"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("predict")
    table().to_csv(path / "train.csv", index=False)
    common = ["--drop", "id", "--alpha", "0.1"]
    for target, other in (("y", "amount"), ("amount", "y")):
        arguments = ["fit", "train.csv", "--target", target, "--drop", other, *common, "-o", f"{target}.ipub"]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path)
            done = CliRunner().invoke(cli.app, arguments)
        assert done.exit_code == 0, done.output
    return path


@pytest.fixture(autouse=True)
def in_it(folder, monkeypatch):
    monkeypatch.chdir(folder)


def predicted(*arguments, model="y.ipub", source="train.csv", piped=None, code=0):
    done = CliRunner().invoke(cli.app, ["predict", model, source, *arguments], input=piped)
    assert done.exit_code == code, done.output
    return done


def read(*arguments, **options):
    """Return the table that is written."""
    predicted(*arguments, "-o", "out.csv", **options)
    return pd.read_csv("out.csv")


def test_rows_keep_their_names_and_order_unless_told_otherwise():
    everything = read("--id", "id")
    assert everything.columns.tolist() == ["id", "prediction", "probability", "lower", "upper", "certain"]
    assert everything["id"].tolist() == table()["id"].tolist()
    ordered = read("--id", "id", "--sort", "width")
    widths = (ordered["upper"] - ordered["lower"]).to_numpy()
    assert (np.diff(widths) <= 0.0).all()
    pd.testing.assert_frame_equal(
        ordered.sort_values("id").reset_index(drop=True), everything.sort_values("id").reset_index(drop=True)
    )


def test_only_open_leaves_out_what_is_certain_and_numbers_the_rows():
    everything, is_open = read(), read("--only-open")
    assert 0 < len(is_open) < len(everything)
    assert not is_open["certain"].any()
    assert (is_open["row"] - 1).tolist() == np.flatnonzero(~everything["certain"]).tolist()


def test_status_tells_three_states_apart_as_the_library_does():
    written = read("--status")
    again = load("y.ipub")
    frame = table()
    again.fit(frame[FEATURES], frame["y"])
    assert written["status"].tolist() == again.predict_status(frame[FEATURES]).tolist()
    assert {"certain", "open"} <= set(written["status"])
    done = predicted("--status")
    counts = written["status"].value_counts()
    assert f"{counts['certain']} certain, {counts['open']} open (two fillings" in done.stdout


def test_a_changed_training_table_is_noticed():
    table().assign(a=0.5).to_csv("other.csv", index=False)
    assert "does not give the model" in predicted("--status", "--train", "other.csv", code=2).stderr


def test_a_table_goes_through_pipes():
    text = table().to_csv(index=False)
    piped = predicted("-o", "-", source="-", piped=text)
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(piped.stdout)), read())
    packed = io.BytesIO()
    table().to_parquet(packed)
    assert predicted("-o", "-", source="-", piped=packed.getvalue()).stdout == piped.stdout


def test_json_says_what_the_screen_says():
    found = json.loads(predicted("--json", "--only-open").stdout)
    assert found["rows"] == 60
    assert found["rows"] - found["certain"] == len(found["predictions"])
    assert set(found["predictions"][0]) == {"row", "prediction", "probability", "lower", "upper", "certain"}
    assert found["promise"].startswith("Always: ")


@pytest.mark.parametrize(
    ("arguments", "model", "words"),
    [
        (["--only-open"], "amount.ipub", "--only-open is about classes, and this is a regression"),
        (["--status"], "amount.ipub", "--status is about classes, and this is a regression"),
        (["--id", "idd"], "y.ipub", "no column 'idd'. Did you mean 'id'?"),
        (["--sort", "lenght"], "y.ipub", "--sort lenght is not known: use row, width."),
    ],
)
def test_what_cannot_be_chosen_is_said(arguments, model, words):
    assert words in predicted(*arguments, model=model, code=2).stderr


def test_nothing_through_standard_input_is_said(monkeypatch):
    assert "is empty" in predicted(source="-", piped="", code=2).stderr


def test_a_table_is_read_as_the_training_table_was(tmp_path):
    frame = table().fillna({"b": -999.0})
    frame.to_csv("marked.csv", index=False)
    run = CliRunner().invoke
    arguments = ["--target", "y", "--drop", "id", "--drop", "amount", "--alpha", "0.1", "--missing", "-999"]
    assert run(cli.app, ["fit", "marked.csv", *arguments, "-o", "marked.ipub"]).exit_code == 0
    pd.testing.assert_frame_equal(read(model="marked.ipub", source="marked.csv"), read())
