"""Progress is a bar with rich, lines without it, and nothing unless it is asked for."""

import sys
import time

import pytest

from ipub import progress_bars
from ipub.progress_bars import progress, progress_of_step


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


def test_a_step_in_a_pipe_has_lines_with_an_estimate_by_the_progress_of_its_parts(capsys, monkeypatch):
    monkeypatch.setattr(progress_bars, "SECONDS", 0.01)
    with progress_of_step("Draws", True):
        time.sleep(0.05)
        with progress("Inside", 4, False) as inside:
            inside(1)
            time.sleep(0.05)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Draws: 0 s so far" in shown.err
    assert "Draws: 25%, about 0 s left" in shown.err
    run(True)
    assert "Working" in capsys.readouterr().out


def test_a_step_that_is_not_asked_for_shows_nothing(capsys):
    with progress_of_step("Draws", False):
        run(False)
    assert capsys.readouterr() == ("", "")


def test_a_step_on_a_terminal_is_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_of_step("Draws", True):
        run(False)
    assert capsys.readouterr().out == ""
