"""Incidents of a tiny language model that is trained by reward, in one process or two."""

from __future__ import annotations

from hrmdoc.replay.story import Goal, Story, program

GRPO = program("grpo")
_WELL = """\
# GRPO: a tiny language model learns to sort six digits by the share of places that are right.
learning_rate: 2.0e-3
beta: 0.04
temperature: 1.0
num_generations: 16
per_device_train_batch_size: 128
train_prompts: 1600
num_train_epochs: 1
eval_steps: 25
seed: 0
"""
_GOALS = (
    Goal("reward of held-out prompts", "eval_reward", form=".3f"),
    Goal("held-out prompts, all digits right", "eval_accuracy", form=".1%", bound=0.3),
)


def _with(**settings: str) -> str:
    """The healthy config with other settings, new ones behind the rest."""
    lines = _WELL.splitlines()
    for key, value in settings.items():
        at = next((number for number, line in enumerate(lines) if line.startswith(f"{key}:")), len(lines))
        lines[at : at + 1] = [f"{key}: {value}"]
    return "\n".join(lines) + "\n"


STORIES = (
    Story(
        "entropy-collapse",
        "a policy that explores no more; GRPO on a sorting task",
        "A tiny language model learns by reward to sort six digits. Its rate is high, its temperature low, "
        "and nothing holds it near the model that it began with: within some twenty updates it gives one and "
        "the same answer to all, and there is nothing left to choose from.",
        _with(learning_rate="1.5e-2", beta="0.0", temperature="0.3", num_generations="4"),
        {
            "learning_rate: 1.5e-2": "learning_rate: 2.0e-3",
            "beta: 0.0": "beta: 0.04",
            "temperature: 0.3": "temperature: 1.0",
            "num_generations: 4": "num_generations: 16",
        },
        _GOALS,
        program=GRPO,
        enough_steps=30,
        sure=0.5,
        every=True,
        seconds=60,
    ),
    Story(
        "zero-advantage",
        "groups whose completions all earn the same; GRPO on a sorting task",
        "A tiny language model learns by reward to sort six digits, from two completions a prompt at a "
        "temperature near zero. Both are the same in most groups and earn the same, so the advantage is zero "
        "and there is nothing to learn from.",
        _with(temperature="0.02", num_generations="2"),
        {"temperature: 0.02": "temperature: 1.0", "num_generations: 2": "num_generations: 16"},
        _GOALS,
        program=GRPO,
        enough_steps=20,
        sure=0.5,
        every=True,
        seconds=60,
    ),
)
