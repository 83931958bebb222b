import pytest


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Nothing is written into the user's cache, and nothing goes through a proxy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
