"""The architecture of a model: HRM's keys, and the switches of the Tiny Recursive Model."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hrmdoc.errors import ConfigError

POSITIONS = ("rope", "learned", "none")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
Q_TARGETS = ("separate", "reuse")


@dataclass
class ArchConfig:
    """HRM's `arch.*` keys with their defaults, then TRM's switches (all off, `puzzle_emb_len` derived).

    `causal` hides later positions and reads the halting values at the last position. `q_target` says where
    the value of going on comes from: 'separate' is HRM's second forward pass; 'reuse' takes the next step's
    own forward pass, a step late, which saves the second pass but trains that value through the Q head only,
    and not for rows that have halted.
    """

    name: str = "hrm.hrm_act_v1@HierarchicalReasoningModel_ACTV1"
    halt_exploration_prob: float = 0.1
    halt_max_steps: int = 16
    H_cycles: int = 2
    L_cycles: int = 2
    H_layers: int = 4
    L_layers: int = 4
    hidden_size: int = 512
    num_heads: int = 8
    expansion: float = 4
    puzzle_emb_ndim: int = 512
    pos_encodings: str = "rope"
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    forward_dtype: str = "bfloat16"
    loss_type: str = "stablemax_cross_entropy"
    single_net: bool = False
    full_backprop: bool = False
    no_act_continue: bool = False
    mlp_t: bool = False
    puzzle_emb_len: int | None = None
    causal: bool = False
    q_target: str = "separate"

    @property
    def prefix_len(self) -> int:
        """Prefix positions that carry the puzzle embedding."""
        if self.puzzle_emb_ndim == 0:
            return 0
        return (
            -(-self.puzzle_emb_ndim // self.hidden_size)
            if self.puzzle_emb_len is None
            else self.puzzle_emb_len
        )

    def check(self) -> None:
        """Raises ConfigError for values that no model can be built from."""
        self._check_sizes()
        self._check_choices()
        if self.causal and self.mlp_t:
            raise ConfigError(
                "arch.causal=true and arch.mlp_t=true: an MLP over the positions sees the later ones"
            )
        if not 0 <= self.halt_exploration_prob <= 1:
            raise ConfigError(
                f"arch.halt_exploration_prob is {self.halt_exploration_prob}, it must be between 0 and 1"
            )

    def _check_sizes(self) -> None:
        counts = ["halt_max_steps", "H_cycles", "L_cycles", "L_layers", "hidden_size", "num_heads"]
        for key in [*counts, *([] if self.single_net else ["H_layers"])]:
            if getattr(self, key) < 1:
                raise ConfigError(f"arch.{key} is {getattr(self, key)}, it must be at least 1")
        if self.hidden_size % self.num_heads:
            raise ConfigError(
                f"arch.hidden_size {self.hidden_size} is no multiple of arch.num_heads {self.num_heads}"
            )
        if self.pos_encodings == "rope" and not self.mlp_t and self.hidden_size // self.num_heads % 2:
            raise ConfigError(
                f"rotary positions need an even head size, not {self.hidden_size // self.num_heads}"
            )
        if self.puzzle_emb_ndim < 0 or self.prefix_len * self.hidden_size < self.puzzle_emb_ndim:
            raise ConfigError(
                f"arch.puzzle_emb_ndim {self.puzzle_emb_ndim} does not fit into "
                f"{self.prefix_len} prefix positions"
            )

    def _check_choices(self) -> None:
        for key, known in (("pos_encodings", POSITIONS), ("forward_dtype", DTYPES), ("q_target", Q_TARGETS)):
            if getattr(self, key) not in known:
                raise ConfigError(
                    f"unknown arch.{key} {getattr(self, key)!r}", hint=f"one of: {', '.join(known)}"
                )
