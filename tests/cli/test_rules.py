"""`hrmdoc rules` on rules of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

RULE = """id: my-doubt
title: Several claims in one
playbook: own-rules
when: {{check: "{check}"}}
"""


def own_rule(folder: Path, check: str) -> None:
    (folder / "mine/symptoms").mkdir(parents=True)
    (folder / "mine/symptoms/my-doubt.yaml").write_text(RULE.format(check=check))


def test_a_check_that_asks_for_an_unstated_symptom_is_refused_in_its_line(
    hrmdoc: Command, apart: Path
) -> None:
    own_rule(apart, "began('loss-spike') < 9")
    done = hrmdoc("rules", "check", "mine")
    assert done.status == 2
    assert "my-doubt.yaml:4" in done.err
    assert "'loss-spike', which neither `after` nor `presupposes` names" in done.err


@pytest.mark.parametrize(
    ("check", "clauses"),
    [
        (" or ".join(f"{number} > 9" for number in range(5)), None),
        ("not (1 > 2 and (3 if 4 > 5 or 6 > 7 else 8) > 9) or 10 > 11 or 12 > 13", 7),
    ],
)
def test_an_own_check_of_many_clauses_is_a_warning_and_refused_where_that_is_asked(
    hrmdoc: Command, apart: Path, check: str, clauses: int | None
) -> None:
    own_rule(apart, check)
    flaw = f"my-doubt.yaml:4: a check of {len(check)} characters and {clauses} clauses is more"
    warned, refused = hrmdoc("rules", "check", "mine"), hrmdoc("rules", "check", "--strict", "mine")
    assert (warned.status, flaw in warned.err) == (0, bool(clauses))
    assert (refused.status, flaw in refused.out) == ((1, True) if clauses else (0, False))


def test_the_cases_of_one_rule_run_alone(hrmdoc: Command) -> None:
    alone = hrmdoc("rules", "test", "--only", "loss-spike")
    assert alone.status == 0
    count = int(alone.out.split()[0])
    both = hrmdoc("rules", "test", "--only", "loss-spike", "--only", "loss-divergence")
    assert 0 < count < int(both.out.split()[0]) < 100
    unknown = hrmdoc("rules", "test", "--only", "loss-spke")
    assert unknown.status == 2
    assert "did you mean 'loss-spike'?" in unknown.err
