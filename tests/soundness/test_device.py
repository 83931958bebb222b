"""The attacks on bounds that were computed with another array library."""

import pytest

from ipub.losses import LOSSES
from support import cases
from support.attacks import attack_family
from support.strict_rows import StrictRows


@pytest.mark.share(2)
@pytest.mark.parametrize(("number", "loss_name"), list(enumerate(LOSSES)))
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_no_completion_breaks_a_bound(number, loss_name, intercept, monkeypatch, report_attack):
    monkeypatch.setattr(cases, "MemoryRows", StrictRows)
    families = list(cases.FAMILIES)
    penalty = ("l2", "elastic net")[(number + intercept) % 2]
    family = families[(2 * number + intercept) % len(families)]
    tally = attack_family(3, family, loss_name, penalty, problems=1, intercept=intercept)
    report_attack(tally)
    assert tally.checks > 0
    assert tally.violations == []
