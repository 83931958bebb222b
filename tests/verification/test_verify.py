"""`ipub.verify`: every kind of table and promise, what it says, and that it shares nothing with what proves bounds."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IntervalMatrix, Intervals, IpubError
from ipub.app import cli
from ipub.losses import LOSSES
from ipub.verification import ball_proofs
from ipub.verification.plain_losses import plain_loss
from ipub.verification.plain_training import FilledTable, Objective, train

PACKAGE = Path(ipub.__file__).parent
FOLDER = PACKAGE / "verification"

N_ROWS = 40


def table_and_score():
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(N_ROWS, 2))
    frame = pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": rng.choice(["u", "v", "w"], N_ROWS)})
    score = frame["a"] + frame["b"] + (frame["c"] == "u") + 0.7 * rng.normal(size=N_ROWS)
    frame.loc[:4, "a"] = frame.loc[3:6, "b"] = np.nan
    frame.loc[8:9, "c"] = None
    return frame, score.to_numpy()


FRAME, SCORE = table_and_score()
CLASSES = np.where(SCORE > 0.5, "yes", "no")
THREE = np.digitize(SCORE, [-0.3, 1.0])
NUMBERS = FRAME[["a", "b"]].to_numpy()
ROWS = FRAME.iloc[[4, 8, 20, 21]].reset_index(drop=True)
UNKNOWN = np.array([None, None, *CLASSES[2:]], dtype=object)
LOWER, UPPER = np.where(np.isnan(NUMBERS), -1.0, NUMBERS), np.where(np.isnan(NUMBERS), 1.5, NUMBERS)
WEIGHT = np.arange(N_ROWS) % 3

CASES = {
    "categories": (BoundedClassifier(scale="standard"), FRAME, CLASSES, {}),
    "three classes": (BoundedClassifier(scale="minmax", l1_ratio=0.3), FRAME, THREE, {}),
    "weights": (BoundedClassifier(class_weight="balanced"), FRAME, CLASSES, {"sample_weight": WEIGHT}),
    "wrong labels": (BoundedClassifier(max_label_errors=2), FRAME, CLASSES, {}),
    "unknown labels": (BoundedClassifier(unknown_labels=True), FRAME, UNKNOWN, {}),
    "targets": (BoundedRegressor("huber"), FRAME, None, {"y_lower": SCORE - 0.1, "y_upper": SCORE + 0.2}),
    "precision": (BoundedRegressor(intervals=Intervals("observed", precision=0.05)), FRAME, SCORE, {}),
    "bounds of cells": (BoundedRegressor(), NUMBERS, SCORE, {"X_lower": LOWER, "X_upper": UPPER}),
    "matrix": (BoundedRegressor(), IntervalMatrix.from_bounds(LOWER, UPPER), SCORE, {}),
    "hinge": (BoundedClassifier("hinge"), NUMBERS, CLASSES, {}),
    "smoothed hinge": (BoundedClassifier("smoothed_hinge", hinge_width=0.3), NUMBERS, CLASSES, {}),
    "squared hinge": (BoundedClassifier("squared_hinge", fit_intercept=False), NUMBERS, CLASSES, {}),
    "share": (BoundedClassifier(uncertainty=Budget(share=0.2)), FRAME, CLASSES, {}),
    "filled": (BoundedRegressor(uncertainty=Budget(cells=3, filling="mean", wrong_cells=2)), FRAME, SCORE, {}),
    "wrong by": (BoundedRegressor(uncertainty=Budget(0, wrong_cells=2, precision={"a": 0.5})), FRAME, SCORE, {}),
    "a bit of all": (BoundedClassifier(uncertainty=Budget(1, labels=1, rows=1)), FRAME, CLASSES, {}),
    "draws": (BoundedClassifier(uncertainty=Draws(n_draws=19, random_state=0)), FRAME, CLASSES, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_no_bound_is_violated(name):
    model, X, y, given = CASES[name]
    rows = ROWS if X is FRAME else NUMBERS[[4, 20]]
    model.fit(X, y, **given)
    n = 20 if name == "hinge" else 60
    found = ipub.verify(model, X, y, rows, seconds=60.0, retrainings=n, **given)
    assert found.ok, str(found)
    assert found.n_retrainings >= n
    assert (found.coverage is None) == (name != "draws")


def test_intervals_of_single_cells_are_those_of_the_model():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(130, 2))
    X[:, 1] += X[:, 0]
    y = X.sum(axis=1) + rng.normal(size=130)
    X[:8, 1] = np.nan
    model = BoundedRegressor(intervals="conditional").fit(X, y)
    assert model.interval_report_.rules[1] == "conditional"
    assert ipub.verify(model, X, y, X[[0, 20]], retrainings=40).ok


def test_models_of_scikit_learn_are_verified():
    filled = np.where(np.isnan(NUMBERS), 0.0, NUMBERS)
    certified = ipub.certify(Ridge(3.0).fit(filled, SCORE), NUMBERS, SCORE)
    assert ipub.verify(certified, NUMBERS, SCORE, filled[:3], retrainings=40).ok


@pytest.mark.parametrize("kappa", [0.0, 0.02])
@pytest.mark.parametrize("has_intercept", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_the_plain_solver_finds_the_model_of_a_fit(name, has_intercept, kappa):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 3))
    is_classes = LOSSES[name].task == "classification"
    y = np.where(X[:, 0] + rng.normal(size=30) > 0.0, 1.0, -1.0) if is_classes else X[:, 0] + rng.normal(size=30)
    kind = BoundedClassifier if is_classes else BoundedRegressor
    fitted = kind(name, alpha=0.1 + kappa, l1_ratio=kappa / (0.1 + kappa), fit_intercept=has_intercept, tol=1e-9)
    fitted.fit(X, y)
    table = np.column_stack([X, np.ones(30)]) if has_intercept else X
    objective = Objective(plain_loss(name, 0.5, 1.0), 0.1, kappa, has_intercept)
    model = train(FilledTable(table, y, np.full(30, 1 / 30)), objective)
    assert model.error < 1e-5
    assert np.abs(model.w[:3] - np.ravel(fitted.coef_)).max() <= model.error + 2e-5


def test_an_error_bound_holds_for_a_model_that_is_not_trained():
    """Of a model of any quality: the distance from the exact one is at most what is said."""
    from ipub.verification import plain_training

    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=(30, 3)), np.ones(30)])
    y = np.where(X[:, 0] + rng.normal(size=30) > 0.0, 1.0, -1.0)
    table = FilledTable(X, y, np.full(30, 1 / 30))
    for name in ("log_loss", "hinge", "smoothed_hinge"):
        objective = Objective(plain_loss(name, 0.5, 1.0), 0.1, 0.01, True)
        exact = train(table, objective)
        for _ in range(20):
            w = exact.w + rng.normal(size=4) * 10.0 ** rng.uniform(-6, 1)
            slopes = objective.loss.derivative(y, X @ w)
            rough = plain_training._with_error(table, objective, w, slopes)
            assert np.linalg.norm(w[:3] - exact.w[:3]) <= rough.error + exact.error
            assert exact.error < rough.error


@pytest.mark.parametrize("name", ["categories", "three classes", "unknown labels", "targets", "hinge", "filled"])
def test_another_table_is_refused(name):
    model, X, y, given = CASES[name]
    model.fit(X, y, **given)
    fewer = {key: value[:30] for key, value in given.items()}
    with pytest.raises(IpubError, match="do not give the model: its weights differ"):
        ipub.verify(model, X[:30], None if y is None else y[:30], X[:2], retrainings=1, **fewer)


def test_a_target_that_is_moved_as_a_whole_is_another_one():
    model = BoundedRegressor(alpha=0.1).fit(NUMBERS, SCORE)
    with pytest.raises(IpubError, match="its weights differ"):
        ipub.verify(model, NUMBERS, SCORE + 0.1, NUMBERS[:2], retrainings=1)


@pytest.mark.parametrize("uncertainty", ["worst", Budget(2)])
def test_a_model_that_was_trained_on_another_filling_is_verified(uncertainty):
    """Its weights are not those of the middle of the intervals, and its duality gap there says by how much."""
    trained = make_pipeline(SimpleImputer(strategy="constant", fill_value=1.0), Ridge(3.0)).fit(NUMBERS, SCORE)
    certified = ipub.certify(trained, NUMBERS, SCORE, uncertainty=uncertainty, intervals=[(-2.0, 2.0)] * 2)
    assert ipub.verify(certified, NUMBERS, SCORE, NUMBERS[20:22], retrainings=40).n_retrainings >= 40


def test_bounds_as_narrow_as_rounding_are_no_share_of_a_width():
    filled = np.where(np.isnan(NUMBERS), 0.0, NUMBERS)
    model = BoundedRegressor(alpha=0.1).fit(filled, SCORE)
    found = ipub.verify(model, filled, SCORE, filled[:3], retrainings=40)
    assert found.ok
    assert found.n_narrow == 3
    assert found.narrow_error < 1e-9
    assert "Closest" not in str(found)
    assert "bounds of 3 rows are as narrow as rounding: retrained models agree with them to" in str(found)
    open_too = ipub.verify(model, filled, SCORE, [*filled[:3], [np.nan, 0.0]], retrainings=40)
    assert open_too.n_narrow == 3
    assert open_too.closest >= 0.0
    assert 0.9 < open_too.median_reached <= 1.0


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {name for name in found if name.startswith("ipub")}


READING = {"ipub.errors", "ipub.progress_bars", "ipub.promises", "ipub.promises.draws", "ipub.tables.interval_matrix"}
"""What the verifier takes from the package beside its own files: messages, parameters, and the table's type."""
IMPUTERS = {"ipub.training.imputing.holes", "ipub.training.imputing.samplers"}
"""The law of draws is what these modules do."""


