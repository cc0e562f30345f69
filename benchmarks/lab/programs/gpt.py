"""A character-level GPT on text of a small invented language."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toy import Config, Data, main

VOCABULARY, CONTEXT, HEADS = 32, 32, 4
WORDS, FOLLOWERS = 60, 4


def text(count: int, random: torch.Generator, language: int = 7) -> Tensor:
    """About `count` characters: words of a fixed language, each followed by one of a few others. 0 is the
    space."""
    own = torch.Generator().manual_seed(language)
    words = [
        torch.randint(1, 27, (int(torch.randint(2, 7, (1,), generator=own)),), generator=own)
        for _ in range(WORDS)
    ]
    follow = torch.randint(WORDS, (WORDS, FOLLOWERS), generator=own)
    picks = torch.randint(FOLLOWERS, (count // 4,), generator=random).tolist()
    space, word, pieces = torch.zeros(1, dtype=torch.long), 0, []
    for pick in picks:
        word = int(follow[word, pick])
        pieces += [words[word], space]
    return torch.cat(pieces)[:count]


class Block(nn.Module):
    """A transformer block with normalisation first."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x_BSD: Tensor) -> Tensor:
        B, S, D = x_BSD.shape
        q, k, v = self.qkv(self.norm1(x_BSD)).view(B, S, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, S, D)
        x_BSD = x_BSD + self.out(mixed)
        return x_BSD + self.mlp(self.norm2(x_BSD))


class Model(nn.Module):
    """Token and position embeddings, blocks, and a linear head."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.token, self.position = (
            nn.Embedding(VOCABULARY, config.hidden),
            nn.Embedding(CONTEXT, config.hidden),
        )
        self.blocks = nn.Sequential(*(Block(config.hidden, config.dropout) for _ in range(config.layers)))
        self.norm, self.head = nn.LayerNorm(config.hidden), nn.Linear(config.hidden, VOCABULARY)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.normal_(self.token.weight, std=0.02)

    def forward(self, tokens_BS: Tensor) -> Tensor:
        x = self.token(tokens_BS) + self.position(torch.arange(tokens_BS.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class GPT:
    """Samples are windows of the text; `train_samples` and `eval_samples` count windows."""

    defaults: dict[str, Any] = {
        "lr": 3e-3,
        "steps": 400,
        "batch_size": 8,
        "hidden": 32,
        "layers": 2,
        "eval_every": 40,
        "log_every": 4,
    }
    logger = "nanogpt"

    def data(self, config: Config, random: torch.Generator) -> Data:
        def windows(count: int) -> tuple[Tensor, Tensor]:
            rows = text(count * CONTEXT + 1, random)
            whole = (len(rows) - 1) // CONTEXT * CONTEXT
            # A copy: faults that move targets must not move the inputs as well.
            return rows[:whole].view(-1, CONTEXT), rows[1 : whole + 1].clone().view(-1, CONTEXT)

        return Data(*windows(config.train_samples), *windows(min(config.eval_samples, 128)))

    def model(self, config: Config) -> nn.Module:
        model = Model(config)
        print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M")
        return model

    def loss(self, output: Tensor, target: Tensor, config: Config) -> Tensor:
        counted = (target != -100).sum().clamp(min=1)
        total = F.cross_entropy(
            output.flatten(0, 1),
            target.flatten(),
            ignore_index=-100,
            label_smoothing=config.label_smoothing,
            reduction="sum",
        )
        return total / counted

    def accuracy(self, output: Tensor, target: Tensor) -> float | None:
        del output, target
        return None


if __name__ == "__main__":
    main(GPT())
