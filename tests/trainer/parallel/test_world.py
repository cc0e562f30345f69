from __future__ import annotations

import json
from typing import Any

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.launch.env import world_size
from hrmdoc.trainer.parallel import world as parallel
from tests.trainer.worlds import launch

SMALL = ("max_steps=8", "checkpoint_interval=4", "puzzle_emb_lr=1e-4")


def curve(lab: Any, run: str, tag: str = "train/lm_loss") -> list[tuple[int, float]]:
    return lab.scalars(run)[tag]  # type: ignore[no-any-return]


@pytest.mark.slow
def test_two_and_four_processes_give_the_curve_of_one(lab: Any) -> None:
    statuses, printed = launch(
        {"size": 1, "words": lab.words(*SMALL, run="one")},
        {"size": 2, "words": lab.words(*SMALL, run="two")},
        {"size": 4, "words": lab.words(*SMALL, run="four")},
        {"size": 2, "words": lab.words(*SMALL, "parallel=fsdp", "ema=true", run="fsdp")},
    )
    assert statuses == [[0], [0, 0], [0, 0, 0, 0], [0, 0]], printed
    for name in ("two", "four", "fsdp"):
        moved = ("train/param_norm", "train/update_ratio")
        for tag in (
            "train/lm_loss",
            "train/q_halt_loss",
            "train/grad_norm",
            *moved,
            "train/count",
            "all.lm_loss",
        ):
            one, many = curve(lab, "one", tag), curve(lab, name, tag)
            assert [step for step, _ in many] == [step for step, _ in one], (name, tag)
            if name == "fsdp" and tag.startswith("all."):
                continue  # evaluated with the averaged weights
            assert [value for _, value in many] == pytest.approx(
                [value for _, value in one], rel=2e-4, abs=1e-5
            ), (name, tag)
    assert {path.name for path in (lab.folder / "four").glob("rank*.log")} == {
        f"rank{rank}.log" for rank in range(4)
    }
    norms = {
        (lab.folder / "four" / f"rank{rank}.log").read_text().split("grad_norm ")[1].split()[0]
        for rank in range(4)
    }
    assert len(norms) == 1
    assert json.loads((lab.folder / "four" / "run.json").read_text())["world_size"] == 4
    assert len(list((lab.folder / "four").glob("events.out.*"))) == 1
    assert (
        "4 processes (ddp), 1 rows each: gloo, timeout 600 s"
        in (lab.folder / "four" / "train.log").read_text()
    )


@pytest.mark.slow
def test_a_checkpoint_is_resumed_by_another_number_of_processes_and_another_strategy(lab: Any) -> None:
    def rest(source: str, run: str, *more: str, step: int = 4) -> list[str]:
        place = lab.folder / source / "checkpoints" / f"step_{step}"
        return lab.words(f"resume={place}", f"run_dir={lab.folder / run}", *more)  # type: ignore[no-any-return]

    ema = "ema=true"
    statuses, printed = launch(
        {"size": 1, "words": lab.words(*SMALL, ema, run="one")},
        {"size": 2, "words": lab.words(*SMALL, ema, "parallel=fsdp", run="split")},
        {"size": 1, "words": rest("split", "2to1", "max_steps=8")},
        {"size": 2, "words": rest("one", "1to2", "max_steps=8", "parallel=fsdp")},
        {"size": 4, "words": rest("split", "2to4", "max_steps=8", "parallel=fsdp", "checkpoint_interval=6")},
        {"size": 2, "words": rest("2to4", "4to2", "max_steps=8", "parallel=fsdp", step=6)},
        {"size": 2, "words": rest("one", "ddp", "max_steps=8")},
    )
    assert statuses == [[0], [0, 0], [0], [0, 0], [0] * 4, [0, 0], [0, 0]], printed
    assert len(list((lab.folder / "split" / "checkpoints" / "step_4" / "shards").glob("*.distcp"))) == 2
    for tag in ("train/lm_loss", "all.lm_loss"):
        whole = [point for point in curve(lab, "one", tag) if point[0] > 4]
        for name in ("2to1", "1to2", "2to4", "ddp"):
            assert [value for _, value in curve(lab, name, tag)] == pytest.approx(
                [v for _, v in whole], rel=2e-4
            ), (name, tag)
        assert curve(lab, "4to2", tag) == [
            (step, pytest.approx(value, rel=2e-4)) for step, value in whole if step > 6
        ], tag
    assert len(list((lab.folder / "2to4" / "checkpoints" / "step_6" / "shards").glob("*.distcp"))) == 4


@pytest.mark.slow
def test_a_signal_to_one_process_ends_all_of_them_at_the_same_step_with_a_checkpoint(lab: Any) -> None:
    statuses, printed = launch(
        {"size": 2, "words": lab.words("parallel.timeout_s=30"), "signal": ["SIGTERM", 1, 5]}
    )
    assert statuses == [[143, 143]], printed
    assert lab.checkpoints() == ["step_5"]
    assert lab.events("signal")[0]["step"] == 5


def test_a_run_of_one_process_measures_the_parts_of_a_step_and_communicates_nothing(lab: Any) -> None:
    from hrmdoc.trainer.loop.loop import train

    job = lab.job("max_steps=4")
    seen: list[dict[str, float]] = []
    job.progress = lambda _, values: seen.append(values)
    train(job)
    for values in seen:
        parts = [values[f"perf/{name}_time_s"] for name in ("data", "compute", "comm")]
        assert parts[2] == 0
        assert 0 < parts[1] < values["perf/step_time_s"]
        assert sum(parts) <= values["perf/step_time_s"]


def test_a_process_without_the_others_addresses_is_sent_to_torchrun() -> None:
    with pytest.raises(ConfigError, match="RANK is not set") as caught:
        parallel.start("cpu", 5, {"WORLD_SIZE": "2"})
    assert "torchrun" in str(caught.value)
    with pytest.raises(ConfigError, match="Apple GPU"):
        parallel.start("mps", 5, {"WORLD_SIZE": "2", **dict.fromkeys(parallel.NEEDED, "0")})


@pytest.mark.parametrize("text", ["", "0", "-2", "two", "1"])
def test_a_world_size_that_makes_no_sense_means_one_process(text: str) -> None:
    assert world_size({"WORLD_SIZE": text}) == 1


def test_the_settings_of_nccl_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.nccl.version", lambda: (2, 27, 3))
    assert "NCCL 2.27.3, timeout 9 s, NCCL_IB_DISABLE=1" in parallel.settings(
        "cuda", 9, {"NCCL_IB_DISABLE": "1"}
    )
    assert "NCCL_* unset" in parallel.settings("cuda", 9, {})


def test_large_gradients_travel_in_several_buckets_and_dtypes_never_mix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    monkeypatch.setattr(parallel, "BUCKET", 16)
    grads = [torch.zeros(n) for n in (2, 2, 9, 1)] + [torch.zeros(1, dtype=torch.float64)]
    assert [[grad.numel() for grad in bucket] for bucket in parallel._buckets(grads)] == [
        [2, 2],
        [9],
        [1],
        [1],
    ]
