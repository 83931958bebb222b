"""Files that are written whole or not at all."""

import os
import stat

import pytest

from ipub.app.files.atomic import whole_file


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
