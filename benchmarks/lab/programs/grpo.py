"""Group-relative policy optimisation of a tiny policy; logs as TRL's GRPOTrainer prints them.

The task: repeat the prompt's symbol a few times, then stop. The policy is a small recurrent net that starts
half-trained.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SYMBOLS, STOP = 8, 8
VOCABULARY = SYMBOLS + 2  # symbols, stop, and the mark of the beginning
BEGIN = SYMBOLS + 1


@dataclass(frozen=True)
class Config:
    """Names as in TRL's GRPOConfig."""

    learning_rate: float = 2e-3
    beta: float = 0.04
    temperature: float = 1.0
    num_generations: int = 8
    prompts: int = 8
    max_completion_length: int = 16
    max_steps: int = 150
    epsilon: float = 0.2
    num_iterations: int = 1
    max_grad_norm: float = 1.0
    stale_steps: int = 0
    entropy_bonus: float = 0.0
    reward: str = "repeat"
    warmup_steps: int = 5


class Policy(nn.Module):
    """Scores for the next token, from the prompt's symbol and the tokens so far."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.prompt, self.token = nn.Embedding(SYMBOLS, width), nn.Embedding(VOCABULARY, width)
        self.cell, self.head = nn.GRU(width, width, batch_first=True), nn.Linear(width, VOCABULARY - 1)

    def forward(self, prompts_B: Tensor, tokens_BT: Tensor) -> Tensor:
        hidden, _ = self.cell(self.token(tokens_BT) + self.prompt(prompts_B).unsqueeze(1))
        scores: Tensor = self.head(hidden)
        return scores


def rewards(kind: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """prompts [B], tokens [B, T], lengths [B] -> rewards [B]."""

    def repeat(prompts: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        hits = (tokens[:, :4] == prompts.unsqueeze(1)).float().mean(1)
        return 0.8 * hits + 0.2 * (lengths < tokens.shape[1]).float()

    def zero(prompts: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        del tokens, lengths
        return torch.zeros(len(prompts))

    def same(prompts: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        return repeat(prompts, tokens, lengths) * 0 + 0.5 + 0.05 * (prompts % 3)

    def length(prompts: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        return 0.3 * repeat(prompts, tokens, lengths) + lengths / tokens.shape[1]

    def hard(prompts: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        exact = (tokens[:, :9] == (prompts.unsqueeze(1) + torch.arange(9)) % SYMBOLS).all(1)
        return (exact & (lengths < tokens.shape[1])).float()

    def long(prompts: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        del lengths
        return (tokens[:, :8] == prompts.unsqueeze(1)).sum(1) / 8

    def binary(prompts: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        return (repeat(prompts, tokens, lengths) > 0.7).float()

    known = {
        "repeat": repeat,
        "zero": zero,
        "same": same,
        "length": length,
        "hard": hard,
        "long": long,
        "binary": binary,
    }
    return known[kind]


FAULTS: dict[str, Callable[[Config], Config]] = {
    "reward-zero": lambda c: replace(c, reward="zero"),
    "no-advantage": lambda c: replace(c, reward="same"),
    "task-too-hard": lambda c: replace(c, reward="hard"),
    "length-hacking": lambda c: replace(c, reward="length", max_completion_length=32, beta=0.0),
    "cap-too-low": lambda c: replace(c, reward="long", max_completion_length=4),
    "mode-collapse": lambda c: replace(
        c, learning_rate=c.learning_rate * 8, beta=0.0, max_steps=200, entropy_bonus=-0.3
    ),
    "kl-blow-up": lambda c: replace(
        c, learning_rate=c.learning_rate * 3, beta=0.0, reward="length", max_steps=200
    ),
    "stale-samples": lambda c: replace(c, stale_steps=12, learning_rate=c.learning_rate * 3, beta=0.0),
    "clip-too-tight": lambda c: replace(c, epsilon=0.002, num_iterations=4),
    "too-random": lambda c: replace(c, temperature=6.0),
    "lr-too-high": lambda c: replace(c, learning_rate=c.learning_rate * 100),
    "lr-too-low": lambda c: replace(c, learning_rate=c.learning_rate / 1000),
}


@dataclass
class Sample:
    """Completions of one step, with what the policy that wrote them thought of them."""

    prompts: Tensor
    tokens: Tensor
    mask: Tensor
    lengths: Tensor
    logp: Tensor


@torch.no_grad()
def generate(policy: Policy, config: Config, random: torch.Generator) -> Sample:
    """`prompts * num_generations` completions, stopped by STOP or by the cap."""
    prompts = torch.randint(SYMBOLS, (config.prompts,), generator=random).repeat_interleave(
        config.num_generations
    )
    rows = len(prompts)
    hidden: Tensor | None = None
    token, done = torch.full((rows, 1), BEGIN), torch.zeros(rows, dtype=torch.bool)
    tokens, masks, logps = [], [], []
    for _ in range(config.max_completion_length):
        step, hidden = policy.cell(policy.token(token) + policy.prompt(prompts).unsqueeze(1), hidden)
        scores = (policy.head(step[:, 0]) / config.temperature).log_softmax(-1)
        token = torch.multinomial(scores.exp(), 1, generator=random)
        masks.append(~done)
        logps.append(scores.gather(1, token)[:, 0])
        tokens.append(token[:, 0])
        done = done | (token[:, 0] == STOP)
    mask = torch.stack(masks, 1)
    cap = torch.tensor(config.max_completion_length)
    lengths = torch.where(
        done, torch.minimum(mask.sum(1), cap - 1), cap
    )  # the cap itself means: never stopped
    return Sample(prompts, torch.stack(tokens, 1), mask, lengths, torch.stack(logps, 1))


def scores_of(policy: Policy, sample: Sample, temperature: float) -> Tensor:
    """Log-probabilities of every next token, [B, T, V]."""
    begin = torch.full((len(sample.tokens), 1), BEGIN)
    return (policy(sample.prompts, torch.cat([begin, sample.tokens[:, :-1]], 1)) / temperature).log_softmax(
        -1
    )


def half_train(policy: Policy, random: torch.Generator) -> None:
    """A little imitation first, so that the policy repeats its prompt now and then, as a pretrained model
    would."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for _ in range(60):
        prompts = torch.randint(SYMBOLS, (64,), generator=random)
        tokens = torch.cat([prompts.unsqueeze(1).expand(-1, 5), torch.full((64, 1), STOP)], 1)
        noise = torch.rand(tokens.shape, generator=random) < 0.5
        tokens = torch.where(noise, torch.randint(VOCABULARY - 1, tokens.shape, generator=random), tokens)
        loss = F.cross_entropy(
            policy(prompts, torch.cat([torch.full((64, 1), BEGIN), tokens[:, :-1]], 1)).flatten(0, 1),
            tokens.flatten(),
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def train(config: Config, seed: int) -> None:
    """The whole run."""
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed)
    policy = Policy()
    half_train(policy, random)
    reference, behind = Policy(), Policy()
    for copy in (reference, behind):
        copy.load_state_dict(policy.state_dict())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=config.learning_rate, weight_decay=0.0)
    reward = rewards(config.reward)
    tokens = 0
    for step in range(1, config.max_steps + 1):
        if not config.stale_steps or step % config.stale_steps == 0:
            behind.load_state_dict(policy.state_dict())
        sample = generate(behind, config, random)
        tokens += int(sample.mask.sum())
        R_B = reward(sample.prompts, sample.tokens, sample.lengths)
        groups = R_B.view(-1, config.num_generations)
        advantage = (
            ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4))
            .flatten()
            .unsqueeze(1)
        )
        rate = (
            config.learning_rate * min(1.0, step / config.warmup_steps) * (1 - (step - 1) / config.max_steps)
        )
        optimizer.param_groups[0]["lr"] = rate
        with torch.no_grad():
            ref = scores_of(reference, sample, config.temperature).gather(2, sample.tokens.unsqueeze(2))[
                ..., 0
            ]
            old = scores_of(policy, sample, config.temperature).gather(2, sample.tokens.unsqueeze(2))[..., 0]
        for _ in range(config.num_iterations):
            values = _update(policy, optimizer, config, sample, advantage, ref, old)
        finished = sample.lengths < config.max_completion_length
        mean = float(sample.mask.sum(1).float().mean())
        log = {
            "loss": values["loss"],
            "grad_norm": values["grad_norm"],
            "learning_rate": rate,
            "num_tokens": float(tokens),
            "completions/mean_length": mean,
            "completions/min_length": float(sample.mask.sum(1).min()),
            "completions/max_length": float(sample.mask.sum(1).max()),
            "completions/clipped_ratio": float((~finished).float().mean()),
            f"rewards/{config.reward}_reward/mean": float(R_B.mean()),
            f"rewards/{config.reward}_reward/std": float(R_B.std()),
            "reward": float(R_B.mean()),
            "reward_std": float(groups.std(1).mean()),
            "frac_reward_zero_std": float((groups.std(1) < 1e-6).float().mean()),
            "kl": values["kl"],
            "entropy": values["entropy"],
            "clip_ratio/region_mean": values["clipped"],
            "epoch": round(step / config.max_steps, 4),
        }
        if config.stale_steps:
            difference = ((old - sample.logp).abs() * sample.mask).sum() / sample.mask.sum()
            log["sampling/sampling_logp_difference/mean"] = float(difference)
            log["sampling/importance_sampling_ratio/min"] = float(
                (old - sample.logp).masked_fill(~sample.mask, 0).exp().min()
            )
        print(
            {
                name: round(value, 6) if name != "learning_rate" else float(f"{value:.6g}")
                for name, value in log.items()
            },
            flush=True,
        )
    print({"train_runtime": 1.0, "train_steps_per_second": 1.0, "train_loss": 0.0, "epoch": 1.0}, flush=True)


