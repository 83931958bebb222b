import os
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from experiments import downloads as module
from experiments.downloads import DownloadError, cache_folder, download
from support.small_sources import serving

SILENT = Console(file=StringIO())


def test_a_file_comes_whole_and_shows_its_progress():
    content = os.urandom(3 << 20)
    screen = Console(file=StringIO(), force_terminal=True, width=100)
    with serving({"/table.csv": content}) as server:
        download(f"{server.address}/table.csv", Path("table.csv"), screen)
    assert Path("table.csv").read_bytes() == content
    assert "Downloading table.csv" in screen.file.getvalue()
    assert "3.1/3.1 MB" in screen.file.getvalue()


def test_a_download_that_breaks_off_leaves_nothing():
    with (
        serving({"/table.csv": bytes(1000)}, cut=400) as server,
        pytest.raises(DownloadError, match=r"broke off after 400 of 1,000 bytes"),
    ):
        download(f"{server.address}/table.csv", Path("table.csv"), SILENT)
    assert os.listdir() == []


def test_an_interrupted_download_leaves_nothing_and_what_was_there_before(monkeypatch):
    Path("table.csv").write_text("old")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Progress, "advance", interrupt)
    with serving({"/table.csv": bytes(1000)}) as server, pytest.raises(KeyboardInterrupt):
        download(f"{server.address}/table.csv", Path("table.csv"), SILENT)
    assert os.listdir() == ["table.csv"]
    assert Path("table.csv").read_text() == "old"


def test_what_a_server_refuses_is_said():
    with serving({}) as server, pytest.raises(DownloadError, match=r"none.csv answers 404 \(Not Found\)"):
        download(f"{server.address}/none.csv", Path("table.csv"), SILENT)
    with pytest.raises(DownloadError, match="cannot be reached"):
        download(f"{server.address}/none.csv", Path("table.csv"), SILENT)
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        ("linux", {"IPUB_CACHE": "/chosen", "XDG_CACHE_HOME": "/xdg"}, "/chosen"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/ipub"),
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/ipub"),
        ("darwin", {"HOME": "/home/me"}, "/home/me/Library/Caches/ipub"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/ipub/cache"),
    ],
)
def test_the_cache_is_where_the_platform_has_its_caches(monkeypatch, system, variables, folder):
    for name in ("IPUB_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", system)
    assert cache_folder() == Path(folder)
