"""Which run `resume=auto` goes on with."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.errors import ConfigError
from hrmdoc.trainer.commands.train import read_config
from hrmdoc.trainer.loop.loop import train
from hrmdoc.trainer.setup.make import make_job


def job(lab: Any, *more: str) -> Any:
    """A job in a new folder below runs/, unless it goes on with one."""
    words = [word for word in lab.words(*more) if not word.startswith("run_dir=")]
    made = make_job(read_config(None, words), None, lab.lines.append)
    made.run.heartbeat(0)
    return made


@pytest.fixture
def here(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(lab.folder)
    for name in ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    return lab


def killed(lab: Any, *more: str) -> Any:
    """A run that was killed after its checkpoint of step 4: the state on the disk stays `running`."""
    made = job(lab, "checkpoint_interval=4", *more)
    made.total_steps = 4
    train(made)
    made.run.state("running")
    made.run.release()
    return made


def test_auto_goes_on_with_the_unfinished_run_of_the_same_configuration(here: Any) -> None:
    first = killed(here)
    other = job(here, "resume=auto", "checkpoint_interval=4", "lr=2e-3")
    assert (other.state.step, other.run.path != first.run.path) == (0, True)
    assert any("no unfinished run of this configuration" in line for line in here.lines)
    again = job(here, "resume=auto", "checkpoint_interval=4")
    assert (again.state.step, again.run.path) == (4, first.run.path)


def test_auto_begins_anew_after_a_run_that_came_to_its_end(here: Any) -> None:
    done = job(here, "max_steps=2")
    train(done)
    again = job(here, "resume=auto", "max_steps=2")
    assert (again.state.step, again.run.path != done.run.path) == (0, True)


def test_auto_alone_means_the_newest_unfinished_run(here: Any) -> None:
    first = killed(here)
    config = read_config(None, ["resume=auto"])
    assert config.resume == str(first.run.path)
    assert config.lr == first.config.lr
    first.run.state("finished")
    with pytest.raises(ConfigError, match="no run here is unfinished"):
        read_config(None, ["resume=auto"])
