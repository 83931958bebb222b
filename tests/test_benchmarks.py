"""The page of benchmarks: what is printed is what is written, and what is finished is kept.

Options, penalties and figures of benchmarks of real tables, on a table that is made here.
"""

import io
import json
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from benchmarks import budgets, page, small, theorem_settings, theorems
from benchmarks.lines import Lines, Screen
from benchmarks.timing import medians

NAMES = ("quick", "slow")


@pytest.fixture
def figures(monkeypatch, tmp_path):
    """Two figures that count how often they run; the second fails as long as a flag is set."""
    runs = dict.fromkeys(NAMES, 0)
    fails = []

    def figure(name):
        def run(console):
            runs[name] += 1
            if name in fails:
                raise KeyboardInterrupt
            lines = Lines(console, f"how {name}", "table".ljust(9), "ratio", "target")
            lines.add("default ", f"{runs[name]}.25!", "<= 1")

        return run

    for name in NAMES:
        module = ModuleType(f"benchmarks.{name}", f"What {name} compares.")
        module.run = figure(name)
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", module)
    monkeypatch.setattr(page, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(page, "_code", lambda: "one")
    monkeypatch.delenv("BENCH_ROWS", raising=False)
    return runs, fails


def write(path, names=NAMES, **settings):
    screen = Screen(file=io.StringIO(), width=120)
    page.write_page(screen, names, NAMES, path, **settings)
    return path.read_text(), screen.file.getvalue()


def test_the_page_holds_the_rows_that_were_printed(figures, tmp_path):
    text, printed = write(tmp_path / "page.md")
    assert "default      1.25!     <= 1" in printed
    assert text.count("| default | 1.25! | <= 1 |") == 2
    assert text.index("## quick\n\nWhat quick compares.") < text.index("## slow")
    assert "`python -m benchmarks slow`, 20" in text
    assert "cores" in text
    assert "Not measured yet" not in text


def test_a_figure_is_not_measured_twice_with_the_same_code(figures, tmp_path, monkeypatch):
    first, _ = write(tmp_path / "page.md")
    assert write(tmp_path / "page.md")[0] == first
    assert figures[0] == {"quick": 1, "slow": 1}
    monkeypatch.setattr(page, "_code", lambda: "two")
    text, _ = write(tmp_path / "page.md", ["slow"])
    assert figures[0] == {"quick": 1, "slow": 2}
    assert text.count("The code has changed since.") == 1


def test_what_was_finished_before_an_interruption_is_on_the_page(figures, tmp_path):
    figures[1].append("slow")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "## quick" in text
    assert "Not measured yet: `python -m benchmarks slow`." in text
    figures[1].clear()
    assert "## slow" in write(tmp_path / "page.md")[0]
    assert figures[0] == {"quick": 1, "slow": 2}


def test_with_resume_what_other_code_measured_counts(figures, tmp_path, monkeypatch):
    write(tmp_path / "page.md", ["quick"])
    monkeypatch.setattr(page, "_code", lambda: "two")
    text, _ = write(tmp_path / "page.md", resume=True)
    assert figures[0] == {"quick": 1, "slow": 1}
    assert text.count("The code has changed since.") == 1


def test_a_section_of_which_nothing_is_kept_stays_on_the_page(figures, tmp_path, monkeypatch):
    first, _ = write(tmp_path / "page.md")
    monkeypatch.setattr(page, "KEPT", tmp_path / "elsewhere")
    text, _ = write(tmp_path / "page.md", ["slow"])
    assert figures[0] == {"quick": 1, "slow": 2}
    assert text.count(page.KEPT_FROM_EARLIER) == 1
    assert text.replace(f" {page.KEPT_FROM_EARLIER}", "").replace("2.25!", "1.25!") == first
    assert write(tmp_path / "page.md", ["slow"])[0] == text


def test_pieces_that_are_finished_are_shown_again_and_not_measured(figures, tmp_path, monkeypatch):
    runs, fails = [], ["second"]

    def run(console):
        lines = Lines(console, "two tables", "table", "value")

        def measure(name):
            runs.append(name)
            if name in fails:
                raise KeyboardInterrupt
            lines.add(name, f"{len(runs)}")
            return len(runs)

        total = sum(lines.piece(name, lambda name=name: measure(name)) for name in ("first", "second"))
        lines.add("sum", f"{total}")

    monkeypatch.setattr(sys.modules["benchmarks.slow"], "run", run)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "page.md", ["slow"])
    fails.clear()
    text, printed = write(tmp_path / "page.md", ["slow"])
    assert runs == ["first", "second", "second"]
    assert "| first | 1 |\n| second | 3 |\n| sum | 4 |" in text
    assert "first          1\nsecond         3" in printed
    monkeypatch.setattr(page, "_code", lambda: "two")
    write(tmp_path / "page.md", ["slow"])
    assert runs[3:] == ["first", "second"]


def test_a_run_on_fewer_rows_says_so_and_is_kept_apart(figures, tmp_path, monkeypatch):
    full, _ = write(tmp_path / "page.md")
    monkeypatch.setenv("BENCH_ROWS", "2000")
    text, _ = write(tmp_path / "cut.md")
    assert "**Cut to 2,000 rows" in text
    assert figures[0] == {"quick": 2, "slow": 2}
    monkeypatch.delenv("BENCH_ROWS")
    assert write(tmp_path / "page.md")[0] == full


