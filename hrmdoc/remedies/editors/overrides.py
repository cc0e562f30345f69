"""Edits `key=value` tokens: commands in shell scripts, Hydra's override lists, and plain files of
overrides."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection
from dataclasses import dataclass

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Leaf, Route, dotted
from hrmdoc.remedies.editors.scalars import Plain, Scalar, render
from hrmdoc.text import patterns

_KEY = r"[A-Za-z_][\w./@-]*"
_VALUE = r"\"[^\"\r\n]*\"|'[^'\r\n]*'|[^\s\\\"']*"
_TOKEN = patterns.lazy(
    rf"(?<![^\s\"'])(?:--(?P<flag>{_KEY})(?:=|[ "
    rf"\t]+(?=[^\s-]|-[\d.]))|(?:\+{{0,2}}|~)(?P<key>{_KEY})=)(?P<value>{_VALUE})"
    rf"|(?<![^\s\"'])--(?P<switch>{_KEY})(?=[ \t]+(?:-|\\|[|&;<>])|[ \t]*(?:[\r\n\"']|\Z))"
)
_LIST_ITEM = patterns.lazy(r"[ \t]*-[ \t]+[\"']?[+~]{0,2}[A-Za-z_][\w./@-]*=")
_COMMENT = patterns.lazy(r"(?:^|\s)#.*")
_COMMAND = patterns.lazy(
    r"(?:^|[\s\"'])(?:\S*python\S*|torchrun|accelerate|deepspeed|axolotl|hrmdoc|srun|\S+\.py)(?=\s|$)"
)
_ENDS_A_COMMAND = patterns.lazy(r"(?<!\\)\r?\n|&&|\|\|?|(?<![<>&])&(?![>&])|;")
"""What stands between two commands of a script."""


@dataclass(frozen=True, slots=True)
class _Token:
    key: str
    start: int
    value_start: int
    value_end: int
    end: int
    line: int
    flag: bool
    bare: bool = False


def is_override_list(name: str, text: str) -> bool:
    """Whether a YAML file is Hydra's list of overrides: every line is `- key=value`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    del name
    return bool(lines) and all(_LIST_ITEM.match(line) for line in lines)


