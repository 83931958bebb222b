"""What a distribution says of the package: its README, without what is not beside it, and its versions of Python."""

import re
import runpy
import tomllib
from pathlib import Path

import setuptools

from packages.pythons import supported

ROOT = Path(__file__).parents[1]


def described(monkeypatch):
    """Return what setup.py gives to setuptools."""
    given = {}
    monkeypatch.setattr(setuptools, "setup", lambda **settings: given.update(settings))
    runpy.run_path(str(ROOT / "setup.py"))
    return given["long_description"]


def test_a_package_index_shows_the_readme_without_pictures_and_links_that_lead_nowhere(monkeypatch):
    text, readme = described(monkeypatch), (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"!\[[^]]*\]\(docs/", readme)
    assert not re.findall(r"\]\((?!https?://)[^)]*\)", text)
    assert "draws: 150 test patients" not in text, "a caption without its picture"
    kept = [line for line in readme.splitlines() if line.startswith(("#", "```", "from ", ">>> "))]
    assert kept == [line for line in text.splitlines() if line.startswith(("#", "```", "from ", ">>> "))]
    assert "The bounds say what the model would predict, not what is right." in text


def test_every_supported_python_is_tried_by_the_workflow():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert required == f">={supported()[0]}"
    assert all(f'"{version}"' in workflow for version in supported())