def test_the_verifier_shares_nothing_with_what_proves_bounds():
    for path in FOLDER.glob("*.py"):
        allowed = READING | (IMPUTERS if path.stem == "coverage" else set())
        others = {name for name in imports_of(path) if not name.startswith("ipub.verification")}
        assert others <= allowed, (path, others - allowed)


def test_what_retrains_loads_no_other_module_of_the_package():
    code = (
        "import sys, ipub.verification.plain_losses, ipub.verification.plain_training\n"
        "loaded = [name for name in sys.modules if name.startswith('ipub.') and 'verification' not in name]\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def small_model():
    table = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5], [1.5, -0.5]])
    y = np.array([1.0, 2.0, 3.0, 4.0, 2.5])
    return BoundedRegressor(alpha=1.0, intervals={1: (0.5, 1.5)}).fit(table, y), table, y


def test_small_tables_are_proved_for_every_filling():
    model, table, y = small_model()
    found = ipub.verify(model, table, y, [[1.5, 1.0], [0.0, 2.0]], seconds=600.0, retrainings=20)
    assert found.n_proved == found.n_rows == 2
    assert "of 2 of 2 rows, that no filling at all leaves the bounds" in str(found)


def test_without_python_flint_the_record_names_the_extra(monkeypatch):
    monkeypatch.setattr(ball_proofs, "find_spec", lambda _: None)
    model, table, y = small_model()
    found = ipub.verify(model, table, y, [[1.5, 1.0]], retrainings=20)
    assert found.ok
    assert found.n_proved is None
    assert "ipub[verify]" in str(found)


