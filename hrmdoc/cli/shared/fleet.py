"""Options of the commands that examine many runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from hrmdoc.fleet.engines import Name

F = TypeVar("F", bound=Callable[..., Any])


def fleet_options(function: F) -> F:
    """`--engine`, `--jobs`, `--fresh`: where and how many at once, and whether anew."""
    function = click.option("--fresh", is_flag=True, help="Examine all anew, and keep nothing.")(function)
    function = click.option(
        "-j", "--jobs", type=click.IntRange(min=1), help="Runs at once (default: as many as there are cores)."
    )(function)
    return click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        help="Where: processes of this machine, or a Ray cluster (RAY_ADDRESS).",
    )(function)


def named(engine: str) -> Name:
    """What `--engine` names."""
    return "ray" if engine == "ray" else "local"
