"""What a package index shows of the README: as it renders it, without pictures or links that lead nowhere there."""

from __future__ import annotations

import email
import tarfile
from html.parser import HTMLParser
from pathlib import Path


class Targets(HTMLParser):
    """Collects what pictures and links of a page lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if (tag, name) in (("img", "src"), ("a", "href"))]


def description_of(sdist: Path) -> str:
    """Return the long description in the metadata of a source distribution."""
    with tarfile.open(sdist) as archive:
        (member,) = [name for name in archive.getnames() if name.count("/") == 1 and name.endswith("/PKG-INFO")]
        file = archive.extractfile(member)
        assert file is not None
        metadata = email.message_from_string(file.read().decode())
    assert metadata["Description-Content-Type"] == "text/markdown"
    return str(metadata.get_payload())


def broken_targets(description: str) -> list[str]:
    """Return the pictures and links of the rendered page that are relative, and so lead nowhere."""
    from readme_renderer import markdown

    page = markdown.render(description)
    assert page is not None, "the README cannot be rendered"
    assert len(page) > 2000, "hardly anything of the README is rendered"
    targets = Targets()
    targets.feed(page)
    return [target for target in targets.found if not target.startswith(("https://", "http://", "#"))]