@pytest.fixture
def table(monkeypatch):
    """A table with three holes and a category in place of the real ones."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(c=rng.choice(["u", "v"], size=60))
    y = X["a"].to_numpy() + rng.normal(size=60) > 0.0
    X.iloc[[1, 50], 0] = X.iloc[7, 1] = np.nan
    for module in (small, budgets):
        monkeypatch.setattr(module, "parts", lambda _source, _seed: (X.iloc[:45], y[:45], X.iloc[45:]))
    return X


def printed_by(benchmark, *options):
    screen = Screen(file=io.StringIO(), width=200)
    benchmark.run(screen, options)
    return screen.tables


def test_a_later_run_of_small_tables_is_compared_with_the_figures_of_an_earlier_one(table, tmp_path):
    earlier = tmp_path / "earlier.json"
    options = ("--tables", "hepatitis", "--repeats", "1")
    (lines,) = printed_by(small, *options, "--status", "--attained", "--save", str(earlier))
    figures = json.loads(earlier.read_text())["hepatitis 1"]
    assert lines.rows[0][:5] == ("hepatitis".ljust(24), "1", "45", "4", "2")
    assert figures["plain fits"] == pytest.approx(figures["fit ms"] / figures["plain ms"])
    assert figures["width"] > 0.0
    assert figures["over attained"] >= 1.0
    _, ratios = printed_by(small, *options, "--against", str(earlier))
    assert ratios.rows[0][ratios.columns.index("width")] == "1.000"


def test_small_tables_with_a_budget_are_fits_of_their_own(table):
    (lines,) = printed_by(small, "--tables", "pima_diabetes", "--repeats", "1", "--budget", "0.5")
    assert "0.5 of the missing values differ" in lines.title
    assert [row[1] for row in lines.rows] == ["0.03"]
    with pytest.raises(SystemExit, match="Unknown table"):
        printed_by(small, "--tables", "hepatitis", "--budget", "0.5")


def test_budgets_print_shares_of_certain_rows_and_their_sums(table):
    (lines,) = printed_by(budgets, "--tables", "hepatitis", "--shares", "0,0.5", "--rows", "5")
    first, second, sums, ratio = (dict(zip(lines.columns, row, strict=True)) for row in lines.rows)
    assert (first["changed"], second["changed"], first["rows"]) == ("0", "1", "5")
    assert first["certified"] == first["attained"] == "1.00"
    assert first["outside"] == second["outside"] == "0"
    assert [sums[name] for name in ("certified", "attained", "width")] == [
        second[name] for name in ("certified", "attained", "width")
    ]
    assert 0.0 <= float(ratio["certified"]) <= 1.0


def test_test_rows_of_budgets_are_complete_or_else_filled_in(table):
    X, X_test = table.iloc[:45], table.iloc[45:]
    assert list(budgets._test_rows(X, X_test, 6).index) == [45, 46, 47, 48, 49, 51]
    (row,) = budgets._test_rows(X, X_test.loc[[50]], 6)["a"]
    assert row == X["a"].median()


@pytest.fixture
def small_table(table, monkeypatch):
    y = table["a"].fillna(0.0).to_numpy() > 0.0
    parts = table.iloc[:45], y[:45], table.iloc[45:].dropna()
    monkeypatch.setattr(theorem_settings, "_table", lambda _name: parts)
    theorem_settings._alpha.cache_clear()
    yield
    theorem_settings._alpha.cache_clear()


def test_a_theorem_that_is_left_out_makes_bounds_wider_and_is_back_afterwards(small_table):
    options = "--tables", "hepatitis", "--theorems", "row sums"
    (lines, sums), again = printed_by(theorems, *options), printed_by(theorems, *options)[0]
    first = dict(zip(lines.columns, lines.rows[0], strict=True))
    assert first["setting"].strip() == "hepatitis"
    assert float(first["width"]) > 1.0
    assert float(first["certain with"]) >= float(first["without"])
    assert [row[:5] for row in again.rows] == [row[:5] for row in lines.rows]
    (summary,) = sums.rows
    assert summary[0].strip() == "row sums"
    assert int(summary[2]) == len(lines.rows)


@pytest.mark.parametrize("theorem", theorems.THEOREMS, ids=lambda theorem: theorem.name)
def test_what_stands_in_for_a_theorem_replaces_functions_that_there_are(theorem):
    with theorems.left_out(theorem) as calls:
        assert not calls
    names = [setting.name for setting in theorem.settings]
    assert names
    assert len(set(names)) == len(names)


def test_a_theorem_that_no_setting_uses_is_an_error(small_table, monkeypatch):
    unused = theorems.Theorem("none", "", "", {"benchmarks.timing.medians": print}, theorems.TABLES[:1])
    monkeypatch.setattr(theorems, "THEOREMS", (unused,))
    with pytest.raises(SystemExit, match=r"No setting calls benchmarks\.timing\.medians"):
        printed_by(theorems)


def test_times_are_read_from_the_given_clock():
    ticks = iter(range(100))
    assert medians(3, lambda: None, lambda: next(ticks), clock=lambda: float(next(ticks))) == [1.0, 2.0]
