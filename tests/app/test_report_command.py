"""`ipub report` writes a page, Markdown or JSON of a table in a file, and names what is wrong."""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from ipub.app import cli
from support.reports import small_table


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = small_table()
    frame = X.assign(sex=["a", "b"] * 70, person=[f"p{k}" for k in range(140)], class_=y)
    frame[:100].to_csv("train.csv", index=False)
    frame[100:].to_csv("test.csv", index=False)
    return frame


def ran(*arguments, code=0):
    done = CliRunner().invoke(cli.app, ["report", "train.csv", "--target", "class_", *arguments])
    assert done.exit_code == code, done.output
    return done


COMMON = ("--alpha", "0.03", "--scale", "none", "--drop", "sex")


def test_a_page_is_written_with_what_is_needed_to_repeat_it():
    Path("reasons.toml").write_text('age = "not <asked>"\n', encoding="utf-8")
    given = (*COMMON, "--test", "test.csv", "--id", "person", "--groups", "sex", "--reasons", "reasons.toml")
    done = ran(*given, "-o", "page.html")
    assert "Report saved to page.html" in done.output
    page = Path("page.html").read_text(encoding="utf-8")
    assert "not &lt;asked&gt;" in page
    ran(*given, "-o", "page.json", "--json")
    found = json.loads(Path("page.json").read_text(encoding="utf-8"))
    assert found["predictions"]["row"] == [f"p{k}" for k in range(100, 140)]
    assert {line["group"] for line in found["metrics"]["groups"]} >= {"a", "b"}
    context = found["settings"]["context"]
    assert context["target"] == "class_"
    assert context["command"].startswith("ipub report train.csv --target class_ --test test.csv")
    assert context["training file, SHA-256"].endswith(hashlib.sha256(Path("train.csv").read_bytes()).hexdigest())
    assert [column["name"] for column in found["table"]["columns"]] == ["age", "weight", "site"]


def test_without_a_test_table_training_rows_are_held_out_and_numbered_as_in_the_file():
    answer = json.loads(ran(*COMMON, "--drop", "person", "-o", "page.json", "--json").stdout)
    assert answer["rows"] == 20
    assert sum(answer["counts"].values()) == 20
    found = json.loads(Path("page.json").read_text(encoding="utf-8"))
    numbers = [int(row) for row in found["predictions"]["row"]]
    assert len(set(numbers)) == 20
    assert 1 <= min(numbers) < max(numbers) <= 100
    assert found["table"]["rows"] == 80


def training_cells(found):
    cells = [*found["influence"]["cells"], *found["plan"]["values"]]
    return cells + [cell for row in found["rows_in_full"]["rows"] for cell in (*row["changes"], *row["top_cells"])]


@pytest.mark.parametrize("test", [(), ("--test", "test.csv")], ids=str)
def test_training_rows_are_counted_from_1_as_in_the_file(table, test):
    ran(*COMMON, "--drop", "person", *test, "-o", "page.json")
    found = json.loads(Path("page.json").read_text(encoding="utf-8"))
    cells = training_cells(found)
    assert len(cells) > 12
    assert all(pd.isna(table[cell["column"]][int(cell["row"]) - 1]) for cell in cells)
    held_out = () if test else found["predictions"]["row"]
    assert not {cell["row"] for cell in cells} & set(held_out)
    ran(*COMMON, "--drop", "person", *test, "-o", "page.html")
    assert Path("page.html").read_text(encoding="utf-8").count("counted from 1, without the header") == 1


def test_a_test_table_needs_no_target(table):
    table.drop(columns="class_").tail(5).to_csv("test.csv", index=False)
    ran(*COMMON, "--drop", "person", "--test", "test.csv", "-o", "page.md")
    assert "No labels were given" in Path("page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "page.pdf"), "'.pdf'"),
        (("-o", "none/page.html"), "none does not exist"),
        (("-o", "train.csv"), "suffix"),
        (("--groups", "six", "--test", "test.csv"), "Did you mean 'sex'"),
        (("--reasons", "test.csv"), "no valid TOML"),
    ],
)
def test_mistakes_are_named_before_any_work(arguments, words):
    assert words in " ".join(ran(*arguments, code=2).output.split())
    assert not Path("report.html").exists()


def test_a_reason_is_a_text_of_a_column():
    Path("reasons.toml").write_text("age = 3\n", encoding="utf-8")
    assert 'age = "not asked"' in " ".join(ran(*COMMON, "--reasons", "reasons.toml", code=2).output.split())
