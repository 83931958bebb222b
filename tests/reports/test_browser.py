"""The report in a real browser: quiet, without a network, usable by keyboard, accessible, safe."""

import re

import numpy as np
import pytest

from support.browser import Watched, chromium
from support.reports import hostile_report, small_model

pytestmark = pytest.mark.no_cover  # in tests without a browser
THEMES = ("light", "dark")
FOREIGN = "<style>* { color: red !important; font-size: 40px !important; display: inline !important; }</style>"


@pytest.fixture(scope="module")
def made():
    clf, X, y = small_model()
    return clf.report(X, y, groups=np.repeat(["a", "b"], 20))


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def show(browser, tmp_path):
    """Return a function that opens a report, or a text, and watches what the page does."""
    pages = []

    def opened(report, scheme="light"):
        path = tmp_path / "report.html"
        if isinstance(report, str):
            path.write_text(report, encoding="utf-8")
        else:
            report.save(path)
        watched = Watched(browser.new_page())
        watched.page.set_default_timeout(10_000)
        pages.append(watched.page)
        watched.page.emulate_media(color_scheme=scheme)
        watched.page.goto(path.as_uri())
        return watched

    yield opened
    for page in pages:
        page.close()


def rows_of(page):
    return page.locator("table.all tbody tr")


@pytest.mark.parametrize("scheme", THEMES)
def test_the_console_stays_empty_and_the_network_unused(made, show, scheme):
    watched = show(made, scheme)
    assert watched.page.title() == made.summary["title"]
    assert rows_of(watched.page).count() == 40
    assert watched.page.locator("svg.figure").count() == 4
    assert (watched.said, watched.requests) == ([], [])


@pytest.mark.parametrize(("scheme", "media"), [("light", "screen"), ("dark", "screen"), ("light", "print")])
def test_no_fault_of_accessibility_is_found(made, show, scheme, media):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = show(made, scheme).page
    page.emulate_media(color_scheme=scheme, media=media)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found = axe.run(page).response["violations"]
    assert [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found] == []


def test_the_two_themes_differ_and_print_is_on_white(made, show):
    page = show(made).page

    def paper():
        return page.evaluate("getComputedStyle(document.querySelector('.ipub-report')).backgroundColor")

    light = paper()
    page.emulate_media(color_scheme="dark")
    assert light == "rgb(255, 255, 255)" != paper()
    page.emulate_media(media="print", color_scheme="dark")
    assert paper() == light
    assert page.locator(".controls").is_hidden()
    # What is folded on the screen is on paper.
    assert page.locator("details.row:not([open]) .values").first.bounding_box()["height"] > 0


def test_rows_are_searched_filtered_and_sorted(made, show):
    page, counts = show(made).page, made.summary["headline"]["counts"]
    page.get_by_role("combobox", name="Show").select_option("open")
    assert rows_of(page).count() == counts["open"]
    assert page.locator(".found").inner_text() == f"{counts['open']} of 40 rows"
    page.get_by_role("combobox", name="Show").select_option("")
    page.get_by_role("searchbox", name="Search").fill("nothing of the kind")
    assert rows_of(page).count() == 0
    page.get_by_role("searchbox", name="Search").fill("")
    for name, number in (("lower", 4), ("upper", 5)):
        head = page.get_by_role("columnheader", name=name)
        for direction in ("ascending", "descending"):
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == direction
            shown = [
                float(text) for text in page.locator(f"table.all tbody td:nth-child({number + 1})").all_inner_texts()
            ]
            assert shown == sorted(shown, reverse=direction == "descending")
            assert len(shown) == 40


def test_everything_is_reached_by_keyboard(made, show):
    page = show(made).page
    row = page.locator("details.row").nth(1)
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    assert row.get_attribute("open") is not None
    page.keyboard.press("Enter")
    assert row.get_attribute("open") is None
    page.get_by_role("searchbox", name="Search").focus()
    for _ in range(3):  # the filter, the table that scrolls, its first head
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("table.all th[aria-sort]").inner_text().startswith("row")


def test_it_is_read_without_javascript(made, browser, tmp_path):
    made.save(tmp_path / "report.html")
    page = browser.new_page(java_script_enabled=False)
    page.goto((tmp_path / "report.html").as_uri())
    assert rows_of(page).count() == 40
    assert page.locator(".controls").is_hidden()
    row = page.locator("details.row").nth(1)
    row.locator("summary").click()
    assert row.locator(".values").is_visible()
    page.close()


def test_hostile_names_and_values_are_text(show):
    made = hostile_report()
    watched = show(made)
    page = watched.page
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, main script, main style, main template").count() == 0
    assert "<script>window.hacked = 1</script>" in page.locator("main").inner_text()
    assert "{{ 7 * 7 }}" in page.locator("main").inner_text()
    assert page.locator("table.all tbody tr").count() == 40
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("searchbox", name="Search").fill("<img")
    assert 0 < rows_of(page).count() < 40
    assert (watched.said, watched.requests) == ([], [])


def test_in_a_notebook_foreign_styles_do_not_reach_it(made, show):
    one, other = made._repr_html_(), made._repr_html_()
    names = re.findall(r'<div id="(ipub-report-[0-9a-f]+)">', one + other)
    assert len(set(names)) == 2
    watched = show(f"<!doctype html><title>notebook</title>{FOREIGN}<main>{one}{other}</main>")
    for name in names:
        style = watched.page.evaluate(
            "name => { const root = document.getElementById(name).shadowRoot;"
            "const found = getComputedStyle(root.querySelector('h1'));"
            "const count = root.querySelectorAll('table.all tbody tr').length;"
            "return [found.color, found.fontSize, found.display, count]; }",
            name,
        )
        assert style[0] != "rgb(255, 0, 0)"
        assert style[1:] == ["30.4px", "block", 40]
    watched.page.get_by_role("searchbox", name="Search").first.fill("nothing of the kind")
    assert watched.page.locator("table.all tbody tr").count() == 40  # of the other
    assert (watched.said, watched.requests) == ([], [])


def test_a_notebook_that_runs_no_script_shows_the_sentence(made, browser):
    page = browser.new_page(java_script_enabled=False)
    page.set_content(made._repr_html_())
    assert made.summary["headline"]["sentence"] in page.inner_text("body")
    page.close()


def test_ten_thousand_rows_are_searched_and_fit_into_half_a_megabyte(made, show):
    found = {**made.summary["predictions"]}
    for name in ("row", "prediction", "actual", "value", "lower", "upper", "status"):
        found[name] = [found[name][k % 40] for k in range(10_000)]
    found["row"] = [f"row-{k}" for k in range(10_000)]
    many = type(made)({**made.summary, "predictions": found})
    assert len(many.html().encode()) < 500_000
    watched = show(many)
    assert watched.page.locator(".found").inner_text() == "10,000 of 10,000 rows"
    assert rows_of(watched.page).count() == 200
    watched.page.get_by_role("button", name="Show more rows").click()
    assert rows_of(watched.page).count() == 400
    watched.page.get_by_role("searchbox", name="Search").fill("row-9999")
    assert rows_of(watched.page).count() == 1
    cells = rows_of(watched.page).first.locator("th, td").all_inner_texts()
    assert cells[:3] == ["row-9999", found["actual"][-1], found["prediction"][-1]]
    assert cells[6] == found["status"][-1]
    assert (watched.said, watched.requests) == ([], [])
