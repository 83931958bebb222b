"""A headless Chromium of the system's packages, which `tests/support/chromium.sh` installs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser, with a new profile; skip the test, with the reason, where there is none."""
    program = next((found for found in map(shutil.which, PROGRAMS) if found), None)
    if program is None:
        pytest.skip("no Chromium is installed: tests/support/chromium.sh installs Debian's")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=program, args=OPTIONS)
        except playwright.Error as error:
            pytest.skip(f"{program} does not start: {str(error).splitlines()[0]}")
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """What a page said on its console and asked the network for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.requests.append(request.url)
