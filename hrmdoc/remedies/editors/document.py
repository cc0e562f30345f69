"""What the editors of all file formats have in common, and the check that an edit did what it should and
nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.scalars import Kind, Plain, Scalar, read, same

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Route = tuple[str | int, ...]


class Leaf(NamedTuple):
    """A value at the end of a route. `tag` tells strings, numbers and empty containers apart; `line` is
    1-based."""

    tag: str
    text: str
    line: int


class Document(Protocol):
    """A config file as text, with the place of each of its values. Edits return the new text and change
    nothing here.

    Attributes:
        leaves: every scalar and every empty container by its route.
        routes: every route there is, those of containers too.
    """

    text: str
    leaves: dict[Route, Leaf]
    routes: set[Route]

    def replace(self, route: Route, value: Scalar) -> str:
        """The text with another value at an existing route."""

    def insert(self, route: Route, value: Scalar) -> str:
        """The text with a route that is not there yet; missing parents are made."""

    def remove(self, route: Route) -> str:
        """The text without `route`."""


class Wanted(NamedTuple):
    """What must stand at a route after an edit; `gone` when nothing may."""

    value: Plain
    kind: Kind
    gone: bool = False


def dotted(route: Route) -> str:
    """`route` as users write it: `arch.loss.name`, `callbacks[0].patience`."""
    text = ""
    for part in route:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def find(document: Document, key: str) -> Route | None:
    """The route of a dotted key, also where the file has a key with the dots in its name. None when it is not
    there."""
    return _descend(document.routes, (), key.split("."))


def _descend(routes: set[Route], route: Route, parts: list[str]) -> Route | None:
    if not parts:
        return route
    for size in range(len(parts), 0, -1):
        name = ".".join(parts[:size])
        steps: Iterable[str | int] = (name, int(name)) if name.isdigit() else (name,)
        for step in steps:
            if (*route, step) in routes:
                found = _descend(routes, (*route, step), parts[size:])
                if found is not None:
                    return found
    return None


def verify(name: str, before: Document, after: Document, wanted: Mapping[Route, Wanted]) -> None:
    """Checks that `after` differs from `before` in exactly the routes of `wanted`, and that these hold what
    was asked for.

    Raises:
        PatchError: naming the first route that differs and should not, or does not hold the new value.
    """
    for route, leaf in after.leaves.items():
        if route not in wanted and not _equal(before.leaves.get(route), leaf):
            raise PatchError(
                f"the edit would also change {dotted(route)}; nothing was written", file=name, line=leaf.line
            )
    made = {route[:size] for route in wanted for size in range(len(route))}
    for route, leaf in before.leaves.items():
        if route not in wanted and route not in after.leaves and route not in made:
            raise PatchError(
                f"the edit would also remove {dotted(route)}; nothing was written", file=name, line=leaf.line
            )
    for route, want in wanted.items():
        _holds(name, after.leaves.get(route), route, want)


def _equal(one: Leaf | None, other: Leaf) -> bool:
    return one is not None and (one.tag, one.text) == (other.tag, other.text)


def _holds(name: str, leaf: Leaf | None, route: Route, want: Wanted) -> None:
    if want.gone:
        if leaf is not None:
            raise PatchError(
                f"{dotted(route)} would still be there; nothing was written", file=name, line=leaf.line
            )
        return
    try:
        found = leaf is not None and same(read(leaf.text, want.kind), want.value)
    except ValueError:
        found = False
    if not found:
        raise PatchError(
            f"{dotted(route)} would not read back as {want.value!r}; nothing was written", file=name
        )
