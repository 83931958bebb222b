"""Every number of the page is one that its measurements give, worked out here in another way."""

import re

import numpy as np
import pytest

from experiments.figures import save_histograms
from experiments.page import About, write_page
from experiments.results import SettingResult, TableResult
from experiments.settings import GRID, PAPER_RATIOS
from experiments.store import Measured

DATES = ("2000-01-01", "2000-01-02")
ABOUT = About("python -m experiments", "1.2.3", ("a machine", "another"), DATES, False, "pictures")
N_TEST, N_ATTAINED = 40, 10


def around(center, radius):
    return np.column_stack([center - radius, center + radius])


def result_of(setting, seed):
    """Measurements made up: sphere narrower than INewton on every second row, tight everywhere."""
    rng = np.random.default_rng(seed)
    center, radius = rng.normal(size=N_TEST), rng.uniform(0.1, 0.2, size=N_TEST)
    rows = np.arange(0, N_TEST, N_TEST // N_ATTAINED)
    bounds = {
        "sphere": around(center, np.where(np.arange(N_TEST) % 2 == 0, 4.0, 6.0) * radius),
        "columns": around(center, 8.0 * radius),
        "inewton": around(center, 5.0 * radius),
        "tight": around(center, 1.25 * radius),
    }
    imputation = {
        "single": around(center[rows], 0.0),
        "complete": around(center[rows], 0.0),
        "multiple5_range": around(center[rows], 0.5 * radius[rows]),
        "multiple5_pooled": around(center[rows], np.where(np.arange(N_ATTAINED) < 4, 2.0, 0.75) * radius[rows]),
    }
    seconds = {
        "sphere": [0.5, 0.25, 0.125],
        "columns": [10.0],
        "inewton": [100.0, 50.0, 75.0],
        "tight": [1.0, 2.0, 3.0],
    }
    return SettingResult(
        setting,
        Measured({"seconds": seconds, "notes": {"inewton": "stopped early", "tight": ""}}, bounds),
        Measured({"seconds": 3.0}, {"rows": rows, "bounds": around(center[rows], radius[rows])}),
        Measured({"seconds": {"single": 0.5, "complete": 0.25, "multiple5": 8.0}}, imputation),
    )


@pytest.fixture
def table():
    settings = [result_of(setting, seed) for seed, setting in enumerate(GRID)]
    return TableResult("drive (part)", "drive", "PART of the set.", (900, N_TEST, 48), settings)


def lines_of(page, section, first):
    """Return the cells of the table rows of a section whose first cell matches."""
    part = page.split(f"\n## {section}", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    return [row for row in rows if re.fullmatch(first, row[0])]


def probability_length(bounds):
    return np.diff(1.0 / (1.0 + np.exp(-bounds)), axis=1).ravel()


def test_lengths_are_those_of_the_measurements(table):
    rows = lines_of(write_page([table], ABOUT), "Lengths", r"0\.1|1")
    assert len(rows) == 16
    for row, ratios, each in zip(rows[:8], rows[8:], table.settings, strict=True):
        assert row[:3] == [f"{value:g}" for value in (each.setting.lam, each.setting.b, each.setting.a)]
        for cell, method in zip(row[3:7], ("sphere", "columns", "inewton", "tight"), strict=True):
            assert cell == f"{np.median(probability_length(each.bounds.arrays[method])):.2e}"
        same_rows = each.bounds.arrays["tight"][each.attained.arrays["rows"]]
        assert row[7] == f"{np.median(probability_length(same_rows)):.2e}"
        assert row[8] == f"{np.median(probability_length(each.attained.arrays['bounds'])):.2e}"
        assert row[9:] == ["100.0%", "50.0%", "100.0%"]
        assert ratios[:3] == row[:3]
        assert ratios[3:] == ["4", "8", "5", "1.25", "10"]


def test_times_are_medians_and_stand_beside_the_papers(table):
    rows = lines_of(write_page([table], ABOUT), "Times", r"0\.1|1")
    for row, each in zip(rows, table.settings, strict=True):
        assert row[3:7] == ["0.25", "10", "75", "2"]
        assert row[7:11] == [f"{x:.1e}" for x in (0.25 / 10, 0.25 / 75, 2 / 75, PAPER_RATIOS["drive", each.setting])]
        assert row[11:] == ["3 (10 rows)", "12"]


def test_imputation_is_judged_by_what_is_attained(table):
    page = write_page([table], ABOUT)
    expected = {
        r"single imputation.*": ["100.0%", "0.0% (0.0% to 0.0%)", "0.5", "0.25"],
        r"complete cases.*": ["100.0%", "0.0% (0.0% to 0.0%)", "0.25", "0.125"],
        r"multiple imputation, T = 5: range.*": ["100.0%", "50.0% (50.0% to 50.0%)", "8", "4"],
        r"multiple imputation, T = 5: pooled.*": ["60.0%", "75.0% (75.0% to 75.0%)", "8", "4"],
        r"certified: tight": ["0.0%", "100.0% (100.0% to 100.0%)", "2", "1"],
    }
    for method, cells in expected.items():
        ((_, *found),) = lines_of(page, "Imputation", method)
        assert found == cells


def test_the_summary_and_the_circumstances_are_told(table):
    page = write_page([table], ABOUT)
    assert "INewton (weights) in 8 of 8 settings, and than INewton (whitened) in 0 of 8 settings" in page
    assert "sphere (IPUB) 4 to 4; INewton (weights) 8 to 8; INewton (whitened) 5 to 5; tight 1.25 to 1.25" in page
    assert (
        "INewton (weights): 2.5e-02 to 2.5e-02; INewton (whitened): 3.3e-03 to 3.3e-03; 1.3e-03 to 2.9e-03 in the paper"
        in page
    )
    assert "outside of a certified interval: 0 of 320" in page
    assert "Measured 2000-01-01 to 2000-01-02 on: a machine. And on: another." in page
    for word in ("`python -m experiments` (ipub 1.2.3)", "PART of the set.", "| 900 | 40 | 48 |"):
        assert word in page
    assert "INewton (whitened): stopped early (8 settings, the first drive (part), λ = 0.1, b = 0.01, a = 0.5)" in page
    assert "(pictures/drive_part.png)" in page
    assert "quick" not in page


def test_a_bound_that_fails_is_counted(table):
    each = table.settings[0]
    each.attained.arrays["bounds"][0, 1] += 100.0
    page = write_page([table], ABOUT)
    assert "outside of a certified interval: 4 of 320" in page
    assert [row[1] for row in lines_of(page, "Imputation", "certified: tight")] == ["1.2%"]


def test_rows_that_nothing_moves_are_held_and_do_not_divide_by_zero(table):
    for each in table.settings:
        each.attained.arrays["bounds"][:] = each.attained.arrays["bounds"].mean(axis=1, keepdims=True)
    page = write_page([table], ABOUT)
    assert [row[1:3] for row in lines_of(page, "Imputation", "single.*")] == [["0.0%", "100.0% (100.0% to 100.0%)"]]
    assert "tight unknown" in page


def test_a_table_that_is_not_in_the_paper_has_no_ratio_of_it(table):
    other = TableResult("mine", "mine", "", table.shape, table.settings)
    assert {row[10] for row in lines_of(write_page([other], ABOUT), "Times", r"0\.1|1")} == {"-"}


def test_every_setting_has_its_panel(table, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, file, **options: drawn.append(figure))
    save_histograms(table, tmp_path / "lengths.png")
    titles = {panel.get_title() for panel in drawn[0].axes}
    assert titles == {f"λ = {s.lam:g}, b = {s.b:g}, a = {s.a:g}" for s in GRID}
    for panel in drawn[0].axes:
        assert panel.get_xscale() == "log"
        low, high = panel.get_xlim()
        for each in table.settings:
            for method in ("sphere", "columns", "inewton", "tight", "attained"):
                assert low <= each.lengths(method).min()
                assert each.lengths(method).max() <= high
