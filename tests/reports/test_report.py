"""What a report says is what the model says; every kind of model and table has one, and nothing is lost."""

import errno
import json
import os
import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from markdown_it import MarkdownIt

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IpubError, make_bounded_pipeline
from ipub.app.files.atomic import FileError
from ipub.reports.rendering import escape_markdown
from ipub.reports.sections.settings import digest
from ipub.reports.words import text
from support.reports import HOSTILE, hostile_report, small_model, small_table

KEYS = {
    "schema",
    "schema_version",
    "title",
    "question",
    "headline",
    "table",
    "departures",
    "predictions",
    "influence",
    "plan",
    "metrics",
    "shifts",
    "rows_in_full",
    "settings",
}


@pytest.fixture(scope="module")
def fitted():
    return small_model()


@pytest.fixture(scope="module")
def made(fitted):
    clf, X, y = fitted
    return clf.report(X, y, reasons={"age": "not asked"})


def checked(report):
    """Return a summary after what holds for all of them: its keys, JSON without NaN, a page and Markdown."""
    assert report.summary.keys() == KEYS

    def refuse(name):
        raise AssertionError(name)

    found = json.loads(report.json(), parse_constant=refuse)
    assert (found["schema"], found["schema_version"]) == ("ipub.report", 1)
    page = report.html()
    assert page.startswith("<!doctype html>")
    assert len(page.encode()) < 500_000
    assert report.markdown().startswith("# ")
    assert report.summary["headline"]["sentence"] in repr(report)
    return found


def test_counts_bounds_and_promise_are_those_of_the_model(fitted, made):
    clf, X, y = fitted
    found = checked(made)
    status = clf.predict_status(X)
    assert found["predictions"]["status"] == status.tolist()
    counts = {name: int((status == name).sum()) for name in ("certain", "open", "unproved")}
    assert found["headline"]["counts"] == counts
    assert f"Of 40 predictions {counts['certain']} are certain (proved), {counts['open']} open" in made.html()
    np.testing.assert_array_equal(found["predictions"]["lower"], clf.predict_proba_bounds(X)[:, 0])
    np.testing.assert_array_equal(found["predictions"]["value"], clf.predict_proba(X)[:, 1])
    assert found["headline"]["promise"] == clf.certificate_.promise
    assert "not a confidence interval" in found["headline"]["not_confidence"]
    assert "need not change" in found["headline"]["converse"]
    assert found["predictions"]["actual"] == list(y)


def test_every_bound_that_is_shown_is_rounded_outward(made):
    from ipub.reports.compact import compact_rows

    found = made.summary["predictions"]
    shown = {row["row"]: [float(each) for each in row["numbers"]] for row in compact_rows(made.summary)["rows"]}
    assert len(shown) == 40
    for label, low, high in zip(found["row"], found["lower"], found["upper"], strict=True):
        assert shown[label][1] <= low
        assert shown[label][2] >= high


def test_the_table_says_what_is_missing_and_assumed(fitted, made):
    clf, _, _ = fitted
    X, _ = small_table()
    columns = {column["name"]: column for column in made.summary["table"]["columns"]}
    for name in X:
        assert columns[name]["missing"] == X[:100][name].isna().sum()
    assert columns["age"]["assumed"] == clf.hole_ranges_[0].tolist()
    assert columns["age"]["observed"] == [X[:100]["age"].min(), X[:100]["age"].max()]
    assert columns["age"]["reason"] == "not asked"
    assert columns["site"]["levels"] == ["east", "north", "south"]


def test_training_rows_are_called_by_their_index_or_position():
    X, y = small_table()
    numbers = X[["age", "weight"]].set_index(np.arange(140) + 1000)
    for table, said, first in ((numbers, "labels of its index", 1000), (numbers.to_numpy(), "counted from 0", 0)):
        found = BoundedClassifier(alpha=0.03).fit(table[:100], y[:100]).report(table[100:])
        assert said in found.summary["table"]["counting"]
        rows = [int(each["row"]) - first for each in found.summary["influence"]["cells"]]
        assert rows
        assert all(0 <= row < 100 and numbers[:100].iloc[row].isna().any() for row in rows)


