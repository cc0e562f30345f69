"""The sizes that a validation comes in: both models, the compute of each, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass

# A causal HRM. The softmax, since the stable maximum in float64 is slow over 50,257 tokens.
_HRM = (
    *("arch.causal=true", "arch.puzzle_emb_ndim=0", "arch.loss.loss_type=softmax_cross_entropy"),
    *("weight_decay=0.1", "grad_clip=1.0", "lr_min_ratio=0.1", "global_batch_size=8"),
)


@dataclass(frozen=True, slots=True)
class Size:
    """One size.

    Attributes:
        hrm: HRM's keys and values.
        layers, width, heads: GPT-2's.
        lr: GPT-2's learning rate; HRM's is among its keys.
        flops: floating-point operations of the matrix products in each model's training.
        problems: of the test split, None for all.
        max_tokens: of a completion.
    """

    name: str
    hrm: tuple[str, ...]
    layers: int
    width: int
    heads: int
    lr: float
    flops: float
    problems: int | None
    max_tokens: int


SIZES = {
    size.name: size
    for size in (
        Size(
            "tiny",
            (
                *_HRM,
                *("lr=3e-3", "arch.hidden_size=64", "arch.num_heads=4"),
                *("arch.H_layers=1", "arch.L_layers=1", "arch.H_cycles=1", "arch.L_cycles=2"),
                "arch.halt_max_steps=2",
            ),
            *(2, 64, 4, 3e-3, 1e12, 12, 64),
        ),
        Size(
            "small",
            (
                *_HRM,
                *("lr=1e-3", "arch.hidden_size=256", "arch.num_heads=4"),
                *("arch.H_layers=2", "arch.L_layers=2", "arch.H_cycles=1", "arch.L_cycles=2"),
                "arch.halt_max_steps=2",
            ),
            *(6, 256, 4, 1e-3, 1e14, 100, 128),
        ),
        Size(
            "full",  # 27 million weights in HRM's layers, 85 million in GPT-2's: what their names count
            (*_HRM, "lr=3e-4", "arch.halt_max_steps=4"),
            *(12, 768, 12, 3e-4, 1e16, None, 256),
        ),
    )
}
