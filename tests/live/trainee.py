"""A trainer of a few lines that keeps to the run directory: steps, checkpoints, a heartbeat, and actions.

    python trainee.py FOLDER [nan]

It trains until a file `stop` lies in its folder. `nan`: its loss is lost at step 40 until it is rolled
back. While a file `still` lies there, its heart does not beat.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

EVERY = 20


def replaced(path: Path, content: object) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(content))
    part.replace(path)


def main(folder: Path, faults: list[str]) -> None:
    (folder / "control").mkdir(parents=True, exist_ok=True)
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder / "config.yaml").write_text("lr: 0.001\n")
    facts = {"schema": "hrmdoc.run/1", "state": "running", "parameters": 1000, "pid": os.getpid()}
    replaced(folder / "run.json", facts)
    step, lost, paused = 0, False, False
    with (folder / "train.log").open("a") as log, (folder / "events.jsonl").open("a") as events:

        def event(name: str, **more: object) -> None:
            events.write(json.dumps({"time": time.time(), "event": name, "step": step, **more}) + "\n")
            events.flush()

        event("started")
        while not (folder / "stop").exists():
            step += 1
            lost = lost or ("nan" in faults and step == 40)
            log.write(
                f"step {step} | loss {float('nan') if lost else 1 + 2 / (1 + step / 50):.4f} | lr 0.001\n"
            )
            log.flush()
            if not (folder / "still").exists():
                replaced(folder / "heartbeat.json", {"time": time.time(), "step": step, "pid": os.getpid()})
            if step % EVERY == 0 and not paused and not lost:
                (folder / "checkpoints" / f"step_{step}").mkdir(exist_ok=True)
                event("checkpoint")
            for path in sorted((folder / "control").glob("[!.]*.json")):
                request = json.loads(path.read_text())
                path.unlink()
                action = request["action"]
                paused = {"pause_checkpoints": True, "resume_checkpoints": False}.get(action, paused)
                if action == "rollback":
                    lost, step = False, step // EVERY * EVERY - EVERY
                    faults.clear()
                event("action", id=request["id"], action=action, status="done")
            time.sleep(0.03)
        event("ended", reason="finished", state="finished")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
