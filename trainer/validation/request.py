"""What a validation is asked for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hrmdoc.errors import UsageError

from ..config.schema import EvaluateKeys
from .sizes import SIZES, Size

USUAL_K = (1, 10, 100)


@dataclass(frozen=True, slots=True)
class Request:
    """The options of `hrmdoc validate`; its help explains them."""

    data: str
    out: Path
    size: Size = SIZES["full"]
    gpt2: Path | None = None
    finetune: bool = False
    hrm: Path | None = None
    samples: int = 100
    k: tuple[int, ...] | None = None
    limit: int | None = None
    max_tokens: int | None = None
    temperature: float = 0.8
    top_p: float = 0.95
    timeout_s: int = 5
    seed: int = 42
    numpy_seed: int = 42
    deterministic: bool = True
    compute: float | None = None
    budget: float | None = None
    fresh: bool = False
    expected: str | None = None
    device: str = "auto"
    threads: int = 1

    @property
    def words(self) -> list[str]:
        """The keys of HRM's configuration that are not the size's."""
        found = [f"device={self.device}", f"threads={self.threads}", "dtype=float32", "compile=false"]
        return [*found, f"deterministic={str(self.deterministic).lower()}"]

    @property
    def ks(self) -> tuple[int, ...]:
        """Every k of pass@k; 1 comes first, since the gate is on it."""
        return tuple(dict.fromkeys((1, *(self.k or [k for k in USUAL_K if k <= self.samples]))))

    @property
    def keys(self) -> EvaluateKeys:
        """How programs are written and run."""
        return EvaluateKeys(
            execute_code=True,
            samples=self.samples,
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens or self.size.max_tokens,
            limit=self.limit or self.size.problems,
            timeout_s=self.timeout_s,
        )

    def check(self) -> None:
        """Refuses options that contradict each other.

        Raises:
            UsageError: names them.
        """
        if max(self.ks) > self.samples:
            what = f"pass@{max(self.ks)} needs that many programs a problem, not {self.samples}"
            raise UsageError(what, hint=f"--samples {max(self.ks)}")
        if self.temperature == 0 and self.samples > 1:
            raise UsageError(
                f"--samples {self.samples} at --temperature 0 gives the same program {self.samples} times",
                hint="--temperature 0.8",
            )
        if self.finetune and self.gpt2 is None:
            raise UsageError("--finetune needs weights to start from", hint="--gpt2 DIR")
        if self.compute is not None and self.hrm is not None:
            raise UsageError("--compute is that of the training of both, and --hrm is trained already")

    def identity(self) -> dict[str, Any]:
        """All that the result depends on, beside the data, as plain values."""
        found = asdict(self)
        for name in ("out", "budget", "fresh", "expected", "data", "k"):
            found.pop(name)
        return {**found, "size": self.size.name, "ks": list(self.ks)} | {
            name: None if found[name] is None else str(found[name].absolute()) for name in ("gpt2", "hrm")
        }
