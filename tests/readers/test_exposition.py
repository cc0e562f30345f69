"""hrmdoc.readers.exposition: node-exporter and DCGM exporter."""

import math
from pathlib import Path

import pytest

from hrmdoc.readers.support.samples import Sample, sample
from tests.readers.feeding import run_of as read

NODE = """\
# HELP node_filesystem_avail_bytes Filesystem space available to non-root users in bytes.
# TYPE node_filesystem_avail_bytes gauge
node_filesystem_avail_bytes{{device="/dev/nvme0n1p2",fstype="ext4",mountpoint="/"}} 8.0e+10 {time}
node_filesystem_avail_bytes{{device="/dev/sdb",fstype="xfs",mountpoint="/data \\"a\\""}} {free} {time}
node_filesystem_avail_bytes{{device="tmpfs",fstype="tmpfs",mountpoint="/run"}} 1e+06 {time}
# TYPE node_memory_MemAvailable_bytes gauge
node_memory_MemAvailable_bytes 2.5e+10 {time}
node_memory_MemTotal_bytes 1e+11 {time}
node_load1 3.2 {time}
"""
DCGM = """\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100",Hostname="n1"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-2",device="nvidia1",modelName="NVIDIA H100",Hostname="n1"} 3
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1",device="nvidia0"} 70000
"""


def test_scrapes_on_end_are_a_series_with_times_and_the_fullest_disk_counts(tmp_path: Path) -> None:
    begin = 1_767_322_000_000
    text = "".join(NODE.format(free=9e9 - 1e9 * at, time=begin + 15_000 * at) for at in range(6))
    run = read(tmp_path, "node.prom", text)
    assert run.formats == ["exposition"]
    free, memory = run.best("disk.free"), run.best("host.memory_share")
    assert free is not None
    assert memory is not None
    assert free.values.tolist() == [9, 8, 7, 6, 5, 4]
    assert free.times[-1] - free.times[0] == 75
    assert memory.values.tolist() == [75] * 6
    assert not run.damages


def test_each_gpu_has_the_names_of_nvidia_smi(tmp_path: Path) -> None:
    run = read(tmp_path, "dcgm.txt", DCGM + DCGM)
    metrics = {key.metric: series.values.tolist() for key, series in run.series.items()}
    assert metrics == {
        "gpu.0.utilization.gpu": [97, 97],
        "gpu.1.utilization.gpu": [3, 3],
        "gpu.0.memory.used": [70000, 70000],
    }
    best = run.best("gpu.util")
    assert best is not None


def test_what_is_no_sample_is_counted(tmp_path: Path) -> None:
    run = read(tmp_path, "dcgm.prom", DCGM + "DCGM_FI_DEV_GPU_UTIL{gpu=\nDCGM_FI_DEV_GPU_TEMP much\n")
    assert sum(damage.left_out for damage in run.damages) == 2


@pytest.mark.parametrize("text", ["prometheus_build_info 1\n", "node one failed\n", "step 1 loss 2\n"])
def test_other_texts_are_left_to_others(text: str) -> None:
    from hrmdoc.readers import exposition

    assert exposition.sniff(Path("a.prom"), text.encode()) == 0


LABELS = '{free="{a} 1",name="x \\"y\\""}'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("loss 2", Sample("loss", {}, 2.0)),
        (f"loss{LABELS} 2e-3", Sample("loss", {"free": "{a} 1", "name": 'x \\"y\\"'}, 0.002)),
        ('loss{run="x",} -Inf 1700000000000', Sample("loss", {"run": "x"}, -math.inf, 1.7e9)),
        (
            'loss_bucket{le="1"} 3 1700000000.5 # {id="a"} 0.7',
            Sample("loss_bucket", {"le": "1"}, 3.0, 1.7e9 + 0.5),
        ),
        ("loss much", None),
        ("loss{run=", None),
        ("loss 1_000", None),
        ("2 loss", None),
    ],
)
def test_one_grammar_reads_what_exporters_and_programs_answer(line: str, expected: Sample | None) -> None:
    assert repr(sample(line)) == repr(expected)
