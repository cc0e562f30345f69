"""A machine made smaller: for one program alone, and the program notices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from hrmdoc.trainer.replay import machine, saving  # noqa: E402

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


def python(text: str, *words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, words)], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@LINUX
def test_a_program_with_little_memory_cannot_take_more() -> None:
    said = python(
        "from hrmdoc.trainer.replay.machine import little_memory; import torch\n"
        "little_memory(64 << 20); a = torch.ones(4 << 20); print('small'); b = torch.ones(40 << 20)"
    )
    assert said.startswith("small")
    assert "DefaultCPUAllocator: can't allocate memory" in said


@LINUX
def test_a_small_disk_is_full_for_the_program_and_unseen_by_others(tmp_path: Path) -> None:
    said = python(
        "import sys; from pathlib import Path\n"
        "from hrmdoc.trainer.replay import machine, saving\n"
        "folder = Path(sys.argv[1]); machine.small_disk(folder, 1 << 20)\n"
        "for step in range(9): saving.save(folder, step, {'x': __import__('torch').ones(1 << 16)}, 0)",
        tmp_path / "disk",
    )
    assert "No space left on device" in said or "quota exceeded" in said
    emulated = "held to 1,048,576 bytes by the program itself" in said
    assert any((tmp_path / "disk").iterdir()) is emulated


def test_where_nothing_can_be_mounted_the_program_holds_the_folder_to_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "_mounted", lambda *_: False)
    monkeypatch.setenv(saving.QUOTA, "")
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "step_9.pt").write_bytes(b"x" * 700_000)
    machine.small_disk(tmp_path / "disk", 700_000)
    assert "by the program itself" in capsys.readouterr().out
    content = {"x": torch.ones(1 << 16)}
    saving.save(tmp_path / "disk", 1, content, 0)
    saving.save(tmp_path / "disk", 2, content, 0)
    with pytest.raises(OSError, match="quota exceeded"):
        saving.save(tmp_path / "disk", 3, content, 0)
    assert [path.name for path in saving.kept(tmp_path / "disk")] == ["step_2.pt", "step_1.pt"]


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "usage"), (["nothing"], "usage"), (["memory=much", "classify"], "'much' is no number of MiB")],
)
def test_wrong_words_are_an_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert machine.main(words) == 2
    assert said in capsys.readouterr().err
