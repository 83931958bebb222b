"""A file from the network: whole or not at all, with progress."""

from __future__ import annotations

import http.client
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from ipub import __version__
from ipub.app.files.atomic import whole_file
from ipub.app.files.tables import TableError

CHUNK = 1 << 20
TIMEOUT = 60.0
"""Seconds without an answer after which a download fails."""
CACHE_VARIABLE = "IPUB_CACHE"


class DownloadError(TableError):
    """A file that could not be downloaded; the message says why."""


def cache_folder() -> Path:
    """Return where downloads are kept: ``$IPUB_CACHE``, or else a folder in the platform's usual place."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ipub" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ipub"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ipub"


def download(url: str, goal: Path, console: Console) -> None:
    """Fetch a file.

    Parameters
    ----------
    url : str
    goal : Path
        Where it goes, in a folder that exists. If anything fails, nothing is left there or beside it.
    console : Console
        Where progress is shown.

    Raises
    ------
    DownloadError
        If the server cannot be reached, refuses, falls silent or hangs up too early.
    """
    request = urllib.request.Request(url, headers={"User-Agent": f"ipub/{__version__}"})
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    try:
        with (
            urllib.request.urlopen(request, timeout=TIMEOUT) as answer,
            whole_file(goal) as file,
            Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress,
        ):
            size: int | None = answer.length
            task = progress.add_task(f"Downloading {goal.name}", total=size)
            received = 0
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                received += len(chunk)
                progress.advance(task, len(chunk))
            if size is not None and received < size:
                raise DownloadError(f"{url} broke off after {received:,} of {size:,} bytes.")
    except urllib.error.HTTPError as error:
        raise DownloadError(f"{url} answers {error.code} ({error.reason}).") from error
    except urllib.error.URLError as error:
        raise DownloadError(f"{url} cannot be reached ({error.reason}).") from error
    except http.client.HTTPException as error:
        raise DownloadError(f"{url} broke off ({type(error).__name__}).") from error
    except (TimeoutError, ConnectionError) as error:
        raise DownloadError(f"{url} broke off ({error}).") from error
