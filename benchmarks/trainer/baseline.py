"""The yardstick of the trainer's speed: a reconstruction, in our own words, of how the reference
implementation does a step.

It is not the reference's code, which is not needed to run this. It keeps the reference's habits, because they
are what is measured: every update of a parameter is a handful of operations of its own, metrics go to the
host at each step, weights are cast where they are used, RMSNorm and rotary positions are spelled out, the
carry is rebuilt every step, and the Q-target comes from a second forward pass. Attention is PyTorch's
`scaled_dot_product_attention`, since flash-attn needs a GPU. Weights have the reference's names, so that both
trainers can start from the same ones and be compared loss by loss.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.evaluation.reference import to_reference
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM
from hrmdoc.trainer.model.layers import inner_size

Batch = dict[str, Tensor]


class Dense(nn.Module):
    """A linear layer whose weight is cast at use."""

    def __init__(self, inputs: int, outputs: int, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype), None if self.bias is None else self.bias.to(x.dtype))


class Rows(nn.Module):
    """A table of embeddings."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.embedding_weight = nn.Parameter(torch.empty(count, size))

    def forward(self, index: Tensor) -> Tensor:
        return F.embedding(index, self.embedding_weight.to(torch.float32))


class PuzzleRows(nn.Module):
    """The puzzle table: in training the rows of the batch are copied into a leaf."""

    weights: Tensor

    def __init__(self, count: int, size: int, batch: int) -> None:
        super().__init__()
        self.register_buffer("weights", torch.zeros(count, size))
        self.local = torch.zeros(batch, size, requires_grad=True)
        self.ids = torch.zeros(batch, dtype=torch.int32)

    def forward(self, ids: Tensor) -> Tensor:
        with torch.no_grad():
            self.local.copy_(self.weights[ids.long()])
            self.ids.copy_(ids)
        return self.local.to(torch.float32)


def half_turned(x: Tensor) -> Tensor:
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


def positioned(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    before = q.dtype
    q, k = q.to(cos.dtype), k.to(cos.dtype)
    q = q * cos.unsqueeze(-2) + half_turned(q) * sin.unsqueeze(-2)
    k = k * cos.unsqueeze(-2) + half_turned(k) * sin.unsqueeze(-2)
    return q.to(before), k.to(before)


def normed(x: Tensor, eps: float) -> Tensor:
    before = x.dtype
    x = x.to(torch.float32)
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)).to(before)


class Attend(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv_proj, self.o_proj = Dense(size, 3 * size), Dense(size, size)

    def forward(self, cos: Tensor, sin: Tensor, x: Tensor) -> Tensor:
        batch, length, size = x.shape
        qkv = self.qkv_proj(x).view(batch, length, 3 * self.heads, size // self.heads)
        q, k, v = qkv[:, :, : self.heads], qkv[:, :, self.heads : 2 * self.heads], qkv[:, :, 2 * self.heads :]
        q, k = positioned(q, k, cos, sin)
        out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, size))


class Gated(nn.Module):
    def __init__(self, size: int, expansion: float) -> None:
        super().__init__()
        inner = inner_size(size, expansion)
        self.gate_up_proj, self.down_proj = Dense(size, 2 * inner), Dense(inner, size)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(F.silu(gate) * up)


class Layer(nn.Module):
    def __init__(self, arch: ArchConfig) -> None:
        super().__init__()
        self.self_attn = Attend(arch.hidden_size, arch.num_heads)
        self.mlp = Gated(arch.hidden_size, arch.expansion)
        self.eps = arch.rms_norm_eps

    def forward(self, cos: Tensor, sin: Tensor, x: Tensor) -> Tensor:
        x = normed(x + self.self_attn(cos, sin, x), self.eps)
        return normed(x + self.mlp(x), self.eps)


