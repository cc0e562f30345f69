from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.config import load as configs
from hrmdoc.trainer.config.load import check_world, dump, load, schedule_warnings, total_steps
from hrmdoc.trainer.config.schema import TrainConfig
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.state.build import arch_config

BASIC = """data_path=data/sudoku-extreme-small epochs=500 eval_interval=100 global_batch_size=4 lr=1e-4
    puzzle_emb_lr=1e-4
    weight_decay=1.0 puzzle_emb_weight_decay=1.0
    arch.hidden_size=32 arch.H_layers=1 arch.L_layers=1 arch.num_heads=1 arch.expansion=2"""
ULTRA_SMALL = BASIC.replace("epochs=500", "epochs=1000").replace("eval_interval=100", "eval_interval=200")
FULL = """data_path=data/sudoku-extreme-1k-aug-1000 epochs=20000 eval_interval=2000 lr=1e-4 puzzle_emb_lr=1e-4
    weight_decay=1.0 puzzle_emb_weight_decay=1.0"""


def message(*words: str, file: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file, words)
    return str(caught.value)


@pytest.mark.parametrize("command", [BASIC, ULTRA_SMALL, FULL])
def test_the_commands_of_the_hrm_guide_are_understood(command: str) -> None:
    config = load(None, shlex.split(command))
    assert (config.lr, config.puzzle_emb_lr, config.weight_decay) == (1e-4, 1e-4, 1.0)


def test_the_defaults_are_those_of_hrm() -> None:
    config = load()
    assert (config.global_batch_size, config.lr, config.lr_warmup_steps, config.beta2) == (
        768,
        1e-4,
        2000,
        0.95,
    )
    assert (config.puzzle_emb_lr, config.lr_min_ratio, config.eval_interval) == (1e-2, 1.0, 10_000)
    assert arch_config(config.arch, "bfloat16") == ArchConfig()


def test_hydras_plus_signs_are_accepted() -> None:
    assert load(None, ["+seed=3", "++arch.forward_dtype=float32"]).arch.forward_dtype == "float32"


