"""Deep Q-learning of a pole on a cart, a line every few episodes."""

from __future__ import annotations

import math
import random
from collections import deque
from typing import Any

import torch
import torch.nn.functional as F
from authored import start
from torch import Tensor, nn

DEFAULTS: dict[str, Any] = {
    "lr": 1e-3,
    "gamma": 0.98,
    "episodes": 200,
    "decay": 0.97,
    "batch_size": 64,
    "every": 5,
}
LONGEST = 200
Step = tuple[list[float], int, float, list[float], float]


class Cart:
    """Barto, Sutton and Anderson's cart and pole: position, speed, angle, its speed."""

    def __init__(self) -> None:
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]
        self.steps = 0

    def step(self, action: int) -> bool:
        """Pushes to the right or to the left; whether the pole has fallen."""
        x, speed, angle, turn = self.state
        sine, cosine = math.sin(angle), math.cos(angle)
        force = ((10.0 if action else -10.0) + 0.05 * turn**2 * sine) / 1.1
        turning = (9.8 * sine - cosine * force) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        pushed = force - 0.05 * turning * cosine / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * pushed, angle + 0.02 * turn, turn + 0.02 * turning]
        self.steps += 1
        return abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.209


def net() -> nn.Sequential:
    """Values of both actions."""
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


class Learner:
    """A net, the older one that it is compared with, and what was seen."""

    def __init__(self, settings: dict[str, Any], fault: str) -> None:
        self.settings, self.fault = settings, fault
        self.values, self.target = net(), net()
        self.target.load_state_dict(self.values.state_dict())
        rate = {"rate-too-low": 1e-7, "rate-too-high": 0.1}.get(fault, settings["lr"])
        self.optimizer = torch.optim.Adam(self.values.parameters(), rate)
        self.seen: deque[Step] = deque(maxlen=10_000)
        self.count = 0

    def act(self, state: list[float], epsilon: float) -> int:
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.values(torch.tensor([state])).argmax())

    def learn(self, step: Step) -> float | None:
        """Takes a step in; the loss where there was an update."""
        self.seen.append(step)
        self.count += 1
        if self.count % 200 == 0 and self.fault != "target-never-renewed":
            self.target.load_state_dict(self.values.state_dict())
        if len(self.seen) < 128 or self.count % 2:
            return None
        states, actions, rewards, after, ends = map(
            torch.tensor, zip(*random.sample(self.seen, self.settings["batch_size"]), strict=True)
        )
        with torch.no_grad():
            goal: Tensor = rewards + self.settings["gamma"] * self.target(after).max(1)[0] * (1 - ends)
        loss = F.smooth_l1_loss(self.values(states).gather(1, actions[:, None])[:, 0], goal)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.item()


def episode(learner: Learner, epsilon: float, losses: deque[float]) -> int:
    """How long the pole stands."""
    cart, reward = Cart(), -1.0 if learner.fault == "reward-negated" else 1.0
    while cart.steps < LONGEST:
        before = cart.state
        action = learner.act(before, epsilon)
        fallen = cart.step(action)
        loss = learner.learn((before, action, reward, cart.state, float(fallen)))
        losses.extend([] if loss is None else [loss])
        if fallen:
            break
    return cart.steps


def train(settings: dict[str, Any], fault: str, seed: int) -> None:
    """The loop."""
    random.seed(seed)
    learner, epsilon = Learner(settings, fault), 1.0
    scores: deque[int] = deque(maxlen=20)
    losses: deque[float] = deque([0.0], maxlen=100)
    for number in range(1, settings["episodes"] + 1):
        scores.append(episode(learner, epsilon, losses))
        epsilon = epsilon if fault == "epsilon-kept" else max(0.02, settings["decay"] * epsilon)
        if number % settings["every"] == 0:
            score, loss = sum(scores) / len(scores), sum(losses) / len(losses)
            print(f"Episode {number}\tAverage Score: {score:.2f}\tLoss: {loss:.5f}\tEpsilon: {epsilon:.3f}")


if __name__ == "__main__":
    start(DEFAULTS, train)
