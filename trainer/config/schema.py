"""Every key of a training configuration, with its default and its bounds. Needs no torch.

Names and defaults of the first block and of `arch` are HRM's own (sapientinc/HRM, `cfg_pretrain.yaml`,
`hrm_v1.yaml`), because users' configs and logs carry them. The second block is what hrmdoc's trainer can do
beyond HRM; its defaults leave HRM's training as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

Count = Annotated[int, Meta(ge=1)]
Index = Annotated[int, Meta(ge=0)]
Rate = Annotated[float, Meta(ge=0.0)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Factor = Annotated[float, Meta(gt=0.0, le=1.0)]
Decay = Annotated[float, Meta(ge=0.0, lt=1.0)]

DeviceChoice = Literal["auto", "cpu", "cuda", "mps"]
DtypeChoice = Literal["auto", "float32", "bfloat16", "float16"]
OnNonfinite = Literal["off", "stop", "skip", "rollback"]
OnRollback = Literal[
    "skip_batches", "reduce_lr"
]  # go on with later batches, or with the same ones more slowly


@dataclass(frozen=True, slots=True)
class LossKeys:
    """`arch.loss.*`."""

    name: str = "losses@ACTLossHead"
    loss_type: Literal["stablemax_cross_entropy", "softmax_cross_entropy"] = "stablemax_cross_entropy"


@dataclass(frozen=True, slots=True)
class ArchKeys:
    """`arch.*`: the model. `puzzle_emb_ndim` None means `hidden_size`; `forward_dtype` None leaves the choice
    to the device.

    From `single_net` on come the switches of the Tiny Recursive Model (arXiv 2510.04871), all off; then
    `causal` for text, and `q_target`, whose 'reuse' saves HRM's second forward pass and learns a little else
    (see `model.ArchConfig`).
    """

    name: str = "hrm.hrm_act_v1@HierarchicalReasoningModel_ACTV1"
    loss: LossKeys = field(default_factory=LossKeys)
    halt_exploration_prob: Share = 0.1
    halt_max_steps: Count = 16
    H_cycles: Count = 2
    L_cycles: Count = 2
    H_layers: Count = 4
    L_layers: Count = 4
    hidden_size: Count = 512
    num_heads: Count = 8
    expansion: Annotated[float, Meta(gt=0.0)] = 4
    puzzle_emb_ndim: Index | None = None
    pos_encodings: Literal["rope", "learned", "none"] = "rope"
    rms_norm_eps: Annotated[float, Meta(gt=0.0)] = 1e-5
    rope_theta: Annotated[float, Meta(gt=0.0)] = 10000.0
    forward_dtype: Literal["float32", "bfloat16", "float16"] | None = None
    single_net: bool = False
    full_backprop: bool = False
    no_act_continue: bool = False
    mlp_t: bool = False
    puzzle_emb_len: Index | None = None
    causal: bool = False
    q_target: Literal["separate", "reuse"] = "separate"


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """`early_stopping.*`: stop after `patience` evaluations in a row that do not better `metric` by
    `min_delta`; 0 is off."""

    patience: Index = 0
    min_delta: Rate = 0.001
    metric: Literal["lm_loss", "accuracy", "exact_accuracy"] = "lm_loss"


@dataclass(frozen=True, slots=True)
class ParallelKeys:
    """`parallel.*`: how several processes share a run. ddp: each has the whole model; fsdp: each keeps a part
    (FSDP2)."""

    strategy: Literal["ddp", "fsdp"] = "ddp"
    timeout_s: Count = 600


@dataclass(frozen=True, slots=True)
class EvaluateKeys:
    """`evaluate.*`: how `hrmdoc evaluate` has a causal model write code, and runs it where `execute_code`
    allows.

    `samples` programs are written for each problem (of the first `limit`); pass@k is given for each of `k`
    (None: 1, 10 and 100 as far as the samples go). `temperature` None means 0, the likeliest tokens, for one
    sample and 0.8 for more. A program may take `timeout_s` CPU seconds (six times as long by the clock) and
    `memory_mib`.
    """

    execute_code: bool = False
    samples: Count = 1
    k: Annotated[str, Meta(pattern=r"^[1-9]\d*(,[1-9]\d*)*$")] | None = None
    temperature: Rate | None = None
    top_p: Factor = 0.95
    max_tokens: Count = 256
    limit: Count | None = None
    timeout_s: Count = 10
    memory_mib: Annotated[int, Meta(ge=64)] = 512


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """One training run. Immutable; `config.load` builds it from presets, a YAML file and overrides."""

    # HRM's own
    arch: ArchKeys = field(default_factory=ArchKeys)
    data_path: str = "data/arc-aug-1000"
    global_batch_size: Count = 768
    epochs: Count = 100_000
    eval_interval: Count | None = 10_000
    checkpoint_every_eval: bool = True
    lr: Rate = 1e-4
    lr_min_ratio: Share = 1.0
    lr_warmup_steps: Index = 2000
    beta1: Decay = 0.9
    beta2: Decay = 0.95
    weight_decay: Rate = 0.1
    puzzle_emb_lr: Rate = 1e-2
    puzzle_emb_weight_decay: Rate = 0.1
    project_name: str | None = None
    run_name: str | None = None
    checkpoint_path: str | None = None
    seed: Index = 0

    # beyond HRM
    preset: str | None = None
    run_dir: str | None = None
    resume: str | None = None
    max_steps: Count | None = None
    grad_accum: Count = 1
    grad_clip: Annotated[float, Meta(gt=0.0)] | None = None
    ema: bool = False
    ema_rate: Decay = 0.999
    early_stopping: EarlyStopping = field(default_factory=EarlyStopping)
    on_nonfinite: OnNonfinite = "stop"
    max_rollbacks: Index = 3
    on_rollback: OnRollback = "skip_batches"
    rollback_lr_factor: Factor = 0.5
    checkpoint_interval: Count | None = None
    checkpoint_keep: Count = 3
    log_interval: Count = 10
    data_hash: str | None = None
    deterministic: bool = False
    device: DeviceChoice = "auto"
    dtype: DtypeChoice = "auto"
    compile: bool | None = None
    native: bool | Literal["auto"] = (
        "auto"  # whether the levels run in C; auto: where that is known to be faster
    )
    threads: Count | None = None
    parallel: ParallelKeys = field(default_factory=ParallelKeys)
    wandb: bool | Literal["offline"] = False
    heartbeat: str | None = None  # beside heartbeat.json: a folder, or redis://HOST/0#KEY
    profile: Annotated[str, Meta(pattern=r"^\d+-\d+$")] | None = None
    autotune: bool = False
    evaluate: EvaluateKeys = field(default_factory=EvaluateKeys)
    fault: str | None = None
