"""Signatures and messages of a user's own, in either layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
MESSAGE = """\
subsystem: mine
symptoms:
- id: cache-stale
  title: The token cache is stale
  severity: critical
  playbook: own-rules
  counterexamples:
  - 'tokcache: 12 shards are fresh'
signatures:
- id: cache-refused
  symptom: cache-stale
  pattern: 'tokcache: shard (?P<shard>\\d{1,6}) is stale'
  literals: ['tokcache: shard']
  examples:
  - 'tokcache: shard 7 is stale'
"""
SYMPTOM = """\
id: cache-stale
title: The token cache is stale
severity: critical
playbook: own-rules
when: {lines: {at_least: 1}}
evidence: '{text}'
"""
OLD = MESSAGE[: MESSAGE.index("symptoms:")] + MESSAGE[MESSAGE.index("signatures:") :].replace(
    "  examples:\n  - 'tok", "  example: 'tok"
)


@pytest.fixture(params=["beside", "apart"])
def own(request: pytest.FixtureRequest, apart: Path) -> Path:
    """A rule folder in which the symptom stands beside its signature, or in a file of its own."""
    folder = apart / "mine"
    (folder / "signatures").mkdir(parents=True)
    beside = request.param == "beside"
    (folder / "signatures" / "mine.yaml").write_text(MESSAGE if beside else OLD)
    if not beside:
        (folder / "symptoms").mkdir()
        (folder / "symptoms" / "cache-stale.yaml").write_text(SYMPTOM)
    return folder


def test_it_is_listed_checked_explained_and_found(hrmdoc: Command, apart: Path, own: Path) -> None:
    assert hrmdoc("rules", "check", "mine").status == 0
    assert "cache-stale" in hrmdoc("rules", "list", "mine").out
    (apart / "hrmdoc.toml").write_text('rules = ["mine"]\n')
    assert hrmdoc("trust").status == 0
    assert "tokcache: shard 7 is stale" in hrmdoc("explain", "cache-stale").out
    (apart / "a.log").write_text("tokcache: shard 31 is stale\n")
    found = json.loads(hrmdoc("analyze", "--json", "a.log").out)
    assert "cache-stale" in [symptom["id"] for symptom in found["symptoms"]]


def test_its_examples_are_cases_without_a_case_file(hrmdoc: Command, own: Path) -> None:
    done = hrmdoc("rules", "test", "mine")
    assert done.status == 0
    assert "0 failed" in done.out


def test_a_counterexample_that_opens_it_fails(hrmdoc: Command, own: Path) -> None:
    rules = own / "signatures" / "mine.yaml"
    rules.write_text(MESSAGE.replace("12 shards are fresh", "shard 12 is stale"))
    done = hrmdoc("rules", "test", "mine")
    assert done.status == 1
    assert "cache-stale: cache-refused opens it on its counterexample" in done.out


def test_an_example_that_its_pattern_does_not_match_is_refused(hrmdoc: Command, own: Path) -> None:
    rules = own / "signatures" / "mine.yaml"
    rules.write_text(rules.read_text().replace("shard 7 is stale", "shard 7 is old"))
    done = hrmdoc("rules", "check", "mine")
    assert done.status == 2
    assert "does not match its own example" in done.err
