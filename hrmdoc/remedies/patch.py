"""What a remedy changes in the user's own files, ready to be shown or written."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hrmdoc.remedies.editors.scalars import Plain

Risk = Literal["safe", "guarded", "manual"]


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key before and after, in the framework's own spelling and units.

    Attributes:
        key: the canonical key.
        file: where it is changed; "" when only text to paste or overrides are given.
        path: the framework's own dotted key.
        before: the value in the file, or the framework's default, or what the run reported; None when
            unknown.
        after: the new value; None when the key is removed.
        line: 1-based line of the old value, None for a key that is added.
    """

    key: str
    file: str
    path: str
    before: Plain
    after: Plain
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A whole file before and after."""

    path: Path
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Patch:
    """What a remedy changes, ready to be shown or written.

    Attributes:
        overrides: the same change as words for the command line.
        paste: text for a Python file, "" when a config file is edited.
        notes: what the user should know before writing.
    """

    remedy: str
    title: str
    risk: Risk
    why: str
    framework: str
    changes: tuple[KeyChange, ...]
    edits: tuple[FileEdit, ...]
    overrides: str
    paste: str = ""
    notes: tuple[str, ...] = ()

    def diff(self) -> str:
        """A unified diff as git writes it, names relative to the working folder; "" when no file is
        edited."""
        return "".join(_diff(edit) for edit in self.edits)


def _diff(edit: FileEdit) -> str:
    path, here = edit.path.absolute(), Path.cwd()
    name = (path.relative_to(here) if here in path.parents else path).as_posix().lstrip("/")
    before, after = (_lines_with_ends(blob.decode("utf-8")) for blob in (edit.before, edit.after))
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines_with_ends(text: str) -> list[str]:
    """Lines as `git` and `patch` count them: only a line feed ends one."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