class Stack(nn.Module):
    def __init__(self, arch: ArchConfig, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(arch) for _ in range(count))

    def forward(self, x: Tensor, injection: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + injection
        for layer in self.layers:
            x = layer(cos, sin, x)
        return x


class Inner(nn.Module):
    """One ACT step without the halting."""

    H_init: Tensor
    L_init: Tensor
    cos: Tensor
    sin: Tensor

    def __init__(self, arch: ArchConfig, data: DataInfo, batch: int) -> None:
        super().__init__()
        self.arch, self.scale, size = arch, math.sqrt(arch.hidden_size), arch.hidden_size
        self.embed_tokens, self.puzzle_emb = Rows(data.vocab_size, size), PuzzleRows(1, size, batch)
        self.lm_head, self.q_head = Dense(size, data.vocab_size), Dense(size, 2, bias=True)
        self.H_level, self.L_level = Stack(arch, arch.H_layers), Stack(arch, arch.L_layers)
        self.register_buffer("H_init", torch.zeros(size))
        self.register_buffer("L_init", torch.zeros(size))
        half = size // arch.num_heads
        rates = 1 / arch.rope_theta ** (torch.arange(0, half, 2).float() / half)
        turns = torch.outer(torch.arange(data.seq_len + 1).float(), rates)
        turns = torch.cat((turns, turns), dim=-1)
        self.register_buffer("cos", turns.cos(), persistent=False)
        self.register_buffer("sin", turns.sin(), persistent=False)

    def forward(self, z_H: Tensor, z_L: Tensor, data: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        tokens = self.embed_tokens(data["inputs"].to(torch.int32))
        prefix = self.puzzle_emb(data["puzzle_identifiers"]).view(-1, 1, self.arch.hidden_size)
        x = self.scale * torch.cat((prefix, tokens), dim=-2)
        turn = (self.cos, self.sin)
        with torch.no_grad():
            for h in range(self.arch.H_cycles):
                for l in range(self.arch.L_cycles):  # noqa: E741
                    if not (h == self.arch.H_cycles - 1 and l == self.arch.L_cycles - 1):
                        z_L = self.L_level(z_L, z_H + x, *turn)
                if h < self.arch.H_cycles - 1:
                    z_H = self.H_level(z_H, z_L, *turn)
        z_L = self.L_level(z_L, z_H + x, *turn)
        z_H = self.H_level(z_H, z_L, *turn)
        q = self.q_head(z_H[:, 0]).to(torch.float32)
        return z_H.detach(), z_L.detach(), self.lm_head(z_H)[:, 1:], q[..., 0], q[..., 1]


class Whole(nn.Module):
    """The ACT wrapper and the loss in one module, which is what the reference compiles."""

    def __init__(self, arch: ArchConfig, data: DataInfo, batch: int) -> None:
        super().__init__()
        self.arch, self.inner = arch, Inner(arch, data, batch)

    def forward(
        self, carry: dict[str, Any], batch: Batch
    ) -> tuple[dict[str, Any], Tensor, dict[str, Tensor]]:
        fresh, inner = carry["halted"], self.inner
        z_H = torch.where(fresh.view(-1, 1, 1), inner.H_init, carry["z_H"])
        z_L = torch.where(fresh.view(-1, 1, 1), inner.L_init, carry["z_L"])
        steps = torch.where(fresh, 0, carry["steps"])
        data = {
            key: torch.where(fresh.view((-1,) + (1,) * (batch[key].ndim - 1)), batch[key], value)
            for key, value in carry["data"].items()
        }
        z_H, z_L, logits, q_halt, q_continue = inner(z_H, z_L, data)
        with torch.no_grad():
            steps = steps + 1
            last = steps >= self.arch.halt_max_steps
            halted = last | (q_halt > q_continue)
            least = (torch.rand_like(q_halt) < self.arch.halt_exploration_prob) * torch.randint_like(
                steps, low=2, high=self.arch.halt_max_steps + 1
            )
            halted = halted & (steps >= least)
            _, _, _, next_halt, next_continue = inner(z_H, z_L, data)
            target = torch.sigmoid(torch.where(last, next_halt, torch.maximum(next_halt, next_continue)))
        new = {"z_H": z_H, "z_L": z_L, "steps": steps, "halted": halted, "data": data}
        loss, metrics = losses(logits, q_halt, q_continue, target, new)
        return new, loss, metrics


def losses(
    logits: Tensor, q_halt: Tensor, q_continue: Tensor, target: Tensor, carry: dict[str, Any]
) -> tuple[Tensor, dict[str, Tensor]]:
    labels = carry["data"]["labels"]
    with torch.no_grad():
        mask = labels != -100
        counts = mask.sum(-1)
        divisor = counts.clamp_min(1).unsqueeze(-1)
        correct = mask & (torch.argmax(logits, dim=-1) == labels)
        solved = correct.sum(-1) == counts
        valid = carry["halted"] & (counts > 0)
        metrics = {
            "count": valid.sum(),
            "accuracy": torch.where(valid, (correct.to(torch.float32) / divisor).sum(-1), 0).sum(),
            "exact_accuracy": (valid & solved).sum(),
            "q_halt_accuracy": (valid & ((q_halt >= 0) == solved)).sum(),
            "steps": torch.where(valid, carry["steps"], 0).sum(),
        }
    x = logits.to(torch.float64)
    s = torch.where(x < 0, 1 / (1 - x + 1e-30), x + 1)
    logp = torch.log(s / s.sum(-1, keepdim=True))
    kept = torch.where(mask, labels, 0).to(torch.long).unsqueeze(-1)
    entropy = -torch.where(mask, torch.gather(logp, -1, kept).squeeze(-1), 0)
    lm = (entropy / divisor).sum()
    halt = F.binary_cross_entropy_with_logits(q_halt, solved.to(q_halt.dtype), reduction="sum")
    go_on = F.binary_cross_entropy_with_logits(q_continue, target, reduction="sum")
    metrics |= {"lm_loss": lm.detach(), "q_halt_loss": halt.detach(), "q_continue_loss": go_on.detach()}
    return lm + 0.5 * (halt + go_on), metrics


class PlainAdamATan2(torch.optim.Optimizer):
    """AdamATan2, one parameter at a time."""

    def __init__(self, params: Any, lr: float, betas: tuple[float, float], weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state |= {"step": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)}
                state["step"] += 1
                p.mul_(1 - group["lr"] * group["weight_decay"])
                state["m"].lerp_(p.grad, 1 - beta1)
                state["v"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                spread = state["v"].sqrt() / math.sqrt(1 - beta2 ** state["step"])
                p.add_(torch.atan2(state["m"], spread), alpha=-group["lr"] / (1 - beta1 ** state["step"]))


class Baseline:
    """A training run of `model`'s twin, with the same weights, in the manner of the reference."""

    def __init__(self, model: HRM, batch_size: int, lr: float, decay: float, compiled: bool) -> None:
        self.batch_size, self.lr, self.decay = batch_size, lr, decay
        self.whole = Whole(model.arch, model.data, batch_size)
        inner = {
            key.removeprefix("model."): value for key, value in to_reference(model, compiled=False).items()
        }
        self.whole.load_state_dict(inner)
        self.optimizer = PlainAdamATan2(self.whole.parameters(), lr, (0.9, 0.95), decay)
        self.call: Any = torch.compile(self.whole, dynamic=False) if compiled else self.whole
        self.carry: dict[str, Any] | None = None

    def step(self, batch: Batch) -> dict[str, float]:
        """One optimizer step; its metrics on the host."""
        if self.carry is None:
            rows, inner = len(batch["inputs"]), self.whole.inner
            state = torch.empty(rows, batch["inputs"].shape[1] + 1, inner.arch.hidden_size)
            self.carry = {
                "z_H": state,
                "z_L": torch.empty_like(state),
                "steps": torch.zeros(rows, dtype=torch.int32),
                "halted": torch.ones(rows, dtype=torch.bool),
                "data": {key: torch.empty_like(value) for key, value in batch.items()},
            }
        self.carry, loss, metrics = self.call(self.carry, batch)
        ((1 / self.batch_size) * loss).backward()
        self._step_rows()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return {key: value.item() for key, value in metrics.items()}

    @torch.no_grad()
    def _step_rows(self) -> None:
        rows = self.whole.inner.puzzle_emb
        assert rows.local.grad is not None
        ids, inverse = rows.ids.unique(return_inverse=True)
        total = torch.zeros(len(ids), rows.local.shape[1]).scatter_add_(
            0, inverse.unsqueeze(-1).expand(-1, rows.local.shape[1]), rows.local.grad
        )
        p = rows.weights[ids.long()]
        p.mul_(1 - self.lr * self.decay).add_(torch.sign(total), alpha=-self.lr)
        rows.weights[ids.long()] = p
        rows.local.grad = None
