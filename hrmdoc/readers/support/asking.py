"""Which readers need not be asked about a file: what each must find at its beginning or in its name.

To load every reader takes a tenth of a short run. What stands here only saves that: a reader that is asked
decides for itself, and one that does not stand here is always asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Wants(NamedTuple):
    """What a reader needs one of.

    Attributes:
        first: the first byte after a mark of the encoding and white space is among these.
        holds: one of these, in small letters, stands in the first 64 KiB.
        named: one of these stands in the name of the file, in small letters.
    """

    first: bytes = b""
    holds: tuple[bytes, ...] = ()
    named: tuple[str, ...] = ()

    def met_by(self, path: Path, head: bytes, lower: bytes) -> bool:
        """Whether a file of this name and beginning has one of them. `lower`: `head` in small letters."""
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        printed = start.startswith(b"{") and start[1:].lstrip().startswith(b"'")  # by Python: no JSON
        name = path.name.lower()
        return (
            (start != b"" and start[:1] in self.first and not printed)
            or any(one in lower for one in self.holds)
            or any(one in name for one in self.named)
        )


_OBJECT = Wants(first=b"{")
_JSON = Wants(first=b"[{")
_SQLITE = Wants(first=b"S")
_WANTS = {
    "clearml": _JSON,
    "comet": _OBJECT,
    "configs": Wants(named=(".json", ".py", ".yaml", ".yml")),
    "envelopes": _JSON,
    "exposition": Wants(holds=(b"dcgm_fi_", b"node_")),
    "flight_recorder": Wants(first=b"\x80"),
    "hf_state": _OBJECT,
    "json_history": _JSON,
    "jsonl": _OBJECT,
    "neptune": _OBJECT,
    "notebook": _OBJECT,
    "nvidia_smi": Wants(b"#", (b"utilization.", b"memory.used", b"temperature.gpu", b"power.draw")),
    "optuna": _SQLITE,
    "otlp": _OBJECT,
    "powermetrics": Wants(holds=(b"sampled system activity",)),
    "prometheus": Wants(first=b"#{"),
    "run_json": _OBJECT,
    "slurm": Wants(b"{", (b"state", b"job id:")),
    "swanlab": Wants(first=b":"),
    "tfevents": Wants(holds=(b"\x09",), named=("tfevents",)),
    "torchrun": Wants(named=(".json",)),
    "trackio": _SQLITE,
    "trials": Wants(holds=(b"trial ", b"result for ", b"a new study created")),
    "wandb": Wants(b":", named=(".wandb", "wandb-metadata.json")),
}


def asked(names: tuple[str, ...], path: Path, head: bytes) -> list[str]:
    """Those of the readers `names` that may want a file with this name and these first bytes."""
    lower = head.lower()
    return [name for name in names if name not in _WANTS or _WANTS[name].met_by(path, head, lower)]
