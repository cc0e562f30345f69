"""Trains a tiny language model by reward: group-relative policy optimization (GRPO, arXiv 2402.03300).

`python -m hrmdoc.trainer.replay.grpo CONFIG run_dir=FOLDER`, or the same under torchrun. Keys and metrics are
named as in TRL. The policy first learns a little from answers, then from rewards alone.
"""

from __future__ import annotations

import copy
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import torch
from msgspec import Meta
from torch import Tensor

from hrmdoc.errors import ConfigError

from ..parallel.world import World, start
from ..rundir.directory import RunDir
from ..rundir.tb import Row
from .policy import DIGITS, Policy, generate, imitate, prompts, reward
from .prefetch import ahead
from .program import serve, told_to_stop
from .weights import Weights

CLIP_RATIO = 0.2
EVALUATED = 256
HELD_OUT, IMITATED = 1_000_000, 2_000_000
"""Seeds far from those of training."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The keys of a config, named as in TRL's `GRPOConfig` where that has them.

    Attributes:
        per_device_train_batch_size: completions of a step in one process, `num_generations` for each prompt.
        train_prompts: prompts of an epoch, of all processes together.
        eval_steps: steps between two evaluations; there is one at the end of each epoch, too.
        drop_last: leaves out the last batch of an epoch where it is not full.
        imitation_steps: how long the policy learns from answers before.
        fsdp: each process keeps a part of the weights, which are gathered before they are used.
        async_prefetch: completions of the next step are sampled in a thread while this one is trained.
        ddp_timeout: seconds that a process waits for the others.
    """

    learning_rate: float = 1e-3
    beta: float = 0.04
    temperature: Annotated[float, Meta(gt=0.0)] = 1.0
    num_generations: Annotated[int, Meta(ge=1)] = 16
    per_device_train_batch_size: int = 128
    num_train_epochs: int = 1
    train_prompts: int = 1600
    eval_steps: int = 0
    max_grad_norm: float = 1.0
    imitation_steps: int = 20
    drop_last: bool = True
    fsdp: bool = False
    async_prefetch: bool = False
    ddp_timeout: int = 600
    seed: int = 0

    @property
    def prompts_a_step(self) -> int:
        """In one process.

        Raises:
            ConfigError: the batch holds no whole number of groups.
        """
        count, rest = divmod(self.per_device_train_batch_size, self.num_generations)
        if rest or not count:
            what = f"a batch of {self.per_device_train_batch_size} is no multiple of {self.num_generations}"
            raise ConfigError(f"{what} generations", hint="make per_device_train_batch_size a multiple")
        return count


@dataclass(frozen=True, slots=True)
class Samples:
    """Completions of a step: sequences [B, L], what they earned [B], and their log probabilities [B, DIGITS]
    under the policy that wrote them."""

    sequences: Tensor
    rewards: Tensor
    logp: Tensor


