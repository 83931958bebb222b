"""What a report takes: seconds to ask a model everything, milliseconds to render, kilobytes; and what a browser says.

Models are fitted on 761 rows of the built-in table, with standard scaling and the penalty that cross-validation picks;
rows to report on are drawn from the others, with replacement. Requests, errors on the console and serious faults of
accessibility (axe-core, light and dark) are those of headless Chromium; without a browser they are not measured.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.lines import Lines
from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses

SIZES = (200, 2_000, 10_000)
MOST_BYTES = 500_000
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


def run(console: Console) -> None:
    X, y = load_mammographic_masses()
    clf = BoundedClassifier(alpha="1se", scale="standard").fit(X[:761], y[:761])
    lines = Lines(
        console,
        "Reports on rows of the built-in table",
        "rows".ljust(8),
        "ask s",
        "render ms",
        "kB",
        "target",
        "requests",
        "errors",
        "serious faults",
    )
    for n in SIZES:
        chosen = 761 + (np.arange(200) if n == 200 else np.random.default_rng(0).integers(0, 200, n))
        start = time.perf_counter()
        report = clf.report(X[chosen], y[chosen])
        asked = time.perf_counter() - start
        report.html()  # templates are read once
        start = time.perf_counter()
        page = report.html()
        rendered = time.perf_counter() - start
        size = len(page.encode())
        mark = "!" if size > MOST_BYTES else ""
        seen = [f"{count}{'!' if count else ''}" for count in _in_a_browser(page)] or ["-"] * 3
        lines.add(
            f"{n:,}", f"{asked:.1f}", f"{1e3 * rendered:.0f}", f"{size / 1e3:.0f}{mark}", "<= 500, others 0", *seen
        )


def _in_a_browser(page: str) -> list[int]:
    """Return the numbers of requests, of lines on the console, and of serious faults; nothing without a browser."""
    program = next((found for found in map(shutil.which, PROGRAMS) if found), None)
    try:
        from axe_playwright_python.sync_playwright import Axe
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if program is None:
        return []
    requests: list[str] = []
    said: list[str] = []
    faults = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        browser = started.chromium.launch(executable_path=program, args=OPTIONS)
        for scheme in ("light", "dark"):
            shown = browser.new_page(color_scheme=scheme)
            shown.on("request", lambda request: requests.append(request.url))
            shown.on("console", lambda message: said.append(message.text))
            shown.on("pageerror", lambda error: said.append(str(error)))
            shown.goto(path.as_uri())
            found = Axe().run(shown).response["violations"]
            faults += sum(each["impact"] in ("serious", "critical") for each in found)
        browser.close()
    asked = [url for url in requests if not url.startswith(("file:", "data:"))]
    return [len(asked), len(said), faults]
