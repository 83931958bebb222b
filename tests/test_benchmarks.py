"""The page of benchmarks: what is printed is what is written, and what is finished is kept."""

import io
import sys
from types import ModuleType

import pytest
from benchmarks import page
from benchmarks.lines import Lines, Screen

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


def write(path, names=NAMES):
    screen = Screen(file=io.StringIO(), width=120)
    page.write_page(screen, names, NAMES, path)
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
    assert "Not measured yet: slow." in text
    figures[1].clear()
    assert "## slow" in write(tmp_path / "page.md")[0]
    assert figures[0] == {"quick": 1, "slow": 2}


def test_a_run_on_fewer_rows_says_so_and_is_kept_apart(figures, tmp_path, monkeypatch):
    full, _ = write(tmp_path / "page.md")
    monkeypatch.setenv("BENCH_ROWS", "2000")
    text, _ = write(tmp_path / "cut.md")
    assert "**Cut to 2,000 rows" in text
    assert figures[0] == {"quick": 2, "slow": 2}
    monkeypatch.delenv("BENCH_ROWS")
    assert write(tmp_path / "page.md")[0] == full
