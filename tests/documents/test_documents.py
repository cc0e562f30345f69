"""What five documents on sick training runs say holds for a user: each row names a small input that goes
through the command line, the cause that has to be among the first two, and the remedy with its value.

A file is one document. `bases` are healthy runs (`metrics`, in the notation of the cases of rules; `name@20`
has a point every 20 steps; `config`, a YAML file). A row states what differs from its base, and what is
expected:

    row: what the document says
    base, metrics, config: the run; `null` takes a metric or key of the base out
    config_file: another name for the config
    lines: a text log, `training.log`;  files: other files by name;  seconds: between two steps of the metrics
    command: analyze (default) or preflight;  args: further words
    shows: symptoms;  cause: one of them is among the first two;  verdict: one of them is given
    patch: {the config's own key: value} of remedies of these causes (of all where no cause stands)
    within: {the config's own key: [least, most]}, where the document gives a range
    says: words in such remedies, in the next check, or on the pages that the answer links
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from hrmdoc.cli.main import main
from hrmdoc.examination.cases.notation import series_from
from hrmdoc.paths import data_dir

FOLDER = Path(__file__).parent
LEADING = 2
STARTED = 1_770_000_000.0


@dataclass(frozen=True)
class Row:
    """One row of a document, joined with its base."""

    title: str
    metrics: dict[str, str]
    config: dict[str, Any]
    wanted: dict[str, Any]


def rows(path: Path) -> Iterator[Row]:
    """The rows of one document."""
    document = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    for row in document["rows"]:
        base = document["bases"][row["base"]] if "base" in row else {}
        metrics = {**base.get("metrics", {}), **row.get("metrics", {})}
        config = joined(base.get("config", {}), row.get("config", {}))
        yield Row(row["row"], {k: v for k, v in metrics.items() if v is not None}, config, row)


def joined(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """`base` with the keys of `other`, at any depth; `None` takes a key out."""
    both = {**base, **other}
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            both[key] = joined(base[key], value)
    return {key: value for key, value in both.items() if value is not None}


def write(row: Row, folder: Path) -> list[str]:
    """Writes the input of a row; the paths to read."""
    made = dict(row.wanted.get("files", {}))
    if row.metrics:
        made["metrics.jsonl"] = "".join(json.dumps(point) + "\n" for point in points(row))
    if "lines" in row.wanted:
        made["training.log"] = "\n".join(row.wanted["lines"]) + "\n"
    configs = [row.wanted.get("config_file", "config.yaml")] if row.config else []
    for name in configs:
        with (folder / name).open("w") as file:
            YAML(typ="safe", pure=True).dump(row.config, file)
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    preflight = row.wanted.get("command") == "preflight"
    return [row.wanted.get("config_file", "config.yaml")] if preflight else sorted(made) + configs


def points(row: Row) -> Iterator[dict[str, float]]:
    """One object a step, with the metrics that have a value there."""
    by_step: dict[int, dict[str, float]] = {}
    for name, notation in row.metrics.items():
        metric, _, every = name.partition("@")
        for at, value in enumerate(series_from(str(notation), seed=row.title + metric)):
            if not np.isnan(value) or "nan" in str(notation):
                by_step.setdefault(at * int(every or 1), {})[metric] = float(value)
    seconds = row.wanted.get("seconds")
    for step in sorted(by_step):
        clock = {} if seconds is None else {"timestamp": STARTED + step * seconds}
        yield {"step": step, **clock, **by_step[step]}


DOCUMENTS = sorted(FOLDER.glob("*.yaml"))
CASES = [pytest.param(row, id=f"{path.stem}: {row.title}") for path in DOCUMENTS for row in rows(path)]


@pytest.mark.parametrize("row", CASES)
def test_a_row_holds(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(run)
    command, paths = row.wanted.get("command", "analyze"), write(row, run)
    capfd.readouterr()
    main([command, *paths, "--json", *map(str, row.wanted.get("args", ()))])
    out, err = capfd.readouterr()
    assert out, err
    hold(json.loads(out), row.wanted)


def hold(answer: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compares an answer with what a row wants."""
    shown = {one["id"] for one in answer["symptoms"]}
    ranked = [one["cause"] for one in answer["hypotheses"]]
    causes = wanted.get("cause", ranked)
    assert set(wanted.get("shows", ())) <= shown, (shown, ranked)
    assert answer["verdict"] in wanted.get("verdict", [answer["verdict"]]), (answer["verdict"], shown)
    assert "cause" not in wanted or set(causes) & set(ranked[:LEADING]), (ranked[:5], shown)
    remedies = [r for one in answer["hypotheses"] if one["cause"] in causes for r in one["remedies"]]
    hold_remedies(remedies, wanted)
    if "says" in wanted:
        text = plain(advice(answer, remedies, causes))
        assert [words for words in wanted["says"] if plain(words) not in text] == []


def hold_remedies(remedies: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
    """The values that a row wants are among those of the remedies."""
    changes = every_change(remedies)
    offered = changes, [remedy["id"] for remedy in remedies]
    missing = {key: value for key, value in wanted.get("patch", {}).items() if (key, value) not in changes}
    assert not missing, (missing, offered)
    for key, (least, most) in wanted.get("within", {}).items():
        assert any(k == key and least <= v <= most for k, v in changes), (key, offered)


def every_change(remedies: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(change["path"], change["to"]) for remedy in remedies for change in remedy["patch"]]


def advice(answer: dict[str, Any], remedies: list[dict[str, Any]], causes: list[str]) -> str:
    """All that the answer says and links of these causes and of what shows."""
    linked = [one["playbook"] for one in answer["symptoms"]]
    linked += [one["playbook"] for one in answer["hypotheses"] if one["cause"] in causes]
    return "\n".join(
        [json.dumps(remedies, ensure_ascii=False), answer["next_check"] or "", *map(page, linked)]
    )


@cache
def page(link: str) -> str:
    """The page of the playbook that a link leads to."""
    return (data_dir("playbooks") / f"{link.partition('#')[0]}.md").read_text("utf-8")


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\\n", " ").replace('\\"', '"')).lower()
