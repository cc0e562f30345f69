"""The Hierarchical Reasoning Model with adaptive computation time (ACT).

Wang et al., "Hierarchical Reasoning Model", arXiv 2506.21734. The switches of the Tiny Recursive Model (arXiv
2510.04871) are fields of the same configuration: `single_net`, `full_backprop`, `no_act_continue`, `mlp_t`,
`puzzle_emb_len`.

Shape suffixes: B batch, S positions (puzzle prefix, then tokens), D hidden size, V vocabulary.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.info import IGNORE, DataInfo
from ..parallel.world import World
from .arch import DTYPES, ArchConfig
from .attention import check_backend
from .core import Core
from .layers import Embedding, cast, trunc_normal
from .sparse import SparseEmbedding
from .step import Batch, Carry


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
        self.world = World()
        self.register_buffer("H_init", trunc_normal(D, std=1, dtype=self.dtype))
        self.register_buffer("L_init", trunc_normal(D, std=1, dtype=self.dtype))

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
            q_continue_logits are then those of the step before, and q_continue_rows [B] says which rows have
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
