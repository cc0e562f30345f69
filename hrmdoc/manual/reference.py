"""What programs and rules may ask: commands, the JSON of a diagnosis, measures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import click

from hrmdoc import measures
from hrmdoc.manual.docstrings import prose
from hrmdoc.manual.markup import heading, settled, table
from hrmdoc.reports.explanation import explanation
from hrmdoc.rulebook import Rulebook

WIDTH = 100


def commands_page(group: click.Group) -> str:
    """The help text of each command."""
    parts = ["# Commands", "What `hrmdoc COMMAND --help` prints."]
    outer = click.Context(group, info_name="hrmdoc", terminal_width=WIDTH)
    for name in sorted(group.list_commands(outer)):
        command = group.get_command(outer, name)
        if command is not None:
            parts.append(heading(2, f"hrmdoc {name}", name))
            inner = click.Context(command, info_name=name, parent=outer, terminal_width=WIDTH)
            parts.append(f"```text\n{command.get_help(inner)}\n```")
    return "\n\n".join(parts) + "\n"


def json_page() -> str:
    """The schema of `--json` as a table."""
    text = resources.files("hrmdoc.reports").joinpath("diagnosis.schema.json").read_text("utf-8")
    schema = json.loads(text)
    lead = (
        f"# JSON\n\nWhat `hrmdoc analyze --json` prints, schema `{schema['$id']}`; "
        "`hrmdoc/reports/diagnosis.schema.json` in the package is the same for programs. "
        "`[]` stands for each item of a list."
    )
    return settled(f"{lead}\n\n{table(('key', 'type'), _keys(schema, ''))}") + "\n"


def _keys(schema: Mapping[str, Any], route: str) -> Iterator[tuple[str, str]]:
    for name, one in schema.get("properties", {}).items():
        here = f"{route}{name}"
        yield f"`{here}`", _type(one)
        inner, mark = (one["items"], "[].") if "items" in one else (one, ".")
        if isinstance(inner, Mapping):
            yield from _keys(inner, here + mark)


def _type(one: Mapping[str, Any]) -> str:
    if "const" in one:
        return f"`{one['const']}`"
    if "enum" in one:
        return " or ".join(f"`{value}`" for value in one["enum"])
    if "$ref" in one or "anyOf" in one or "oneOf" in one:
        return "see the schema"
    kind = one.get("type", "any")
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    items = one.get("items", {}).get("type", "") if kind == "array" else ""
    least = f", at least {one['minimum']}" if "minimum" in one else ""
    most = f", at most {one['maximum']}" if "maximum" in one else ""
    return words + (f" of {items}" if items else "") + least + most


def measures_page(book: Rulebook) -> str:
    """Every detector and function that a rule may ask."""
    parts = [
        "# Measures",
        "What rules ask of a run. A detector scores every point; a function of expressions answers once.",
    ]
    for name in measures.names():
        text = explanation(name, Rulebook(symptoms=book.symptoms)) if name not in book.symptoms else None
        if text:
            first, _, rest = text.partition("\n")
            parts.append(
                heading(2, first.removeprefix("# "), name.replace("_", "-"))
                + "\n"
                + settled(prose(rest.replace("\n# ", "\n## ")))  # the second of one name
            )
    return "\n\n".join(parts) + "\n"
