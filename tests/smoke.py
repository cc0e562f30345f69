"""Builds the wheel, installs it in a fresh environment, and uses it from another folder as a newcomer
would: `python tests/smoke.py [PYTHON]`, where PYTHON may be another version's interpreter."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBE = """
import importlib.util, sys
from pathlib import Path
import hrmdoc.trainer
from hrmdoc import rulebook
from hrmdoc.paths import data_dir
book = rulebook.load()
assert len(book.symptoms) > 50, len(book.symptoms)
assert rulebook.check(book) == [], rulebook.check(book)
assert list(data_dir("playbooks").glob("*.md"))
assert (data_dir("rules") / "checked.msgpack").is_file(), "the first use would parse all rules"
place = Path(hrmdoc.trainer.__file__).parent / "native" / "kernels"
kernels = sorted(file.name for file in place.iterdir())
assert kernels == sys.argv[1:], kernels
leaked = [name for name in ("trainer", "rules", "playbooks", "tests") if importlib.util.find_spec(name)]
assert not leaked, leaked
assert "torch" not in sys.modules
print("wheel ok:", len(book.symptoms), "symptoms")
"""
KERNELS = sorted(file.name for file in (ROOT / "trainer" / "native" / "kernels").glob("*.[ch]"))
PAGES = {
    f"hrmdoc/{page.relative_to(ROOT)}"
    for pattern in ("docs/*.md", "docs/howto/*.md", "docs/operations/*.md", "playbooks/*.md")
    for page in ROOT.glob(pattern)
}
"""The manual, which `hrmdoc docs` serves from the installed package."""
LOSSES = ["nan" if step > 30 else f"{2.5 - 0.02 * step:.4f}" for step in range(60)]
LOG = "".join(f"step {step} loss {loss} lr 1e-3\n" for step, loss in enumerate(LOSSES))
SICK = {
    "run.json": '{"schema": "hrmdoc.run/1", "id": "sick", "framework": "hrm"}',
    "config.yaml": "lr: 1.0e-2\nepochs: 10\nglobal_batch_size: 32\nseed: 1\n",
    "train.log": "".join(
        f"step {step}/140 | lm_loss {1.5 - step / 100 if step < 60 else 1 + (step - 60) / 20:.4f} | lr "
        f"1.0e-02\n"
        for step in range(140)
    ),
}


def run(*command: str | Path, cwd: Path, expect: int = 0) -> str:
    """Runs a command and returns what it printed; any other exit status than `expect` ends the test."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode != expect:
        sys.exit(
            f"{' '.join(map(str, command))}: status {done.returncode}, expected "
            f"{expect}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def main(interpreter: str = sys.executable) -> None:
    """The whole smoke test, with the base dependencies alone."""
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # files that are gone would still be packed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
        run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder / "dist", ROOT, cwd=folder)
        wheel = next((folder / "dist").glob("*.whl"))
        packed = set(zipfile.ZipFile(wheel).namelist())
        assert PAGES, "no page of the manual"
        assert packed >= PAGES, sorted(PAGES - packed)
        run(interpreter, "-m", "venv", folder / "env", cwd=folder)
        python, hrmdoc = folder / "env/bin/python", folder / "env/bin/hrmdoc"
        run(
            python,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "-q",
            "install",
            "-c",
            ROOT / "constraints.txt",
            wheel,
            cwd=folder,
        )
        print(run(python, "-c", PROBE, *KERNELS, cwd=folder), end="")
        (folder / "training.log").write_text(LOG)
        found = json.loads(run(hrmdoc, "analyze", "training.log", "--json", cwd=folder, expect=1))
        assert found["verdict"] == "critical", found["verdict"]
        assert "loss-nonfinite" in {symptom["id"] for symptom in found["symptoms"]}
        run(hrmdoc, "watch", "training.log", "--once", cwd=folder, expect=1)
        run(hrmdoc, "report", "training.log", "-o", "review.html", cwd=folder)
        assert "loss-nonfinite" in (folder / "review.html").read_text("utf-8")
        run(hrmdoc, "series", "training.log", "-o", "points.csv", cwd=folder)
        (folder / "sick").mkdir()
        for file, text in SICK.items():
            (folder / "sick" / file).write_text(text)
        assert "\n+lr: " in run(hrmdoc, "apply", "sick", cwd=folder)
        run(hrmdoc, "analyze", "no-such.log", cwd=folder, expect=2)
        run(hrmdoc, "--help", cwd=folder)
        assert "manual" in run(hrmdoc, "docs", "--help", cwd=folder)
        training = subprocess.run(
            [str(hrmdoc), "train", "preset=demo"], cwd=folder, capture_output=True, text=True
        )
        assert "hrmdoc[train]" in training.stderr
        print("command line ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