def test_assumed_intervals_have_few_digits():
    X, y = small_table()
    ranges = {"age": (0.6, 3.7), "weight": (-2.615, 2.615)}  # their middles and half-widths are no such numbers
    made = BoundedClassifier(alpha=0.03, intervals=ranges).fit(X[:100], y[:100]).report(X[100:])
    assert "0.6 to 3.7<" in made.html()
    assert "0.6 to 3.7 " in made.markdown()


def test_shares_of_the_main_figure_come_from_proved_and_found_numbers(fitted, made):
    clf, X, _ = fitted
    found = made.summary["departures"]
    certain = np.array(made.summary["predictions"]["status"]) == "certain"
    assert found["rows"] == list(range(40))
    assert np.isinf(np.array(found["at_least"])[certain]).all()
    points = clf.tipping_points(X[~certain]).rows
    assert np.array(found["at_least"])[~certain].tolist() == points["at_least"].tolist()
    assert np.array(found["at_most"])[~certain].tolist() == points["at_most"].tolist()
    total = np.sum([found["shares"][name] for name in found["shares"]], axis=0)
    np.testing.assert_allclose(total, 1.0)
    assert found["shares"]["certain"][-1] == pytest.approx(certain.mean())


def test_rows_in_full_are_the_ones_that_are_not_certain(made):
    found = made.summary["rows_in_full"]["rows"]
    assert {row["number"] for row in found} == set(
        np.flatnonzero(np.array(made.summary["predictions"]["status"]) != "certain").tolist()
    )
    assert all(row["lower"] <= row["attained"][0] <= row["attained"][1] <= row["upper"] for row in found)


def test_the_filling_of_an_open_row_is_the_one_that_explains_it(fitted, made):
    clf, X, _ = fitted
    for row in made.summary["rows_in_full"]["rows"][:3]:
        why = clf.explain(X[row["number"] : row["number"] + 1])
        assert row["n_changes"] == len(why.changes)
        assert [each["value"] for each in row["changes"]] == [text(each.value) for each in why.changed[:10]]
        assert not any(sentence.endswith(":") for sentence in row["sentences"])


def test_what_matters_is_what_influence_says(fitted, made):
    clf, X, _ = fitted
    found = clf.influence(X, by="column")
    lines = made.summary["influence"]["columns"]
    assert [line["column"] for line in lines] == found["column"].tolist()
    np.testing.assert_allclose([line["upper"] for line in lines], found["upper"])
    assert sum(line["share"] for line in lines) == pytest.approx(1.0)
    assert all(0.0 <= line["at_least"] <= line["at_most"] <= 1.0 for line in lines)


def test_what_to_find_out_first_is_the_measurement_plan(fitted, made):
    clf, X, _ = fitted
    plan, found = clf.measurement_plan(X), made.summary["plan"]
    for name, column in (("n_known", "n_cells"), ("certain_at_least",) * 2, ("certain_if_as_filled",) * 2):
        assert found[name] == plan.curve[column].tolist()
    assert [each["column"] for each in found["values"]] == plan.cells["column"].tolist()[:12]


def test_the_grid_of_shifts_has_the_two_columns_that_matter_most(fitted, made):
    clf, X, _ = fitted
    found = made.summary["shifts"]
    assert sorted(found["columns"]) == ["age", "weight"]  # the numbers
    widths = dict(zip(["age", "weight"], np.ptp(clf.hole_ranges_[:2], axis=1), strict=True))
    deltas = [[step * widths[name] for step in (-0.5, -0.25, 0.0, 0.25, 0.5)] for name in found["columns"]]
    grid = clf.shift_grid(X, found["columns"], deltas)
    states = {"safe": "certain", "tips": "open", "unproved": "unproved"}
    assert found["states"] == [[states[state] for state in line] for line in grid.states.tolist()]
    changed = (grid.row_states == "tips").sum(axis=0) - grid.n_own
    assert found["tipping"] == changed.tolist()
    assert all(
        (state == "certain") <= (n == 0) for state, n in zip(np.ravel(found["states"]), changed.ravel(), strict=True)
    )


def test_metrics_are_between_their_bounds(fitted, made):
    clf, X, y = fitted
    found = {each["name"]: each for each in made.summary["metrics"]["metrics"]}
    assert found["accuracy"]["value"] == clf.score(X, y)
    assert all(each["lower"] <= each["value"] <= each["upper"] for each in found.values())
    assert found["neg_brier_score"]["value"] > 0.0  # the score itself, the smaller the better


