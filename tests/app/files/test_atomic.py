"""Files that are written whole or not at all."""

import errno
import os
import stat
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ipub.app import cli
from ipub.app.files.atomic import FileError, check_folder, whole_file


def _write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_crash_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = _write(tmp_path / "t.csv", "old")

    def write_half():
        with whole_file(path) as file:
            file.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path):
    plain = _write(tmp_path / "plain", "")
    with whole_file(tmp_path / "new") as file:
        file.write(b"x")
    assert (tmp_path / "new").stat().st_mode == plain.stat().st_mode
    plain.chmod(0o600)
    with whole_file(plain) as file:
        file.write(b"y")
    assert stat.S_IMODE(plain.stat().st_mode) == 0o600


def test_what_is_no_ordinary_file_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for write in (check_folder, lambda path: whole_file(path).__enter__()):
        with pytest.raises(FileError, match="pipe is no ordinary file, and would be replaced by one: write elsewhere"):
            write(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_by_the_name_of_the_file(tmp_path, number):
    path = _write(tmp_path / "t.csv", "old")

    def write_half():
        with whole_file(path):
            raise OSError(number, os.strerror(number), str(next(tmp_path.glob("*.part"))))

    with pytest.raises(
        FileError, match=r"t\.csv cannot be written \(.*\): write elsewhere, or make room there"
    ) as caught:
        write_half()
    assert ".part" not in str(caught.value)
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "none.csv", "--target", "y", "-o", "out/m.ipub"],
        ["predict", "none.ipub", "none.csv", "-o", "out/b.csv"],
        ["demo", "-o", "out/d.png"],
    ],
)
def test_a_folder_that_takes_no_files_is_told_before_anything_is_read(command, tmp_path, monkeypatch):
    def refuse(dir):
        raise PermissionError(errno.EACCES, "Permission denied", str(Path(dir) / "tmpabc"))

    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 2
    assert (
        done.stderr
        == f"Error: {command[-1]} cannot be written (Permission denied): write elsewhere, or make room there.\n"
    )
