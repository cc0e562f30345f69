"""What one run of the lab is, and where its result is kept."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
RUNS = Path(__file__).parents[2] / "runs" / "lab"
"""Kept runs: one folder each, named by its content key. Not under version control."""

HRM_PROGRAMS = ("hrm-small", "hrm-easy", "trm")
LIBRARIES = {
    "hf-trainer": "transformers.trainer",
    "keras": "keras",
    "lightning": "lightning.pytorch",
    "trl-dpo": "trl.trainer.dpo_trainer",
    "trl-grpo": "trl.trainer.grpo_trainer",
    "trl-sft": "trl.trainer.sft_trainer",
}
"""Programs that train through a real library, and the module of it that they need. All are optional."""

SCRIPTS = {"keras": "keras_fit.py", "lightning": "lightning_fit.py"}
"""Where a script of the program's own name would hide the library."""

HRM_SETTINGS: dict[str, tuple[str, ...]] = {
    "hrm-small": ("preset=demo", "epochs=8", "eval_interval=2", "log_interval=8"),
    "hrm-easy": (
        "preset=demo",
        "epochs=8",
        "eval_interval=2",
        "log_interval=8",
        "arch.hidden_size=24",
        "arch.num_heads=2",
        "arch.halt_max_steps=2",
    ),
    "trm": (
        "preset=demo",
        "epochs=8",
        "eval_interval=2",
        "log_interval=8",
        "arch.single_net=true",
        "arch.full_backprop=true",
        "arch.no_act_continue=true",
        "arch.mlp_t=true",
        "arch.halt_max_steps=3",
        "ema=true",
    ),
}
"""The reference run: 4x4 Sudoku in two sizes, and the switches of the Tiny Recursive Model."""

READ = ("autoencoder", "deep-q", "actor-critic", "speech", "detector")
"""Written before their author had read a rule; their runs were looked at afterwards."""
UNREAD = ("segmenter", "recommender")
"""The same, of which nobody who works on rules has looked at a run: totals alone are told of them."""
TRAINING = ("hrm-small", "hrm-easy", "gpt", "classifier", "novice", "adversaries", *READ)
"""Programs whose runs were looked at while rules were written; figures on the others are kept apart."""
BLIND = ("keras", "lightning", "trl-dpo", "trl-grpo", "trl-sft", *UNREAD)
"""Programs that came after the rules; nobody who works on rules had seen a run of them when they were first
measured."""
HELD_OUT = ("trm", "grpo", "regression", "process", "hf-trainer", *BLIND)
"""Programs that no rate is ever estimated from."""

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Spec:
    """One run.

    Attributes:
        program: which training program.
        fault: name of the defect put into it; "" for a healthy run.
        causes: ids of the causes that a diagnosis should name, the first the exact one; more where the rules
            split one defect.
        seed: of data, model and order.
        settings: what is set otherwise than the program's defaults.
        strength: how bad the fault is; each fault says what it means. None is its default.
        onset: first step that is affected, None when the fault is there from the start.
        note: what is odd about a healthy run.
    """

    program: str
    fault: str = ""
    causes: tuple[str, ...] = ()
    seed: int = 0
    settings: Mapping[str, Value] = field(default_factory=dict)
    strength: float | None = None
    onset: int | None = None
    note: str = ""

    @property
    def healthy(self) -> bool:
        return not self.fault

    @property
    def name(self) -> str:
        """Readable, and unique together with the key."""
        return f"{self.program}-{self.fault or self.note or 'healthy'}-{self.seed}"

    def as_json(self) -> dict[str, Any]:
        """What a program needs to know."""
        given = {
            "program": self.program,
            "fault": self.fault,
            "seed": self.seed,
            "settings": dict(sorted(self.settings.items())),
        }
        return {**given, "strength": self.strength, "onset": self.onset}

    def key(self) -> str:
        """Twenty hexadecimal digits of what determines the run: the specification and the programs' own
        code."""
        text = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.sha256(f"{text}\0{program_digest(self.program)}".encode()).hexdigest()[:20]

    def folder(self) -> Path:
        """Where the run lies, or will lie."""
        return RUNS / self.program / f"{self.fault or self.note or 'healthy'}-{self.key()}"


def script_of(program: str) -> Path:
    """The script of a program that is not the reference run."""
    return PROGRAMS / SCRIPTS.get(program, f"{program.replace('-', '_')}.py")


@cache
def program_digest(program: str) -> str:
    """Digest of the code that a program consists of, whatever its layout; the reference run goes by its
    settings."""
    if program in HRM_PROGRAMS:
        return " ".join(HRM_SETTINGS[program])
    own = script_of(program).name
    names: tuple[str, ...] = (own,)
    if program == "process":
        names = (own, "ranks.py")
    elif program.startswith("trl-"):
        names = ("trl_base.py", own)
    elif program in READ + UNREAD:
        names = ("authored.py", own)
    elif program in ("gpt", "classifier", "regression"):
        names = (*sorted(path.name for path in PROGRAMS.glob("toy*.py")), own)
    digest = hashlib.sha256()
    for name in names:
        digest.update(ast.dump(ast.parse((PROGRAMS / name).read_bytes())).encode())
    return digest.hexdigest()[:16]
