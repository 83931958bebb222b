"""A CSV file that ends within a character is refused with one sentence, and nothing else is printed."""

import warnings

import pytest

from ipub.app.files.tables import TableError, read_table


def test_a_row_that_is_no_text_is_refused_in_silence(tmp_path, capfd):
    (tmp_path / "t.csv").write_bytes("\ufeffa;b;é;y\n𝟙,𝟙,é".encode()[:-1])
    # What PyArrow cannot hand over would be an unraisable error, which the tests do not allow.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TableError, match=r"t\.csv"):
            read_table(tmp_path / "t.csv")
    assert capfd.readouterr().err == ""