def test_no_value_of_the_training_table_is_shown_but_the_ends_of_columns(fitted, made):
    X, _ = small_table()
    said = [made.html(), made.json(), made.markdown()]
    for name in ("age", "weight"):
        values = X[:100][name].dropna().sort_values()
        for value in values.iloc[1:-1]:
            assert not any(f"{value:.5g}" in text or repr(float(value))[:8] in text for text in said)


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({"loss": "squared_hinge"}, "two classes"),
        ({"loss": "hinge", "effort": 0.0}, "two classes"),
        ({"certificate": None}, "two classes"),
        ({"uncertainty": Budget(cells=2)}, "two classes"),
        ({"uncertainty": Draws(n_draws=3, random_state=0)}, "two classes"),
    ],
)
def test_every_kind_of_classifier_has_a_report(parameters, kind):
    clf, X, y = small_model(**parameters)
    found = checked(clf.report(X[:2], y[:2]))
    assert found["question"]["kind"] == kind
    if "certificate" in parameters:
        assert found["headline"]["promise"] is None
    else:
        assert found["headline"]["promise"] == clf.certificate_.promise


def test_regressions_and_several_classes_leave_out_what_does_not_apply():
    X, _ = small_table()
    target = X["weight"].fillna(0.0) + X["age"].fillna(0.0)
    reg = BoundedRegressor(alpha=0.1).fit(X[:100], target[:100])
    found = checked(reg.report(X[100:], target[100:]))
    assert found["headline"]["counts"] is None
    assert "median width" in found["headline"]["sentence"]
    assert "classes" in found["departures"]["left_out"]
    assert len(found["rows_in_full"]["rows"]) == 10
    three = np.digitize(target, [-0.5, 0.5])
    clf = BoundedClassifier(alpha=0.1).fit(X[:100], three[:100])
    found = checked(clf.report(X[100:], three[100:]))
    assert found["question"]["classes"] == ["0", "1", "2"]
    assert "two classes" in found["departures"]["left_out"]
    assert found["predictions"]["status"] == clf.predict_status(X[100:]).tolist()
    assert found["headline"]["counts"]["open"] > 0


def test_a_loaded_model_says_what_its_report_leaves_out(fitted, tmp_path):
    clf, X, y = fitted
    clf.save(tmp_path / "model.ipub")
    found = checked(ipub.load(tmp_path / "model.ipub").report(X, y))
    assert found["headline"]["counts"]["open"] == 0
    assert any("not at hand" in note for note in found["headline"]["notes"])
    assert found["table"]["missing"] is None
    for name in ("departures", "influence", "plan", "shifts"):
        assert "training table" in found[name]["left_out"]


def test_tables_of_every_library_give_the_same_report(fitted, made):
    X, y = small_table()
    frames = X, pl.from_pandas(X)
    for frame in frames[1:]:
        clf = BoundedClassifier(alpha=0.03).fit(frame[:100], y[:100])
        found = clf.report(frame[100:], y[100:]).summary
        assert found["predictions"]["lower"] == made.summary["predictions"]["lower"]
        assert found["settings"]["hashes"] == made.summary["settings"]["hashes"]
    table = X[["age", "weight"]].to_numpy()
    clf = BoundedClassifier(alpha=0.03).fit(table[:100], y[:100])
    found = checked(clf.report(table[100:].tolist()))
    assert [column["name"] for column in found["table"]["columns"]] == ["column 0", "column 1"]
    assert "No labels" in found["metrics"]["left_out"]


def test_pipelines_pass_their_rows_through_their_steps():
    from sklearn.preprocessing import StandardScaler

    X, y = small_table()
    X = X[["age", "weight"]].to_numpy()
    pipe = make_bounded_pipeline(StandardScaler(), BoundedClassifier(alpha=0.03)).fit(X[:100], y[:100])
    found = checked(pipe.report(X[100:], y[100:]))
    np.testing.assert_array_equal(found["predictions"]["lower"], pipe.predict_proba_bounds(X[100:])[:, 0])