class OverridesDocument:
    """Override tokens of one file by their dotted key. See `hrmdoc.remedies.editors.document.Document`.

    A route has one part: the key as it is written, dots and all. A key that is given twice can be read but
    not changed. A flag without a value, as in `--bf16`, reads as true.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._tokens: dict[str, list[_Token]] = {}
        self._order: list[_Token] = []
        self._read()
        self.leaves: dict[Route, Leaf] = {}
        for key, tokens in self._tokens.items():
            values = " ".join(
                "true" if token.bare else text[token.value_start : token.value_end] for token in tokens
            )
            self.leaves[(key,)] = Leaf("str", values, tokens[0].line)
        self.routes: set[Route] = set(self.leaves)

    def _read(self) -> None:
        at = 0
        for number, line in enumerate(self.text.splitlines(keepends=True), 1):
            code = _COMMENT.sub(lambda found: " " * len(found[0]), line)
            for found in _TOKEN.finditer(code):
                self._add(found, at, number)
            at += len(line)

    def _add(self, found: re.Match[str], at: int, number: int) -> None:
        bare = found["switch"] is not None
        start, end = (found.end(),) * 2 if bare else found.span("value")
        start, end = start + at, end + at
        quote = not bare and self.text[start : start + 1] in {'"', "'"} and end - start >= 2
        token = _Token(
            found["key"] or found["flag"] or found["switch"],
            found.start() + at,
            start + quote,
            end - quote,
            end,
            number,
            bare or bool(found["flag"]),
            bare,
        )
        self._tokens.setdefault(token.key, []).append(token)
        self._order.append(token)

    def _one(self, route: Route) -> _Token:
        tokens = self._tokens[str(route[0])]
        if len(tokens) > 1:
            lines = ", ".join(str(token.line) for token in tokens)
            raise PatchError(
                f"{dotted(route)} is given {len(tokens)} times (lines {lines})",
                file=self.name,
                line=tokens[0].line,
            )
        return tokens[0]

    def as_typed(self, route: Route) -> str:
        """The key with the dashes that stand before it."""
        return ("--" if self._one(route).flag else "") + dotted(route)

    def replace(self, route: Route, value: Scalar) -> str:
        """The text with another value for one override."""
        token = self._one(route)
        if token.bare:
            raise PatchError(f"--{token.key} is given without a value", file=self.name, line=token.line)
        old = self.text[token.value_start : token.value_end]
        if "$" in old:
            raise PatchError(
                f"{dotted(route)} takes its value from a variable: {old}", file=self.name, line=token.line
            )
        return self.text[: token.value_start] + _safe(value.text) + self.text[token.value_end :]

    def is_bare(self, route: Route) -> bool:
        """Whether it is a flag that stands without a value, so that it is switched off by leaving it out."""
        return any(token.bare for token in self._tokens.get(str(route[0]), ()))

    def insert(self, route: Route, value: Scalar, beside: Collection[str] = (), *, bare: bool = False) -> str:
        """The text with one more override: after the last one, in the same layout.

        Args:
            beside: keys of which the command has at least one; of a script with several commands it is
                the one that gets the word.
            bare: a switch that is on stands without a value, as `--bf16`.

        Raises:
            PatchError: which command is meant cannot be told.
        """
        tokens = self._command_of(route, beside)
        last = tokens[-1] if tokens else None
        token = f"{'--' if last is not None and last.flag else ''}{dotted(route)}"
        token += "" if bare and value.text == "true" else f"={_safe(value.text)}"
        if last is None:
            return self._after_command(token)
        begin = self.text.rfind("\n", 0, last.start) + 1
        lead = self.text[begin : last.start]
        close = len(self.text) if (stop := self.text.find("\n", last.end)) < 0 else stop
        rest = self.text[last.end : close].rstrip("\r")
        newline = "\r\n" if "\r\n" in self.text else "\n"
        if item := re.match(r"[ \t]*-[ \t]+", lead):
            end = last.end + len(rest)
            return f"{self.text[:end]}{newline}{item[0]}{token}{self.text[end:]}"
        if not lead.strip() and rest.strip() in {"", "\\"} and self._one_a_line(begin):
            joint = f"{newline}{lead}" if self._plain_file() else f" \\{newline}{lead}"
            return f"{self.text[: last.end]}{joint}{token}{self.text[last.end :]}"
        around = self.text[max(0, last.start - 1) : last.start]
        gap = last.end + (around in {'"', "'"} and self.text[last.end : last.end + 1] == around)
        return f"{self.text[:gap]} {token}{self.text[gap:]}"

    def _command_of(self, route: Route, beside: Collection[str]) -> list[_Token]:
        """The overrides of the command that a new one belongs to; assignments of environment variables
        before a command are none. Flags that stand alone have their place behind those with values."""
        if self._plain_file():
            return self._order
        commands = self._commands()
        held = [one for one in commands if not beside or any(token.key in beside for token in one)]
        if len(held) > 1 or (commands and not held):
            raise PatchError(
                f"which of the commands takes {dotted(route)} cannot be told", file=self.name,
                hint="add it by hand to the one that trains",
            )  # fmt: skip
        found = held[0] if held else []
        return [token for token in found if not token.bare] or found

    def _commands(self) -> list[list[_Token]]:
        """The overrides of each command that starts a program, of those that have any."""
        text = _blanked(self.text)
        ends = [found.start() for found in _ENDS_A_COMMAND.finditer(text)]
        parts = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
        commands: dict[int, list[_Token]] = {}
        for token in self._order:
            number = bisect(ends, token.start)
            if not token.key.isupper() and _COMMAND.search(parts[number]):
                commands.setdefault(number, []).append(token)
        return list(commands.values())

    def _plain_file(self) -> bool:
        return not _COMMAND.search(self.text)

    def _one_a_line(self, begin: int) -> bool:
        before = self.text[:begin].rstrip("\r\n")
        return self._plain_file() or before.endswith("\\")

    def _after_command(self, token: str) -> str:
        commands = [
            line for line in re.finditer(r"[^\r\n]+", _blanked(self.text)) if _COMMAND.search(line[0])
        ]
        if len(commands) != 1:
            what = "no command" if not commands else f"{len(commands)} commands"
            raise PatchError(
                f"{what} in the file that an override could be added to",
                file=self.name,
                hint=f"add {token} by hand",
            )
        end = commands[0].start() + len(commands[0][0].rstrip(" \t\\"))
        return f"{self.text[:end]} {token}{self.text[end:]}"

    def remove(self, route: Route) -> str:
        """The text without one override; its line goes too when nothing else stands on it."""
        token = self._one(route)
        begin = self.text.rfind("\n", 0, token.start) + 1
        stop = self.text.find("\n", token.end)
        stop = len(self.text) if stop < 0 else stop + 1
        lead, rest = self.text[begin : token.start], self.text[token.end : stop]
        if re.fullmatch(r"[ \t]*(?:-[ \t]+)?[\"']?", lead) and re.fullmatch(r"[\"']?[ \t]*\r?\n?", rest):
            return self._without_line(begin, stop)
        if not lead.strip() and re.fullmatch(r"[ \t]*\\\r?\n", rest):
            return self.text[:begin] + self.text[stop:]
        return self.text[: len(self.text[: token.start].rstrip(" \t"))] + self.text[token.end :]

    def _without_line(self, begin: int, stop: int) -> str:
        """A last line that goes takes the continuation mark of the line before with it."""
        head = self.text[:begin]
        if found := re.search(r"[ \t]*\\(\r?\n)\Z", head):
            head = head[: found.start()] + found[1]
        return head + self.text[stop:]


def _blanked(text: str) -> str:
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


def _safe(text: str) -> str:
    if not re.fullmatch(r"[\w.+,:/@-]*", text):
        raise PatchError(
            f"the value {text!r} needs quoting that differs from shell to shell", hint="edit by hand"
        )
    return text


def override(key: str, value: Plain, like: str | None = None) -> str:
    """One `key=value` token, or `~key` for a removal, as one types it after the command."""
    return f"~{key}" if value is None else f"{key}={render(value, like).text}"
