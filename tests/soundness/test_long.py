"""The long attack: a hundred thousand checks and more. Run with ``make test-long``."""

from __future__ import annotations

import pytest

from ipub.losses import LOSSES
from support.attacks import attack_family
from support.cases import FAMILIES


@pytest.mark.long
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_no_completion_breaks_a_bound_in_a_long_attack(loss_name, penalty, family, seed, intercept, report_attack):
    tally = attack_family(seed, family, loss_name, penalty, problems=10, intercept=intercept)
    report_attack(tally)
    figures = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in tally.figures().items())
    print(f"\n{loss_name}, {penalty}, {family}: {figures}")
    assert tally.retrainings >= 300
    assert 2 * tally.adversarial_checks >= tally.checks
    assert tally.violations == []