def test_tables_without_holes_of_one_row_or_with_one_class_have_reports():
    X, y = small_table()
    X["site"] = X["site"].fillna("north")
    whole = X.fillna(0.0)
    found = checked(BoundedClassifier(alpha=0.03).fit(whole[:100], y[:100]).report(whole[100:], y[100:]))
    assert "no missing value" in found["table"]["sentence"]
    assert found["headline"]["sentence"] == "All 40 predictions are certain (proved)."
    assert "left_out" in found["departures"]
    clf, X, y = small_model()
    found = checked(clf.report(X[:1], y[:1]))
    assert found["headline"]["sentence"].startswith("The one prediction is ")
    one_class = y == y[0]
    found = checked(clf.report(X[one_class], y[one_class]))
    assert "Not defined for these rows: balanced accuracy, ROC AUC" in found["metrics"]["sentence"]


def test_two_hundred_columns_with_long_names_fit_on_a_page():
    rng = np.random.default_rng(0)
    names = [f"{'ни одно имя не слишком длинное · 名前 ' * 4}{k}" for k in range(200)]
    X = pd.DataFrame(rng.normal(size=(60, 200)), columns=names)
    y = X[names[0]] + rng.normal(size=60)
    X = X.mask(rng.random(X.shape) < 0.01)
    report = BoundedRegressor(alpha=1.0).fit(X[:50], y[:50]).report(X[58:], y[58:])
    found = checked(report)
    assert found["table"]["columns"][199]["name"] == text(names[199])
    assert text(names[199]) in report.html()


def test_what_is_no_table_in_memory_and_what_has_no_rows_is_refused(fitted):
    clf, X, _ = fitted
    with pytest.raises(IpubError, match="no rows"):
        clf.report(X[:0])
    with pytest.raises(IpubError, match="in memory"):
        clf.report("test.parquet")
    with pytest.raises(IpubError, match="3 labels for 40 rows"):
        clf.report(X, labels=["a", "b", "c"])


def test_in_markdown_names_and_values_are_text():
    shown = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table")
    for value in HOSTILE:
        tokens = shown.parse(f"| name |\n| --- |\n| {escape_markdown(text(value))} |\n")
        (inline,) = [token for token in tokens if token.type == "inline" and token.map == [2, 3]]
        assert {child.type for child in inline.children} <= {"text", "text_special"}
        assert "".join(child.content for child in inline.children) == text(value).strip()
        for start in ("- ", "", "# "):
            (inline,) = [token for token in shown.parse(start + escape_markdown(text(value))) if token.content]
            assert "".join(child.content for child in inline.children) == text(value).strip()
    page = shown.render(hostile_report().markdown())
    assert "<script" not in page
    assert "<img" not in page
    assert "<a " not in page


def test_a_report_is_saved_in_the_form_that_its_suffix_names(made, tmp_path):
    for suffix, expected in ((".html", made.html()), (".md", made.markdown()), (".json", made.json())):
        path = tmp_path / f"report{suffix}"
        made.save(path)
        assert path.read_text(encoding="utf-8") == expected
    with pytest.raises(IpubError, match=r"'\.pdf'.*\.html, \.json, \.md"):
        made.save(tmp_path / "report.pdf")


def test_on_a_full_disk_the_report_that_was_there_stays(made, tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("before", encoding="utf-8")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"report\.json cannot be written \(No space left"):
        made.save(path)
    assert path.read_text(encoding="utf-8") == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_without_permission_the_file_is_named(made, tmp_path, monkeypatch):
    def refused(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    with pytest.raises(FileError, match=r"report\.json cannot be written \(Permission denied"):
        made.save(tmp_path / "report.json")
    assert list(tmp_path.iterdir()) == []


def test_the_hash_of_a_table_does_not_depend_on_its_library_and_changes_with_every_value():
    X, _ = small_table()
    other = X.copy()
    other.loc[3, "site"] = "west"
    assert digest(X) == digest(pl.from_pandas(X)) != digest(other)
    assert digest(X) != digest(X.rename(columns={"age": "years"}))


def test_of_very_many_rows_the_page_says_how_many_it_leaves_out(made):
    found = dict(made.summary["predictions"])
    for name in ("row", "prediction", "actual", "value", "lower", "upper", "status"):
        found[name] = [found[name][k % 40] for k in range(20_500)]
    assert "500 rows are left out of the page" in type(made)({**made.summary, "predictions": found}).html()
