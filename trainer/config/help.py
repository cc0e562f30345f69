"""What `hrmdoc train --help` says of every key: groups, one line a key, the default from the schema."""

from __future__ import annotations

from typing import Any

from .load import dump_keys
from .overrides import preset_names, preset_title
from .schema import TrainConfig

GROUPS: dict[str, dict[str, str]] = {
    "What is trained, and for how long": {
        "preset": "settings to start from; several joined by commas",
        "data_path": "a folder with train/ and test/, or builtin:NAME",
        "epochs": "passes over the groups of puzzles",
        "max_steps": "ends after that many steps, whatever the epochs",
        "eval_interval": "epochs between evaluations on held-out puzzles",
        "early_stopping.patience": "evaluations without gain before the run ends; 0: off",
        "early_stopping.min_delta": "what counts as a gain",
        "early_stopping.metric": "lm_loss, accuracy or exact_accuracy",
        "seed": "of weights, batches and exploration",
        "data_hash": "refuses data that have changed since",
    },
    "Optimizer": {
        "global_batch_size": "examples a step, over all processes",
        "grad_accum": "micro-batches of that size for one step",
        "lr": "learning rate of the weights",
        "lr_warmup_steps": "steps until the full rate",
        "lr_min_ratio": "rate at the end, as a share of lr (cosine)",
        "beta1": "decay of the first moment",
        "beta2": "decay of the second moment",
        "weight_decay": "of the weights",
        "puzzle_emb_lr": "learning rate of the puzzle embedding",
        "puzzle_emb_weight_decay": "its weight decay",
        "grad_clip": "bound of the gradient's norm",
        "ema": "evaluates with averaged weights",
        "ema_rate": "decay of that average",
    },
    "Model": {
        "arch.hidden_size": "channels",
        "arch.H_layers": "blocks of the slow level",
        "arch.L_layers": "blocks of the fast level",
        "arch.num_heads": "heads of attention",
        "arch.expansion": "width of the MLP over hidden_size",
        "arch.H_cycles": "cycles of the slow level a step",
        "arch.L_cycles": "passes of the fast level a cycle",
        "arch.halt_max_steps": "ACT steps at most",
        "arch.halt_exploration_prob": "share of rows that must go on for a random number of steps",
        "arch.pos_encodings": "rope, learned or none",
        "arch.mlp_t": "an MLP over positions instead of attention (boards of one size)",
        "arch.causal": "for text",
        "arch.single_net": "one net for both levels (TRM)",
        "arch.full_backprop": "gradient of the whole last cycle (TRM)",
        "arch.no_act_continue": "no value of going on (TRM)",
        "arch.q_target": "reuse saves the second forward pass",
        "arch.puzzle_emb_ndim": "channels of the puzzle embedding; hidden_size if unset, 0: none",
        "arch.puzzle_emb_len": "positions before the tokens",
        "arch.rms_norm_eps": "of the norms",
        "arch.rope_theta": "base of the rotary positions",
        "arch.forward_dtype": "precision of activations, where dtype does not say",
        "arch.loss.loss_type": "stablemax_cross_entropy or softmax_cross_entropy",
        "arch.name": "as HRM's files have it",
        "arch.loss.name": "as HRM's files have it",
    },
    "Where it is kept, and going on": {
        "run_dir": "folder of the run",
        "run_name": "folder runs/NAME",
        "resume": "a run, one of its checkpoints, or auto: this run's unfinished start, else a new one",
        "checkpoint_every_eval": "saves after every evaluation",
        "checkpoint_interval": "saves every so many steps",
        "checkpoint_keep": "checkpoints that are kept",
        "checkpoint_path": "folder of the checkpoints",
        "log_interval": "steps between lines of the log",
        "project_name": "of W&B",
        "wandb": "true or offline: logs to W&B too",
        "heartbeat": "signs of life elsewhere: a folder, or redis://HOST/0#KEY",
        "profile": "steps to profile, such as 10-15",
    },
    "When the loss is no number": {
        "on_nonfinite": "off, stop, skip or rollback",
        "max_rollbacks": "rollbacks before it ends",
        "on_rollback": "skip_batches or reduce_lr",
        "rollback_lr_factor": "of the rate, with reduce_lr",
    },
    "Machine": {
        "device": "auto, cpu, cuda or mps",
        "dtype": "auto, float32, bfloat16 or float16",
        "compile": "torch.compile; by default on a GPU alone",
        "native": "kernels in C on one CPU thread; auto: where they are faster",
        "threads": "CPU threads",
        "deterministic": "the same bits each time, more slowly",
        "autotune": "tries which batch fits into a GPU",
        "parallel.strategy": "ddp or fsdp, under torchrun; parallel=fsdp for short",
        "parallel.timeout_s": "seconds until a collective is given up",
    },
    "Code written by a causal model (hrmdoc evaluate)": {
        "evaluate.execute_code": "runs it, confined",
        "evaluate.samples": "programs for each problem",
        "evaluate.k": "of pass@k, such as 1,10",
        "evaluate.temperature": "0: the likeliest tokens",
        "evaluate.top_p": "of the nucleus",
        "evaluate.max_tokens": "of a program",
        "evaluate.limit": "problems at most",
        "evaluate.timeout_s": "CPU seconds of a program",
        "evaluate.memory_mib": "memory of a program",
    },
    "Trying the doctor": {"fault": "a defect put in on purpose (hrmdoc lab --help)"},
}
"""Every key once, by what a person would look for."""


def keys_help() -> str:
    """All keys by group, each with its default and a line."""
    defaults = dump_keys(TrainConfig())
    lines: list[str] = []
    for title, keys in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {f'{key}={_shown(defaults[key])}':<36} {text}" for key, text in keys.items()]
    return "\n".join(lines)


def presets_help() -> str:
    """The presets, each with what the head of its file says."""
    rows = [f"  {name:<10} {preset_title(name)}" for name in preset_names()]
    return "\n".join(["", "Presets (preset=NAME):", *rows])


def _shown(value: Any) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
