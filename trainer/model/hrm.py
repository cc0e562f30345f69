"""The Hierarchical Reasoning Model with adaptive computation time (ACT).

Wang et al., "Hierarchical Reasoning Model", arXiv 2506.21734. The switches of the Tiny Recursive Model (arXiv
2510.04871) are fields of the same configuration: `single_net`, `full_backprop`, `no_act_continue`, `mlp_t`,
`puzzle_emb_len`.

Shape suffixes: B batch, S positions (puzzle prefix, then tokens), D hidden size, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hrmdoc.errors import ConfigError

from ..data.info import IGNORE, DataInfo
from ..native import native
from ..native.native import NativeLevel, NativeStep
from ..parallel.world import World
from .layers import (
    Block,
    Cache,
    Embedding,
    Linear,
    Rotary,
    RotaryEmbedding,
    cast,
    check_backend,
    trunc_normal,
)
from .sparse import SparseEmbedding

Batch = dict[str, Tensor]
POSITIONS = ("rope", "learned", "none")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
Q_TARGETS = ("separate", "reuse")
Q_BIAS = -5.0  # both values start near "neither": halting is learned, not guessed


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
        for key in ("halt_max_steps", "H_cycles", "L_cycles", "L_layers", "hidden_size", "num_heads"):
            if getattr(self, key) < 1:
                raise ConfigError(f"arch.{key} is {getattr(self, key)}, it must be at least 1")
        if not self.single_net and self.H_layers < 1:
            raise ConfigError(f"arch.H_layers is {self.H_layers}, it must be at least 1")
        if self.hidden_size % self.num_heads:
            raise ConfigError(
                f"arch.hidden_size {self.hidden_size} is no multiple of arch.num_heads {self.num_heads}"
            )
        if self.pos_encodings == "rope" and not self.mlp_t and self.hidden_size // self.num_heads % 2:
            raise ConfigError(
                f"rotary positions need an even head size, not {self.hidden_size // self.num_heads}"
            )
        if self.pos_encodings not in POSITIONS:
            raise ConfigError(
                f"unknown arch.pos_encodings {self.pos_encodings!r}", hint=f"one of: {', '.join(POSITIONS)}"
            )
        if self.forward_dtype not in DTYPES:
            raise ConfigError(
                f"unknown arch.forward_dtype {self.forward_dtype!r}", hint=f"one of: {', '.join(DTYPES)}"
            )
        if self.q_target not in Q_TARGETS:
            raise ConfigError(
                f"unknown arch.q_target {self.q_target!r}", hint=f"one of: {', '.join(Q_TARGETS)}"
            )
        if self.causal and self.mlp_t:
            raise ConfigError(
                "arch.causal=true and arch.mlp_t=true: an MLP over the positions sees the later ones"
            )
        if not 0 <= self.halt_exploration_prob <= 1:
            raise ConfigError(
                f"arch.halt_exploration_prob is {self.halt_exploration_prob}, it must be between 0 and 1"
            )
        if self.puzzle_emb_ndim < 0 or self.prefix_len * self.hidden_size < self.puzzle_emb_ndim:
            raise ConfigError(
                f"arch.puzzle_emb_ndim {self.puzzle_emb_ndim} does not fit into {self.prefix_len} prefix positions"
            )


@dataclass
class Carry:
    """What one ACT step hands to the next, a row per puzzle in flight.

    z_H, z_L: [B, S, D] in the forward dtype. steps: int32 [B], ACT steps taken. halted: bool [B], the row is
    replaced at the next call. current_data: the batch of puzzles in flight. q_state: [B, D], what the Q head
    read in this step; only with `q_target='reuse'`.
    """

    z_H: Tensor
    z_L: Tensor
    steps: Tensor
    halted: Tensor
    current_data: Batch
    q_state: Tensor | None = None


class Level(nn.Module):
    """A stack of blocks that takes the other level's state as an injection."""

    def __init__(self, blocks: list[Block]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(blocks)

    def forward(
        self,
        state_BSD: Tensor,
        injection_BSD: Tensor,
        rotary: Rotary | None,
        cache: Cache | None = None,
        first: bool = False,
    ) -> Tensor:
        """The new state [B, S, D]; with `first` only position 0, [B, 1, D]: the last block need not compute
        the rest."""
        x = state_BSD + injection_BSD
        for index, block in enumerate(self.layers, 1):
            x = block(x, rotary, cache, first and index == len(self.layers))
        return x


class Core(nn.Module):
    """One ACT step: the cycles of the two levels and the heads. Compile this part
    (`model.core.compile()`)."""

    def __init__(self, arch: ArchConfig, data: DataInfo, attention: str) -> None:
        super().__init__()
        self.H_cycles, self.L_cycles = arch.H_cycles, arch.L_cycles
        self.full_backprop = arch.full_backprop
        self.causal = arch.causal
        # The halting values need one position. It is the first, which in a causal model has seen nothing:
        # there it is the last.
        self.q_place = -1 if arch.causal else 0
        self.short = not arch.causal
        length = data.seq_len + arch.prefix_len

        def level(count: int) -> Level:
            mix = length if arch.mlp_t else None
            sizes = (arch.hidden_size, arch.num_heads, arch.expansion, arch.rms_norm_eps)
            return Level([Block(*sizes, attention, mix, arch.causal) for _ in range(count)])

        self.L_level = level(arch.L_layers)
        self.H_level = None if arch.single_net else level(arch.H_layers)
        rope = arch.pos_encodings == "rope" and not arch.mlp_t
        self.rotary = (
            RotaryEmbedding(arch.hidden_size // arch.num_heads, length, arch.rope_theta) if rope else None
        )
        self.native: tuple[NativeLevel, NativeLevel] | None = None  # L and H
        self.lm_head = Linear(arch.hidden_size, data.vocab_size)
        self.q_head = Linear(arch.hidden_size, 2, bias=True)
        with torch.no_grad():
            self.q_head.weight.zero_()
            assert self.q_head.bias is not None
            self.q_head.bias.fill_(Q_BIAS)

    def forward(
        self, z_H: Tensor, z_L: Tensor, x_BSD: Tensor, logits: bool = True, cache: Cache | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Returns (z_H, z_L, q float32 [B, 2] as halt and continue, logits [B, S, V]).

        Without `logits` only q is wanted: the logits are None and z_H may be that of the first position
        alone.
        """
        rotary = None if self.rotary is None else self.rotary()
        if rotary is not None and self.causal:
            begin = 0 if cache is None else cache.length
            here = slice(
                begin, begin + x_BSD.shape[1]
            )  # a causal model also takes fewer tokens than the dataset's length
            rotary = rotary[0][here], rotary[1][here]
        if self.native is None or cache is not None or torch.is_grad_enabled():
            z_H, z_L = self._passes(z_H, z_L, x_BSD, rotary, logits, cache)
        else:
            plan = ("L" * self.L_cycles + "H") * self.H_cycles
            z_L, z_H = native.cycles(*self.native, z_L, z_H, x_BSD, plan if logits else plan[:-1] + "h")
        return z_H, z_L, self.q_head(z_H[:, self.q_place]).float(), self.lm_head(z_H) if logits else None

    def _passes(
        self,
        z_H: Tensor,
        z_L: Tensor,
        x_BSD: Tensor,
        rotary: Rotary | None,
        logits: bool,
        cache: Cache | None,
    ) -> tuple[Tensor, Tensor]:
        L_level: Level = self.L_level
        H_level: Level = self.L_level if self.H_level is None else self.H_level
        with torch.no_grad():
            for _ in range(self.H_cycles - 1):
                injection = z_H + x_BSD
                for _ in range(self.L_cycles):
                    z_L = L_level(z_L, injection, rotary, cache)
                z_H = H_level(z_H, z_L, rotary, cache)
        # HRM's one-step gradient reaches the last pass of each level; TRM's goes through the whole last
        # cycle.
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.full_backprop):
            if self.L_cycles > 1:
                injection = z_H + x_BSD
                for _ in range(self.L_cycles - 1):
                    z_L = L_level(z_L, injection, rotary, cache)
        z_L = L_level(z_L, z_H + x_BSD, rotary, cache)
        return H_level(z_H, z_L, rotary, cache, not logits and self.short), z_L


class HRM(nn.Module):
    """HRM as trained: each call is one ACT step (one segment of deep supervision) for every row of the carry.

    Args:
        arch: the architecture.
        data: sizes of the vocabulary, the sequence and the puzzle table.
        batch_size: rows per training batch on this rank; evaluation takes any number.
        attention: 'sdpa', 'flash' (float16 and bfloat16 on CUDA) or 'naive' (for reading and testing).
    """

    H_init: Tensor
    L_init: Tensor

    def __init__(self, arch: ArchConfig, data: DataInfo, batch_size: int, attention: str = "sdpa") -> None:
        super().__init__()
        arch.check()
        self.arch, self.data = arch, data
        self.dtype = DTYPES[arch.forward_dtype]
        check_backend(attention, self.dtype)
        D = arch.hidden_size
        self.scale = math.sqrt(D)
        self.prefix_len = arch.prefix_len
        self.embed_tokens = Embedding(data.vocab_size, D, 1 / self.scale, self.dtype)
        learned = arch.pos_encodings == "learned"
        self.embed_pos = (
            Embedding(data.seq_len + self.prefix_len, D, 1 / self.scale, self.dtype) if learned else None
        )
        self.puzzle_emb = (
            SparseEmbedding(data.num_puzzle_identifiers, arch.puzzle_emb_ndim, batch_size, self.dtype)
            if self.prefix_len
            else None
        )
        self.core = Core(arch, data, attention)
        # Of text a part is labelled, and its vocabulary is large: the other positions' logits would be most
        # of a step.
        self.labelled_only = arch.causal
        self.native_step: NativeStep | None = None
        self.world = World()
        self.register_buffer("H_init", trunc_normal(D, std=1, dtype=self.dtype))
        self.register_buffer("L_init", trunc_normal(D, std=1, dtype=self.dtype))

    def use_native(self) -> None:
        """From now on training steps and evaluation run in C (`native`), on the CPU, in float32, as before
        but for rounding.

        Raises:
            ConfigError: the kernels cannot be built, or cannot train this model.
        """
        arch = self.arch
        why = native.obstacle(arch.hidden_size, causal=arch.causal, mlp_t=arch.mlp_t, dtype=self.dtype)
        if why is not None:
            raise ConfigError(f"the native kernels cannot train this model: {why}", hint="native=false")
        core, rotary = self.core, None if self.core.rotary is None else self.core.rotary()
        low = NativeLevel(core.L_level.layers, arch.num_heads, arch.expansion, rotary)
        high = (
            low
            if core.H_level is None
            else NativeLevel(core.H_level.layers, arch.num_heads, arch.expansion, rotary)
        )
        core.native = (low, high)
        self.native_step = NativeStep(self, low, high)

    def num_parameters(self, *, trained: bool = False) -> int:
        """Parameters, or only those that are `trained`; the puzzle table and the initial states are buffers
        and not counted."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad or not trained)

    def initial_carry(self, batch: Batch) -> Carry:
        """A carry of which every row is halted, so that the first call takes all of `batch`."""
        B, device = len(batch["inputs"]), self.H_init.device
        state = torch.zeros(
            B, self.data.seq_len + self.prefix_len, self.arch.hidden_size, dtype=self.dtype, device=device
        )
        return Carry(
            z_H=state,
            z_L=state.clone(),
            steps=torch.zeros(B, dtype=torch.int32, device=device),
            halted=torch.ones(B, dtype=torch.bool, device=device),
            current_data={key: torch.zeros_like(value, device=device) for key, value in batch.items()},
            q_state=state[:, 0].clone() if self.reuses else None,
        )

    @property
    def reuses(self) -> bool:
        """Whether the value of going on is learned a step late, without a second forward pass."""
        return (
            self.arch.q_target == "reuse" and not self.arch.no_act_continue and self.arch.halt_max_steps > 1
        )

    def embed(self, inputs_BS: Tensor, ids_B: Tensor) -> Tensor:
        """Token, position and puzzle embeddings [B, S, D], of about unit variance."""
        x = self.embed_tokens(inputs_BS)
        if self.puzzle_emb is not None:
            prefix = self.puzzle_emb(ids_B)
            prefix = F.pad(prefix, (0, self.prefix_len * self.arch.hidden_size - prefix.shape[-1]))
            x = torch.cat((prefix.view(-1, self.prefix_len, self.arch.hidden_size), x), 1)
        if self.embed_pos is None:
            return x * self.scale  # type: ignore[no-any-return]
        positions = cast(self.embed_pos.weight, x.dtype)[: x.shape[1]]
        return (x + positions) * (self.scale / math.sqrt(2))  # type: ignore[no-any-return]

    def forward(
        self, carry: Carry, batch: Batch, generator: torch.Generator | None = None
    ) -> tuple[Carry, Batch]:
        """One ACT step. Halted rows of `carry` start on their row of `batch`; the other rows of `batch` are
        not used.

        Args:
            generator: draws the exploration, on the model's device; None takes torch's global one.

        Returns:
            The new carry (detached) and the outputs: logits [B, S, V] of the tokens, q_halt_logits,
            q_continue_logits and, in training, target_q_continue, float32 [B]. With `q_target='reuse'`
            q_continue_logits are then those of the step before, and q_continue_rows [B] tells which rows have
            one. A causal model gives logits [N, V] of the positions that have a label, and `places` [N],
            where they are among the B * S.
        """
        fresh = carry.halted
        data = {
            key: torch.where(fresh.view(-1, *(1,) * (old.ndim - 1)), batch[key], old)
            for key, old in carry.current_data.items()
        }
        z_H = torch.where(fresh.view(-1, 1, 1), self.H_init, carry.z_H)
        z_L = torch.where(fresh.view(-1, 1, 1), self.L_init, carry.z_L)
        steps = torch.where(fresh, 0, carry.steps) + 1

        x = self.embed(data["inputs"], data["puzzle_identifiers"])
        z_H, z_L, q, logits = self.core(z_H, z_L, x, not self.labelled_only)
        outputs = {"q_halt_logits": q[:, 0], "q_continue_logits": q[:, 1]}
        if self.labelled_only:
            outputs["places"] = (data["labels"] != IGNORE).flatten().nonzero().squeeze(1)
            outputs["logits"] = self.core.lm_head(z_H[:, self.prefix_len :].flatten(0, 1)[outputs["places"]])
        else:
            outputs["logits"] = logits[:, self.prefix_len :]

        with torch.no_grad():
            z_H, z_L = z_H.detach(), z_L.detach()
            last = steps >= self.arch.halt_max_steps
            halted = last
            if self.training and self.arch.halt_max_steps > 1:
                stop = q[:, 0] > (0 if self.arch.no_act_continue else q[:, 1])
                halted = (last | stop) & (steps >= self.least_steps(len(steps), generator))
                if not (self.arch.no_act_continue or self.reuses):
                    outputs["target_q_continue"] = self._target(z_H, z_L, x, last)
        if not self.reuses:
            return Carry(z_H, z_L, steps, halted, data), outputs
        if self.training:
            assert carry.q_state is not None
            outputs["q_continue_logits"] = self.core.q_head(carry.q_state)[:, 1].float()
            outputs["target_q_continue"] = q.detach().amax(1).sigmoid()
            outputs["q_continue_rows"] = ~fresh
        return Carry(z_H, z_L, steps, halted, data, z_H[:, self.core.q_place].clone()), outputs

    def least_steps(self, rows: int, generator: torch.Generator | None) -> Tensor:
        """Exploration, int32 [B]: before so many steps a row does not stop, at its last step or because
        halting is worth more."""
        # Drawn for the global batch, of which a process takes its rows: the draws do not depend on how many
        # processes there are.
        rows, device = rows * self.world.size, self.H_init.device
        explore = torch.rand(rows, generator=generator, device=device) < self.arch.halt_exploration_prob
        least = torch.randint(
            2, self.arch.halt_max_steps + 1, (rows,), generator=generator, device=device, dtype=torch.int32
        )
        return self.world.part(least * explore)

    def _target(self, z_H: Tensor, z_L: Tensor, x_BSD: Tensor, last: Tensor) -> Tensor:
        """Bootstrapped value of going on: what the next step would say, without a target network or a replay
        buffer."""
        q = self.core(z_H, z_L, x_BSD, logits=False)[2]
        return torch.where(last, q[:, 0], q.amax(1)).sigmoid()
