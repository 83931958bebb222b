"""What users call stays as it is, unless somebody means to change it."""

import ipub
from support.public_api import PUBLIC_API, public_api


def test_public_names_and_signatures_are_as_the_text_has_them():
    assert public_api() == PUBLIC_API.read_text(encoding="utf-8"), (
        "If the change is meant: PYTHONPATH=tests python -m support.public_api; see docs/development/compatibility.md."
    )


def test_every_public_name_is_there():
    assert sorted(ipub.__all__) == ipub.__all__
    assert all(hasattr(ipub, name) for name in ipub.__all__)
