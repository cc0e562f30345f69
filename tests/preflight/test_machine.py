from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.preflight.machine import Machine, device_kind, machine_facts
from hrmdoc.preflight.ranks import rank_problem
from hrmdoc.record.records import Fact


def bare(**more: Any) -> Machine:
    return Machine(version=lambda _: None, importable=lambda _: False, **more)


def canonical(machine: Machine, known: Mapping[str, Fact] | None = None) -> dict[str, object]:
    return {fact.key: fact.value for fact in machine_facts(machine, known or {}) if fact.scope == "run"}


def test_what_cannot_be_told_is_no_fact() -> None:
    facts = canonical(bare())
    assert not {
        "env.omp_num_threads",
        "env.cpu_count",
        "env.shm_gib",
        "env.rank_problem",
        "env.tokenizers_parallelism",
    } & set(facts)
    assert facts["device.kind"] == "cpu"


def test_this_machine_can_be_read() -> None:
    machine = Machine.here(Path())
    assert machine.cpu_count is not None
    assert machine.cpu_count >= 1
    assert machine.disk_free_gib is not None
    assert machine.version("numpy") is not None
    assert machine.version("no-such-package-anywhere") is None
    assert not machine.importable("no_such_module_anywhere")


def test_only_listed_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    machine = Machine.here(Path())
    assert "WANDB_API_KEY" not in machine.variables
    assert machine.variables["OMP_NUM_THREADS"] == "4"


def test_threads_and_cores_become_facts() -> None:
    facts = canonical(bare(variables={"OMP_NUM_THREADS": "8"}, cpu_count=2))
    assert (facts["env.omp_num_threads"], facts["env.cpu_count"]) == (8, 2)
    assert canonical(bare(variables={"OMP_NUM_THREADS": "4,2"}))["env.omp_num_threads"] == 4
    assert "env.omp_num_threads" not in canonical(bare(variables={"OMP_NUM_THREADS": "many"}))


def test_apple_silicon_has_its_flags_and_the_default_of_the_low_watermark() -> None:
    apple = {"system": "Darwin", "processor": "arm64"}
    facts = canonical(bare(**apple, variables={"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.9"}))
    assert facts["device.kind"] == "mps"
    assert facts["env.mps_fallback"] is False
    assert (facts["env.mps_high_watermark"], facts["env.mps_low_watermark"]) == (0.9, 1.4)
    assert (
        canonical(bare(**apple, variables={"PYTORCH_ENABLE_MPS_FALLBACK": "1"}))["env.mps_fallback"] is True
    )
    assert "env.mps_fallback" not in canonical(bare())


def test_the_config_decides_the_device_before_the_machine_does() -> None:
    machine = bare(nvidia_driver=True)
    assert device_kind(machine, None) == "cuda"
    assert device_kind(machine, "auto") == "cuda"
    assert device_kind(machine, "cpu") == "cpu"
    assert device_kind(bare(), "cuda:0") == "cuda"


def test_the_smallest_gpu_counts() -> None:
    assert canonical(bare(nvidia_driver=True, gpu_memory_gib=(80.0, 24.0)))["device.gpu_memory_gib"] == 24.0


@pytest.mark.parametrize(
    ("host", "variables", "expected"),
    [
        ("nid001044", {}, False),
        ("catalogin-db", {}, False),
        ("login05", {"SLURM_JOB_ID": "1"}, False),
        ("login05", {}, True),
        ("cluster-login2.example.org", {}, True),
    ],
)
def test_a_login_node_is_told_by_its_name(host: str, variables: dict[str, str], expected: bool) -> None:
    assert canonical(bare(host=host, variables=variables))["env.login_node"] is expected


def test_tokenizers_matter_only_where_they_are_installed() -> None:
    installed = Machine(
        version=lambda name: "0.19" if name == "tokenizers" else None, importable=lambda _: False
    )
    assert canonical(installed)["env.tokenizers_parallelism"] == "unset"


GOOD = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"OMP_NUM_THREADS": "1"}, None),
        (GOOD, ""),
        ({"WORLD_SIZE": "1"}, ""),
        ({**GOOD, "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}, ""),
        ({**GOOD, "RANK": "2"}, "RANK=2 is not below WORLD_SIZE=2"),
        (
            {**GOOD, "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2"},
            "LOCAL_RANK=2 is not below LOCAL_WORLD_SIZE=2",
        ),
        ({**GOOD, "LOCAL_WORLD_SIZE": "4"}, "LOCAL_WORLD_SIZE=4 is not below WORLD_SIZE=2"),
        ({"WORLD_SIZE": "2"}, "RANK, MASTER_ADDR, MASTER_PORT not set, others are"),
        ({"RANK": "0"}, "WORLD_SIZE, MASTER_ADDR, MASTER_PORT not set, others are"),
        ({**GOOD, "RANK": "-1"}, "RANK=-1 is not a whole number"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE=0 leaves no process"),
        ({**GOOD, "MASTER_PORT": "99999"}, "MASTER_PORT=99999 is not a port"),
    ],
)
def test_the_launch_environment_must_fit_together(variables: dict[str, str], expected: str | None) -> None:
    assert rank_problem(variables) == expected