def test_the_same_seed_checks_the_same():
    model, table, y = small_model()
    first, second = (ipub.verify(model, table, y, [[1.5, 1.0]], retrainings=30, random_state=3) for _ in range(2))
    known = [{**each.as_dict(), "seconds": 0.0} for each in (first, second)]
    assert known[0] == known[1]
    other = ipub.verify(model, table, y, [[1.5, 1.0]], retrainings=30, random_state=4)
    assert other.digest == first.digest
    assert other.seed != first.seed


def test_what_cannot_be_verified_is_said(tmp_path):
    _, table, y = small_model()
    with pytest.raises(IpubError, match="takes a fitted"):
        ipub.verify(Ridge().fit(table[:1], y[:1]), table, y, table)
    with pytest.raises(IpubError, match="nothing to verify"):
        ipub.verify(BoundedRegressor(certificate=None).fit(table, y), table, y, table)
    filled = np.nan_to_num(table, nan=1.0)
    around = BoundedRegressor(alpha=1.0, intervals={1: (0.5, 1.5)}, uncertainty=Budget(1, filling=filled))
    around.fit(table, y).save(tmp_path / "model.ipub")
    assert ipub.verify(around, table, y, filled, retrainings=20).ok
    with pytest.raises(IpubError, match="filling of the budget"):
        ipub.verify(ipub.load(tmp_path / "model.ipub"), table, y, filled)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.assign(y=CLASSES).to_csv("train.csv", index=False)
    ROWS.to_csv("test.csv", index=False)
    assert ran("fit", "train.csv", "--target", "y", "--alpha", "0.1", "--json").exit_code == 0


def ran(*arguments):
    return CliRunner().invoke(cli.app, list(arguments))


VERIFY = ["verify", "model.ipub", "train.csv", "test.csv", "--seconds", "0.5"]


@pytest.mark.usefixtures("files")
def test_the_command_prints_and_writes_a_record():
    done = ran(*VERIFY, "-o", "record.txt")
    assert done.exit_code == 0, done.output
    assert "Violations: 0" in done.output
    assert "Violations: 0" in Path("record.txt").read_text(encoding="utf-8")
    done = ran(*VERIFY, "-o", "record.json", "--json")
    assert json.loads(done.stdout)["ok"] is True
    assert json.loads(Path("record.json").read_text(encoding="utf-8"))["n_violations"] == 0


@pytest.mark.usefixtures("files")
def test_the_command_ends_with_1_if_a_bound_is_violated(monkeypatch):
    bounds = BoundedClassifier.decision_bounds
    monkeypatch.setattr(BoundedClassifier, "decision_bounds", lambda model, rows: bounds(model, rows) + 1.0)
    done = ran(*VERIFY)
    assert done.exit_code == 1
    assert "Violations: 0" not in done.output


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("other", [FRAME.assign(y=CLASSES)[:30], FRAME.assign(y=CLASSES[::-1])])
def test_the_command_says_that_a_table_is_another_one(other):
    other.to_csv("train.csv", index=False)
    done = ran(*VERIFY)
    assert done.exit_code == 2
    assert "train.csv does not give the model of model.ipub: its weights differ" in " ".join(done.output.split())


@pytest.mark.usefixtures("files")
def test_mistakes_of_the_command_are_named():
    FRAME.assign(z=CLASSES).to_csv("train.csv", index=False)
    done = ran(*VERIFY)
    assert done.exit_code == 2
    assert "'y'" in done.output


def test_a_class_that_the_model_does_not_know_is_named():
    X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]])
    model = ipub.BoundedClassifier(alpha=1.0, intervals={1: (0.5, 1.5)}).fit(X, [0, 0, 1, 1])
    with pytest.raises(ipub.IpubError, match="y has the class 7, which the model does not know"):
        ipub.verify(model, X, [0, 0, 1, 7], X[:1], retrainings=5)
