"""Checkpoint folders of the reference implementations of HRM and TRM: `step_<N>`, a file, with
`all_config.yaml` beside it."""

from __future__ import annotations

import re
from dataclasses import asdict
from io import StringIO
from pathlib import Path

import torch
from ruamel.yaml import YAML

from hrmdoc.errors import ConfigError, InputError

from ..config.load import key_types
from ..config.overrides import Setting, Settings, read_yaml
from ..config.schema import TrainConfig
from ..model.hrm import HRM
from .reference import to_reference

CONFIG = "all_config.yaml"
STEP = re.compile(r"step_(\d+)")
TRM = "TinyRecursiveReasoningModel_ACTV1"
# What TRM's model is by its code and HRM's by a switch.
_TRM_SWITCHES = {"arch.single_net": True, "arch.full_backprop": True}
_TRM_NAMES = {"arch.no_ACT_continue": "arch.no_act_continue"}
# The reference's own keys, in its order; of `arch` all that its model reads.
_KEYS = (
    *(
        "data_path",
        "global_batch_size",
        "epochs",
        "lr",
        "lr_min_ratio",
        "lr_warmup_steps",
        "weight_decay",
        "beta1",
        "beta2",
    ),
    *(
        "puzzle_emb_lr",
        "puzzle_emb_weight_decay",
        "project_name",
        "run_name",
        "checkpoint_path",
        "seed",
        "checkpoint_every_eval",
    ),
    "eval_interval",
)
_ARCH = (
    *(
        "name",
        "loss",
        "halt_exploration_prob",
        "halt_max_steps",
        "H_cycles",
        "L_cycles",
        "H_layers",
        "L_layers",
        "hidden_size",
    ),
    *("num_heads", "expansion", "pos_encodings", "rms_norm_eps", "rope_theta"),
)


def reference_file(folder: Path) -> Path | None:
    """The checkpoint in a folder of the reference's, the newest step of several; None where it is none.

    The checkpoints that its authors publish are a file `checkpoint`.
    """
    if not (folder / CONFIG).is_file():
        return None
    files = [file for file in folder.iterdir() if file.is_file()]
    steps = {int(match[1]): file for file in files if (match := STEP.fullmatch(file.name))}
    published = folder / "checkpoint"
    return steps[max(steps)] if steps else published if published.is_file() else None


def reference_settings(checkpoint: Path) -> Settings:
    """The configuration beside a checkpoint file, as far as it is ours too; the switches of TRM where its
    model is named.

    Raises:
        ConfigError: there is none.
    """
    file = checkpoint.parent / CONFIG
    if not file.is_file():
        raise ConfigError(
            f"there is no {CONFIG} beside the checkpoint",
            file=checkpoint,
            hint="the reference saves one there",
        )
    given = {_TRM_NAMES.get(key, key): setting for key, setting in read_yaml(file).items()}
    if str(given.get("arch.name", Setting("")).value).endswith(TRM):
        given |= {key: Setting(value) for key, value in _TRM_SWITCHES.items()}
        given.pop("arch.H_layers", None)  # 0 there: the one net has the L layers
    known = key_types()
    return {key: setting for key, setting in given.items() if key in known}


def export(folder: Path, model: HRM, config: TrainConfig, step: int) -> Path:
    """Writes `model` as the reference saves it, and loads it: `folder/step_<step>` and the configuration.

    Raises:
        InputError: the folder cannot be written.
        ConfigError: the model is none of theirs, since it is causal.
    """
    if config.arch.causal:
        raise ConfigError("the reference has no causal model, so this one cannot be exported")
    whole = asdict(config)
    trm = {
        "name": f"recursive_reasoning.trm@{TRM}",
        "no_ACT_continue": config.arch.no_act_continue,
        "mlp_t": config.arch.mlp_t,
        "puzzle_emb_len": model.prefix_len,
        "H_layers": 0,
    }
    arch = {key: whole["arch"][key] for key in _ARCH} | {
        "puzzle_emb_ndim": model.arch.puzzle_emb_ndim,
        "forward_dtype": model.arch.forward_dtype,
        **(trm if config.arch.single_net else {}),
    }
    text = StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.dump({"arch": arch, **{key: whole[key] for key in _KEYS}, "eval_save_outputs": []}, text)
    target = folder / f"step_{step}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(text.getvalue(), encoding="utf-8")
        torch.save(to_reference(model), target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from error
    return target
