"""Actions of the live run, executed between steps."""

from __future__ import annotations

import time
from typing import Literal

from ..rundir.control import Action, Refused, take
from .job import Job

POLL_S = 0.25  # between looks into control/


class Inbox:
    """Executes the actions in control/ between steps, and answers each in events.jsonl."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._next = 0.0
        self._taken: list[Action | Refused] = []

    def waiting(self) -> bool:
        """Whether something is there for the first process; looks a few times a second at most."""
        now = time.monotonic()
        if now < self._next or not self.job.world.chief:
            return False
        self._next = now + POLL_S
        self._taken += take(self.job.run.control, self.job.config.lr)
        return bool(self._taken)

    def answer(self, lm_loss: float | None) -> Literal["stopped"] | None:
        """Executes what is there, in every process. Returns `stopped` when asked to."""
        ended: Literal["stopped"] | None = None
        actions, self._taken = self.job.world.share(self._taken), []
        for action in actions:
            step = self.job.state.step
            if isinstance(action, Refused):
                self.job.run.event("action", step, id=action.id, status="refused", why=action.why)
                self.job.run.log(f"warning: action {action.id} refused: {action.why}")
                continue
            done, detail = self._execute(action, lm_loss)
            status = "done" if done else "failed"
            self.job.run.event(
                "action",
                step,
                id=action.id,
                action=action.action,
                status=status,
                reason=action.reason,
                **detail,
            )
            self.job.run.log(f"action {action.action} ({action.id}): {status}")
            ended = "stopped" if action.action == "stop" else ended
        return ended

    def _execute(self, action: Action, lm_loss: float | None) -> tuple[bool, dict[str, float | int]]:
        state, keeper = self.job.state, self.job.keeper
        match action.action:
            case "pause_checkpoints" | "resume_checkpoints":
                keeper.pause(action.reason, on=action.action == "pause_checkpoints")
                return True, {}
            case "checkpoint":
                return keeper.save(state, lm_loss), {}
            case "rollback":
                return keeper.roll_back(state, self.job.config), {"to_step": state.step}
            case "set_lr":
                assert action.lr is not None
                before, state.lr_scale = state.lr_scale, action.lr / self.job.config.lr
                return True, {"lr": action.lr, "before": before * self.job.config.lr}
            case _:
                return True, {}
