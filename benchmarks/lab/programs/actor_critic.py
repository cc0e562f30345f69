"""Proximal policy optimisation of points that are to reach the middle, a JSON line an update."""

from __future__ import annotations

import json
from typing import Any

import torch
import torch.nn.functional as F
from authored import start
from torch import Tensor, nn

POINTS, STEPS, LONGEST = 32, 40, 60
DEFAULTS: dict[str, Any] = {
    "lr": 1e-3,
    "updates": 60,
    "epochs": 6,
    "clip": 0.2,
    "bonus": 0.003,
    "gamma": 0.97,
    "anneal": 0,
}


def net(outputs: int) -> nn.Sequential:
    """Of place and speed."""
    return nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, outputs))


class Field:
    """Points with a speed; the reward is how near they are to the middle."""

    def __init__(self, random: torch.Generator) -> None:
        self.random = random
        self.place, self.speed = self._new(POINTS), torch.zeros(POINTS, 2)
        self.age = torch.randint(0, LONGEST, (POINTS,), generator=random)
        self.earned, self.ended = torch.zeros(POINTS), [0.0]

    def _new(self, count: int) -> Tensor:
        return torch.rand(count, 2, generator=self.random) * 4 - 2

    def see(self) -> Tensor:
        return torch.cat([self.place, self.speed], 1)

    def step(self, action: Tensor) -> tuple[Tensor, Tensor]:
        """Rewards, and which episodes ended."""
        self.speed = 0.9 * self.speed + 0.1 * action.clamp(-1, 1)
        self.place = self.place + 0.5 * self.speed
        reward = -0.1 * self.place.norm(dim=1)
        self.age, self.earned = self.age + 1, self.earned + reward
        over = self.age >= LONGEST
        self.ended += self.earned[over].tolist()
        self.place[over], self.speed[over] = self._new(int(over.sum())), 0.0
        self.age[over], self.earned[over] = 0, 0.0
        return reward, over.float()


class Agent:
    """Policy, critic, and what one update does."""

    def __init__(self, settings: dict[str, Any], fault: str) -> None:
        self.settings, self.fault = settings, fault
        self.policy, self.critic = net(2), net(1)
        self.spread = nn.Parameter(torch.full((2,), -0.3))
        self.parameters = [*self.policy.parameters(), *self.critic.parameters(), self.spread]
        self.rate = 0.2 if fault == "rate-too-high" else settings["lr"]
        self.clip = 1e-4 if fault == "range-too-narrow" else settings["clip"]
        self.optimizer = torch.optim.Adam(self.parameters, self.rate)

    def of(self, seen: Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.policy(seen), self.spread.exp())

    def collect(self, field: Field) -> tuple[Tensor, ...]:
        """States, actions, their logarithms of probability, advantages and returns, [STEPS * POINTS, ...]."""
        rows = []
        with torch.no_grad():
            for _ in range(STEPS):
                seen = field.see()
                chance = self.of(seen)
                action = chance.sample()
                reward, over = field.step(action)
                rows.append(
                    (seen, action, chance.log_prob(action).sum(-1), self.critic(seen)[:, 0], reward, over)
                )
            seen, action, logarithm, value, reward, over = map(torch.stack, zip(*rows, strict=True))
            after = torch.cat([value[1:], self.critic(field.see())[:, 0][None]])
        advantage, running, gamma = torch.zeros_like(value), torch.zeros(POINTS), self.settings["gamma"]
        for at in reversed(range(STEPS)):
            goes_on = 1 - over[at]
            running = reward[at] + gamma * after[at] * goes_on - value[at] + 0.95 * gamma * goes_on * running
            advantage[at] = running
        whole = (seen, action, logarithm, advantage, advantage + value)
        return tuple(one.flatten(0, 1) for one in whole)

    def update(self, field: Field) -> list[float]:
        """Means of policy loss, value loss, entropy, divergence and share clipped."""
        seen, action, before, advantage, goal = self.collect(field)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        if self.fault == "advantage-negated":
            advantage = -advantage
        told = []
        for _ in range(self.settings["epochs"]):
            for part in torch.randperm(len(seen)).split(320):
                chance = self.of(seen[part])
                now = chance.log_prob(action[part]).sum(-1)
                ratio = (now - before[part]).exp()
                if self.fault == "ratio-detached":
                    ratio = ratio.detach()
                bounded = ratio.clamp(1 - self.clip, 1 + self.clip)
                of_policy = -torch.min(ratio * advantage[part], bounded * advantage[part]).mean()
                of_value = F.mse_loss(self.critic(seen[part])[:, 0], goal[part])
                entropy = chance.entropy().sum(-1).mean()
                self.optimizer.zero_grad()
                (of_policy + 0.5 * of_value - self.settings["bonus"] * entropy).backward()
                nn.utils.clip_grad_norm_(self.parameters, 0.5)
                self.optimizer.step()
                clipped = ((ratio - 1).abs() > self.clip).float().mean()
                moved = (before[part] - now).mean()
                told.append(torch.stack([of_policy, of_value, entropy, moved, clipped]).detach())
        means: list[float] = torch.stack(told).mean(0).tolist()
        return means


def train(settings: dict[str, Any], fault: str, seed: int) -> None:
    """The loop."""
    field, agent = Field(torch.Generator().manual_seed(seed)), Agent(settings, fault)
    names = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
    for number in range(1, settings["updates"] + 1):
        if settings["anneal"]:
            agent.optimizer.param_groups[0]["lr"] = agent.rate * (1 - (number - 1) / settings["updates"])
        told = dict(zip(names, agent.update(field), strict=True))
        last = field.ended[-60:]
        place = {"update": number, "timesteps": number * POINTS * STEPS, "ep_rew_mean": sum(last) / len(last)}
        print(json.dumps({**place, **told, "lr": agent.optimizer.param_groups[0]["lr"]}))


if __name__ == "__main__":
    start(DEFAULTS, train)
