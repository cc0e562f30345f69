"""Whether RANK, WORLD_SIZE, LOCAL_RANK and MASTER_* fit together."""

from __future__ import annotations

from collections.abc import Mapping

_COUNTS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def rank_problem(variables: Mapping[str, str]) -> str | None:
    """What is wrong with the launch environment, "" when it fits, None when nothing of it is set.

    `env://` rendezvous needs RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT together; ranks count from 0 to
    WORLD_SIZE - 1.
    """
    if not any(name in variables for name in (*_COUNTS, "MASTER_ADDR", "MASTER_PORT")):
        return None
    counts: dict[str, int] = {}
    for name in _COUNTS:
        text = variables.get(name)
        if text is not None and not text.isdigit():
            return f"{name}={text} is not a whole number"
        if text is not None:
            counts[name] = int(text)
    return (
        _range_problem(counts) or _missing(variables, counts) or _port_problem(variables.get("MASTER_PORT"))
    )


def _range_problem(counts: Mapping[str, int]) -> str:
    for rank, size in (
        ("RANK", "WORLD_SIZE"),
        ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
        ("LOCAL_WORLD_SIZE", "WORLD_SIZE"),
    ):
        high = (
            rank in counts and size in counts and counts[rank] >= counts[size] + (rank == "LOCAL_WORLD_SIZE")
        )
        if high:
            return f"{rank}={counts[rank]} is not below {size}={counts[size]}"
    return "WORLD_SIZE=0 leaves no process" if counts.get("WORLD_SIZE") == 0 else ""


def _missing(variables: Mapping[str, str], counts: Mapping[str, int]) -> str:
    if counts.get("WORLD_SIZE", 1) <= 1 and "RANK" not in counts:
        return ""
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in variables]
    return f"{', '.join(missing)} not set, others are" if missing else ""


def _port_problem(text: str | None) -> str:
    good = text is None or (text.isdigit() and 0 < int(text) < 65536)
    return "" if good else f"MASTER_PORT={text} is not a port"
