"""Which editor a config file is opened with."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.json_edit import JsonDocument
from hrmdoc.remedies.editors.overrides import OverridesDocument, is_override_list

if TYPE_CHECKING:
    from hrmdoc.remedies.editors.document import Document


def parse(name: str, text: str) -> Document:
    """The document that a file of this name holds: YAML, JSON (also with comments), Python, or `key=value`
    overrides.

    Raises:
        PatchError: the text cannot be parsed, or the format is not one that hrmdoc edits.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix in {".yaml", ".yml"}:
        from hrmdoc.remedies.editors.yaml_edit import (
            YamlDocument,  # loads ruamel.yaml, which an analysis without a config does not need
        )

        return OverridesDocument(name, text) if is_override_list(name, text) else YamlDocument(name, text)
    if suffix in {".json", ".jsonc", ".json5"}:
        return JsonDocument(name, text)
    if suffix in {"", ".sh", ".bash", ".slurm", ".sbatch", ".txt", ".args"}:
        return OverridesDocument(name, text)
    if suffix == ".py":
        from hrmdoc.remedies.editors.python_edit import PythonDocument  # few configs are Python

        return PythonDocument(name, text)
    raise PatchError(
        f"a {suffix} file is neither read nor edited as a config",
        file=name,
        hint="YAML, JSON, Python and key=value files are",
    )