@dataclass(slots=True)
class Training:
    """One process of a run, in `run`."""

    settings: Settings
    run: RunDir
    world: World
    policy: Policy = field(default_factory=Policy)
    step: int = 0

    def __call__(self) -> int:
        """Trains to the end, or until it is told to stop; the last step."""
        one = self.settings
        imitate(self.policy, one.imitation_steps, IMITATED + one.seed)
        reference, sampler = copy.deepcopy(self.policy), copy.deepcopy(self.policy)
        weights = Weights(self.policy, self.world, one.learning_rate, sharded=one.fsdp)
        random = torch.Generator().manual_seed(1 + one.seed + 1000 * self.world.rank)

        def sampled(asked: Tensor) -> Samples:
            weights.into(sampler)
            return self._sample(sampler, asked, random)

        batches = [list(self._batches(epoch)) for epoch in range(one.num_train_epochs)]
        count = sum(parameter.numel() for parameter in self.policy.parameters())
        steps = sum(map(len, batches))
        if not steps:
            raise ConfigError("an epoch has no full batch", hint="more train_prompts, or drop_last: false")
        self.run.know({"parameters": count, "max_steps": steps, "world_size": self.world.size})
        flat = (asked for epoch in batches for asked in epoch)
        coming = ahead(flat, sampled) if one.async_prefetch else map(sampled, flat)
        self._evaluate(weights)
        for epoch in batches:
            for asked in epoch:
                self.step += 1
                self._update(next(coming), weights, reference)
                if self.world.size == 1 and told_to_stop(self.run, self.step, one.learning_rate):
                    return self.step
                if one.eval_steps and self.step % one.eval_steps == 0 and asked is not epoch[-1]:
                    self._evaluate(weights)
            self._evaluate(weights)
        return self.step

    def _batches(self, epoch: int) -> Iterator[Tensor]:
        """The prompts of an epoch that this process takes, a step at a time."""
        one = self.settings
        mine = prompts(one.train_prompts, one.seed)[self.world.rank :: self.world.size]
        order = torch.randperm(len(mine), generator=torch.Generator().manual_seed(epoch))
        for some in torch.split(mine[order], one.prompts_a_step):
            if len(some) == one.prompts_a_step or not one.drop_last:
                yield some

    def _sample(self, sampler: Policy, asked: Tensor, random: torch.Generator) -> Samples:
        one = self.settings
        repeated = asked.repeat_interleave(one.num_generations, 0)
        sequences = generate(sampler, repeated, one.temperature, random)
        with torch.no_grad():
            logp = chosen(sampler.scores(sequences, one.temperature), sequences)
        return Samples(sequences, reward(repeated, sequences[:, -DIGITS:]), logp)

    def _update(self, samples: Samples, weights: Weights, reference: Policy) -> None:
        one = self.settings
        groups = samples.rewards.view(-1, one.num_generations)
        spread = groups.std(1, correction=0)
        advantages = ((groups - groups.mean(1, keepdim=True)) / (spread[:, None] + 1e-4)).view(-1, 1)
        weights.into(self.policy)
        scores = self.policy.scores(samples.sequences, one.temperature)
        logp = chosen(scores, samples.sequences)
        with torch.no_grad():
            before = chosen(reference.scores(samples.sequences, one.temperature), samples.sequences)
        ratio = (logp - samples.logp).exp()
        bounded = ratio.clamp(1 - CLIP_RATIO, 1 + CLIP_RATIO)
        kl = ((before - logp).exp() - (before - logp) - 1).mean()
        loss = -torch.minimum(ratio * advantages, bounded * advantages).mean() + one.beta * kl
        norm = weights.step(loss, self.policy, one.max_grad_norm)
        self._log(
            {
                "loss": loss.item(),
                "reward": groups.mean().item(),
                "reward_std": spread.mean().item(),
                "frac_reward_zero_std": (spread < 1e-6).float().mean().item(),
                "entropy": -(scores.exp() * scores).sum(-1).mean().item(),
                "kl": kl.item(),
                "grad_norm": norm,
                "learning_rate": one.learning_rate,
            }
        )

    @torch.no_grad()
    def _evaluate(self, weights: Weights) -> None:
        """The likeliest answers to prompts that it was not trained on; each process takes its share."""
        weights.into(self.policy)
        asked = prompts(EVALUATED, HELD_OUT)[self.world.rank :: self.world.size]
        earned = reward(asked, generate(self.policy, asked, 0.0)[:, -DIGITS:])
        sums = torch.stack([earned.sum(), (earned == 1).float().sum()])
        right = (self.world.add_up(sums) / EVALUATED).tolist()
        values = {"eval_reward": right[0], "eval_accuracy": right[1]}
        self.run.event("evaluated", self.step, **values)
        self._log(values)

    def _log(self, values: dict[str, float]) -> None:
        self.run.scalars.write([Row(self.step, time.time(), values)])
        self.run.heartbeat(self.step)
        told = " ".join(f"{name} {value:.4g}" for name, value in values.items())
        self.run.log(f"step {self.step} {told}")


def chosen(scores: Tensor, sequences: Tensor) -> Tensor:
    """The log probabilities of the tokens that the answers have [B, DIGITS]."""
    return scores.gather(-1, sequences[:, -DIGITS:, None])[..., 0]


def _train(settings: Settings, run: RunDir) -> int:
    torch.manual_seed(settings.seed)
    torch.set_num_threads(1)
    world = start("cpu", settings.ddp_timeout, os.environ)
    step = Training(settings, run, world)()
    world.close()
    return step


def main(words: list[str]) -> int:
    """Trains; 0 done, 1 the training raised, 2 wrong input."""
    return serve(words, "grpo", Settings, _train)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
