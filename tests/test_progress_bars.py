"""Progress is a bar with rich, lines without it, and nothing unless it is asked for."""

import sys

import pytest

from ipub.progress_bars import progress


def run(is_shown):
    with progress("Working", 40, is_shown) as report:
        for done in range(1, 41):
            report(done)


def test_with_rich_it_is_a_bar(capsys):
    run(True)
    shown = capsys.readouterr().out
    assert "Working" in shown
    assert "100%" in shown


def test_without_rich_it_is_at_most_ten_lines_on_stderr(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    run(True)
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [f"Working: {tenth}0%" for tenth in range(1, 11)]
    assert shown.out == ""


@pytest.mark.parametrize("total", [40, 0])
def test_nothing_to_do_is_no_error_without_rich(total, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with progress("Working", total, True) as report:
        report(total)
    assert capsys.readouterr().err == "Working: 100%\n"


def test_a_progress_inside_another_is_not_shown(capsys):
    with progress("Outside", 2, True) as report:
        with progress("Inside", 1, True) as inside:
            inside(1)
        report(2)
    shown = capsys.readouterr().out
    assert "Outside" in shown
    assert "Inside" not in shown
    run(True)
    assert "Working" in capsys.readouterr().out


def test_nothing_is_shown_unless_asked_for(capsys):
    run(False)
    assert capsys.readouterr() == ("", "")
