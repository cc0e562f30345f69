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


_TWO = _with(per_device_train_batch_size="64", eval_steps="0", ddp_timeout="15")
"""Two processes share the batch, and wait for each other for 15 seconds at most."""
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
    Story(
        "stuck",
        "a collective in which two processes wait for each other for ever",
        "Two processes train a tiny language model by reward. Each keeps half of the weights (FSDP), which "
        "are gathered to sample completions, and samples those of the next step in a thread beside the "
        "training. Sooner or later one gathers weights while the other adds up gradients: both wait.",
        _TWO + "fsdp: true\nasync_prefetch: true\n",
        {"async_prefetch: true": "async_prefetch: false"},
        _GOALS,
        program=program("grpo", processes=2),
        enough_steps=1_000_000,  # it ends by itself, once the time to wait is over
        seconds=100,
    ),
    Story(
        "uneven-ranks",
        "shards of different lengths; a rank reaches the end of its epoch before the other",
        "Two processes train a tiny language model by reward, on 801 prompts: 401 for one and 400 for the "
        "other. The first has a batch more, and while it adds up gradients the second is at the evaluation.",
        _TWO.replace("train_prompts: 1600", "train_prompts: 801").replace("epochs: 1", "epochs: 2")
        + "drop_last: false\n",
        {"drop_last: false": "drop_last: true"},
        _GOALS,
        program=program("grpo", processes=2),
        enough_steps=1_000_000,
        seconds=100,
    ),
)
