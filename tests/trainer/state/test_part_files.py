from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from hrmdoc.errors import InputError
from hrmdoc.trainer.state import checkpoint, part_files


class Bomb:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.target),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    part_files.write(
        tmp_path / "shards",
        {"model.a": torch.arange(6.0).view(3, 2), "model.b": torch.ones(2, dtype=torch.bfloat16)},
    )
    return tmp_path / "shards"


def test_parts_come_back_whole(folder: Path) -> None:
    found = part_files.read(folder)
    assert torch.equal(found["model.a"], torch.arange(6.0).view(3, 2))
    assert found["model.b"].dtype == torch.bfloat16


def test_a_hostile_description_of_parts_runs_no_code(folder: Path) -> None:
    target = folder.parent / "ran"
    (folder / ".metadata").write_bytes(pickle.dumps(Bomb(target)))
    with pytest.raises(InputError, match="which no checkpoint needs"):
        part_files.read(folder)
    assert not target.exists()


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 50, pickle.dumps({"a": 1}), b"text"], ids=["empty", "zeros", "dict", "text"]
)
def test_a_broken_description_of_parts_is_refused(folder: Path, content: bytes) -> None:
    (folder / ".metadata").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        part_files.read(folder)


def test_a_damaged_part_is_found_by_its_checksum(tmp_path: Path) -> None:
    state = {"split": ["a"], "model": {}, "optimizer": {"param_groups": []}, "ema": None}
    tensors = {name: torch.ones(3) for name in ("model.a", "exp_avg.a", "exp_avg_sq.a")}
    path = checkpoint.save(
        tmp_path, 1, state, finite=True, write_parts=lambda part: part_files.write(part, tensors)
    )
    loaded = checkpoint.load(path)[0]
    assert torch.equal(loaded["model"]["a"], torch.ones(3))
    assert torch.equal(loaded["optimizer"]["state"][0]["exp_avg"], torch.ones(3))
    (part,) = (path / "shards").glob("*.distcp")
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="damaged"):
        checkpoint.load(path)


def test_a_process_reads_its_own_part_however_the_parts_were_cut(folder: Path) -> None:
    script = """if True:
        import sys, torch, torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Shard
        from torch.testing._internal.distributed.fake_pg import FakeStore
        from hrmdoc.trainer.parallel.split import own_part
        from hrmdoc.trainer.state import part_files
        from pathlib import Path

        dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=2)
        mesh = init_device_mesh("cpu", (2,))
        size = {"shape": (3, 2), "stride": (2, 1)}
        own = DTensor.from_local(torch.zeros(1, 2), mesh, [Shard(0)], run_check=False, **size)
        found = part_files.read(Path(sys.argv[1]), {"model.a": own})
        part = own_part(found["model.a"], own)
        print(part.tolist(), part.untyped_storage().nbytes(), found["model.b"].tolist())
    """
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.strip() == "[[4.0, 5.0]] 8 [1.0, 1.0]", done.stderr