def _update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    config: Config,
    sample: Sample,
    advantage: Tensor,
    ref: Tensor,
    old: Tensor,
) -> dict[str, float]:
    scores = scores_of(policy, sample, config.temperature)
    logp = scores.gather(2, sample.tokens.unsqueeze(2))[..., 0]
    mask = sample.mask.float()

    def mean(values: Tensor) -> Tensor:
        return (values * mask).sum() / mask.sum()

    ratio = (logp - old).exp()
    low, high = 1 - config.epsilon, 1 + config.epsilon
    gain = torch.minimum(ratio * advantage, ratio.clamp(low, high) * advantage)
    kl = (ref - logp).exp() - (ref - logp) - 1
    entropy = -(scores.exp() * scores).sum(-1)
    loss = -mean(gain) + config.beta * mean(kl) - config.entropy_bonus * mean(entropy)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), config.max_grad_norm)
    optimizer.step()
    clipped = mean((((ratio < low) & (advantage < 0)) | ((ratio > high) & (advantage > 0))).float())
    return {
        "loss": float(loss.detach()),
        "grad_norm": float(norm),
        "kl": float(mean(kl).detach()),
        "entropy": float(mean(entropy).detach()),
        "clipped": float(clipped.detach()),
    }


def main() -> None:
    """Reads the specification, writes the config, trains."""
    spec = json.loads(sys.argv[1])
    config = Config(**spec["settings"])
    if spec["fault"]:
        config = FAULTS[spec["fault"]](config)
    hidden = ("stale_steps", "entropy_bonus", "reward", "prompts")
    written = {name: value for name, value in vars(config).items() if name not in hidden}
    batch = config.prompts * config.num_generations
    written |= {
        "per_device_train_batch_size": batch,
        "logging_steps": 1,
        "report_to": "none",
        "seed": spec["seed"],
    }
    Path("training_args.json").write_text(json.dumps(written, indent=1))
    train(config, spec["seed"])


if __name__ == "__main__":
    main()
