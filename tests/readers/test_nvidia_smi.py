"""hrmdoc.readers.nvidia_smi: one series a GPU, whatever the layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.record.run import Run
from tests.readers.feeding import run_of as read

QUERY = """timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]
2026/01/02 03:04:05.678, 0, NVIDIA H100, 97 %, 70000 MiB, 81559 MiB
2026/01/02 03:04:05.680, 1, NVIDIA H100, 3 %, 512 MiB, 81559 MiB
2026/01/02 03:04:06.678, 0, NVIDIA H100, 99 %, 70001 MiB, 81559 MiB
2026/01/02 03:04:06.680, 1, NVIDIA H100, [N/A], 512 MiB, 81559 MiB
"""
DMON = """# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec
# Idx      W      C      C      %      %      %      %
    0    310     61      -     98     55      0      0
    1     70     33      -      0      0      0      0
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec
# Idx      W      C      C      %      %      %      %
    0    311     62      -     97     54      0      0
"""


def values(run: Run, metric: str) -> list[float]:
    return next(series.values.tolist() for key, series in run.series.items() if key.metric == metric)


def test_a_query_gives_each_gpu_its_own_series_with_times(tmp_path: Path) -> None:
    run = read(tmp_path, "gpu.csv", QUERY)
    assert run.formats == ["nvidia_smi"]
    assert values(run, "gpu.0.utilization.gpu") == [97.0, 99.0]
    assert values(run, "gpu.1.utilization.gpu") == [3.0]
    assert values(run, "gpu.1.memory.used") == [512.0, 512.0]
    best = run.best("gpu.util")
    assert best is not None
    assert best.key.metric == "gpu.0.utilization.gpu"
    assert best.times[1] - best.times[0] == pytest.approx(1.0)


def test_dmon_columns_bear_the_names_of_the_query_and_its_header_may_come_again(tmp_path: Path) -> None:
    run = read(tmp_path, "dmon.log", DMON)
    assert run.formats == ["nvidia_smi"]
    assert values(run, "gpu.0.utilization.gpu") == [98.0, 97.0]
    assert values(run, "gpu.1.power.draw") == [70.0]
    assert not any(key.metric.endswith("mtemp") for key in run.series)


def test_a_training_table_with_a_gpu_column_is_no_nvidia_smi(tmp_path: Path) -> None:
    run = read(tmp_path, "train.csv", "step,loss,gpu\n0,2.0,1\n1,1.5,1\n2,1.2,1\n")
    assert run.formats == ["csv"]