def test_a_yaml_file_may_write_1e_minus_4_without_a_dot(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("lr: 1e-4\nepochs: 2e4\narch:\n  hidden_size: 64\n")
    config = load(file)
    assert (config.lr, config.epochs, config.arch.hidden_size) == (1e-4, 20_000, 64)


def test_hrms_own_configuration_file_loads(tmp_path: Path) -> None:
    file = tmp_path / "cfg_pretrain.yaml"
    file.write_text(
        "defaults:\n  - arch: hrm_v1\n  - _self_\nhydra:\n  output_subdir: null\n"
        "data_path: data/arc-aug-1000\n"
        "eval_save_outputs: []\narch:\n  hidden_size: 128\n  puzzle_emb_ndim: ${.hidden_size}\n"
    )
    assert arch_config(load(file).arch, "float32").puzzle_emb_ndim == 128


def test_the_command_line_wins_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("preset: tiny\nlr: 3e-4\narch: {hidden_size: 48}\n")
    config = load(file, ["lr=5e-4"])
    assert (config.lr, config.arch.hidden_size, config.arch.H_layers, config.global_batch_size) == (
        5e-4,
        48,
        1,
        2,
    )


def test_a_resolved_configuration_loads_unchanged(tmp_path: Path) -> None:
    config = load(None, ["preset=small,stable", "epochs=30", "early_stopping.patience=5", "run_name=5"])
    file = tmp_path / "config.yaml"
    file.write_text(dump(config))
    assert load(file) == config
    assert config.run_name == "5"


@pytest.mark.parametrize(
    ("name", "hidden", "batch"), [("tiny", 16, 2), ("small", 32, 4), ("medium", 64, 8), ("full", 512, 768)]
)
def test_presets_follow_the_memory_table_of_the_hrm_guide(name: str, hidden: int, batch: int) -> None:
    config = load(None, [f"preset={name}"])
    assert (config.arch.hidden_size, config.global_batch_size) == (hidden, batch)
    assert config.arch.pos_encodings == ("rope" if name == "full" else "learned")


def test_presets_can_be_combined() -> None:
    config = load(None, ["preset=tiny,stable"])
    assert (config.arch.hidden_size, config.grad_clip, config.lr_warmup_steps, config.checkpoint_keep) == (
        16,
        1.0,
        500,
        3,
    )
    assert (config.checkpoint_interval, config.on_nonfinite) == (1000, "rollback")
    mps = load(None, ["preset=mps"])
    assert (mps.global_batch_size, mps.grad_accum, mps.device) == (4, 8, "mps")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("arch.hiden_size=3", "did you mean 'arch.hidden_size'"),
        ("hidden_size=3", "did you mean 'arch.hidden_size'"),
        ("warmup_step=3", "unknown key 'warmup_step'"),
        ("preset=tinny", "did you mean 'tiny'"),
        ("preset=x", "known presets: demo, full"),
        ("lr=fast", "Expected float, got str"),
        ("lr=-1", ">= 0.0"),
        ("lr=.nan", "a finite number is needed"),
        ("epochs=2.5", "Expected int"),
        ("epochs=0", ">= 1"),
        ("seed=true", "Expected int"),
        ("on_nonfinite=foo", "one of off, stop, skip, rollback"),
        ("early_stopping=5", "holds several keys"),
        ("arch=trm", "hrm_v1 is the only model"),
        ("lr=${other}", "not resolved"),
        ("lr=[1", "cannot be read"),
        ("lr", "is not a setting"),
        ("=3", "is not a setting"),
        ("arch.num_heads=3", "arch.num_heads=2 does"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_way_out(word: str, expected: str) -> None:
    assert expected in message(word)


def test_heads_that_divide_the_hidden_size_into_odd_parts_do_not_fit_rotary_positions() -> None:
    assert "even head size" in message("arch.hidden_size=6", "arch.num_heads=2")
    assert (
        load(None, ["arch.hidden_size=6", "arch.num_heads=2", "arch.pos_encodings=learned"]).arch.num_heads
        == 2
    )


def test_an_evaluation_interval_that_does_not_divide_the_epochs_is_refused() -> None:
    assert load(None, ["epochs=10", "eval_interval=5"]).eval_interval == 5
    assert "eval_interval=5 does" in message("epochs=10", "eval_interval=7")


def test_an_evaluation_interval_that_nobody_set_for_these_epochs_gives_way() -> None:
    assert load(None, ["epochs=30"]).eval_interval == 30
    assert load(None, ["preset=demo"]).eval_interval == 5
    assert load(None, ["preset=demo", "epochs=8"]).eval_interval == 4


def test_a_wrong_key_in_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("lr: 1e-4\narch:\n  hidden_size: 32\n  num_head: 2\n")
    assert message(file=file).startswith(f"{file}:4: unknown key 'arch.num_head'")


@pytest.mark.parametrize(
    "content", [b"- 1\n- 2\n", b"a: [1\n", b"\xff\xfe\x00", b"text", b"a: 1\na: 2\n", b"\0"]
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(content)
    assert str(file) in message(file=file)


def test_a_missing_file_is_refused_and_an_empty_one_is_all_defaults(tmp_path: Path) -> None:
    assert "cannot read" in message(file=tmp_path / "no.yaml")
    (tmp_path / "empty.yaml").write_text("")
    assert load(tmp_path / "empty.yaml") == TrainConfig()


def test_total_steps_are_counted_as_hrm_counts_them() -> None:
    assert total_steps(load(None, ["epochs=20000"]), 1000, 1.0) == 26041
    assert total_steps(load(None, ["epochs=8", "global_batch_size=4", "grad_accum=2"]), 10, 1.0) == 10
    assert total_steps(load(None, ["epochs=20000", "max_steps=7"]), 1000, 1.0) == 7


def test_data_that_does_not_fill_one_step_is_refused() -> None:
    with pytest.raises(ConfigError, match="do not fill one step of 768"):
        total_steps(load(None, ["epochs=1"]), 10, 1.0)


def test_a_warmup_longer_than_the_run_is_a_warning_with_both_numbers() -> None:
    config = load(None, ["lr_warmup_steps=100"])
    assert schedule_warnings(config, 100) == []
    (warning,) = schedule_warnings(config, 40)
    assert "lr_warmup_steps=100" in warning
    assert "40 steps" in warning


def test_a_batch_that_the_processes_cannot_share_is_refused() -> None:
    check_world(load(None, ["global_batch_size=6"]), 3)
    with pytest.raises(ConfigError, match="cannot be shared evenly by 4 processes"):
        check_world(load(None, ["global_batch_size=6"]), 4)


def test_every_preset_is_valid() -> None:
    from hrmdoc.trainer.config.overrides import PRESETS

    names = [path.stem for path in PRESETS.glob("*.yaml")]
    assert len(names) == 10
    for name in names:
        assert configs.load(None, [f"preset={name}"]).preset == name
