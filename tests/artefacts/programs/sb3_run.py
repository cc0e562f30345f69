"""A task of four steps, by Stable-Baselines3: `ppo` writes stdout, CSV, JSON and an event file, `dqn` stdout
alone."""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.logger import configure


class Guess(gymnasium.Env):
    """Reward 1 for the action that the observation names."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def _look(self):
        self._right = int(self.np_random.integers(2))
        return np.eye(2, dtype=np.float32)[self._right]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._left = 4
        return self._look(), {}

    def step(self, action):
        reward, self._left = float(action == self._right), self._left - 1
        return self._look(), reward, self._left == 0, False, {}


def ppo() -> None:
    model = PPO(
        "MlpPolicy",
        Guess(),
        n_steps=64,
        batch_size=32,
        n_epochs=4,
        learning_rate=0.01,
        seed=0,
        device="cpu",
        verbose=1,
    )
    model.set_logger(configure("out", ["stdout", "csv", "json", "tensorboard"]))
    model.learn(512)


def dqn() -> None:
    model = DQN("MlpPolicy", Guess(), learning_starts=64, learning_rate=0.01, seed=0, device="cpu", verbose=1)
    model.learn(400, log_interval=10)


torch.set_num_threads(1)
{"ppo": ppo, "dqn": dqn}[sys.argv[1]]()
