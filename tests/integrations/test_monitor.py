"""The core of the integrations, fed by a plain loop."""

from __future__ import annotations

import json
import logging
import math
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import hrmdoc
from hrmdoc.integrations import given
from hrmdoc.integrations.boards import TensorBoard, markdown
from hrmdoc.integrations.wording import line_of
from hrmdoc.live.incidents import Incident


def until(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether it comes true in time."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def feed(monitor: hrmdoc.Monitor, losses: Iterator[float], broken: bool = False) -> None:
    for step, loss in enumerate(losses):
        monitor.log(step, {"loss": math.nan if broken and step > 200 else loss, "lr": 1e-3})


def test_a_run_that_learns_is_called_healthy_and_nothing_is_said(
    losses: Iterator[float], caplog: pytest.LogCaptureFixture
) -> None:
    with hrmdoc.Monitor(share=1.0, stop="critical", save="warning") as monitor:
        feed(monitor, losses)
    assert monitor.analysis is not None
    assert monitor.analysis.verdict in ("healthy", "info")
    assert monitor.analysis.run.points == 800
    assert (monitor.incidents, monitor.should_stop, monitor.take_save()) == ([], False, False)
    assert not caplog.records


def test_an_incident_is_told_while_the_run_goes_on(
    losses: Iterator[float], caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Incident] = []
    monitor = hrmdoc.Monitor(share=1.0, stop="critical", save="critical", on_incident=told.append)
    feed(monitor, losses, broken=True)
    assert until(lambda: monitor.should_stop)
    assert until(lambda: bool(told))
    assert told[0].symptom == "loss-nonfinite"
    assert told[0].step == 201
    assert [monitor.take_save(), monitor.take_save()] == [True, False]
    assert "hrmdoc: critical at step 201: Loss is NaN or infinite" in caplog.messages[0]
    assert caplog.records[0].levelno == logging.ERROR
    analysis = monitor.close("stopped")
    assert analysis is not None
    assert analysis.verdict == "critical"
    assert monitor.close() is analysis, "a second close does nothing"


def test_a_warning_does_not_stop_what_critical_incidents_shall_stop(losses: Iterator[float]) -> None:
    config = {"optim": "adamw_torch", "learning_rate": 30.0}
    monitor = hrmdoc.Monitor(
        stop="critical", save="warning", framework="hf-trainer", config=config, share=1.0
    )
    with monitor:
        for step, loss in enumerate(losses):
            monitor.log(step, {"loss": loss, "learning_rate": 30.0})
    assert {incident.severity for incident in monitor.incidents} == {"warning"}
    assert not monitor.should_stop
    assert monitor.take_save()


def test_what_ends_the_run_is_examined_too(losses: Iterator[float]) -> None:
    words = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB"
    monitor = hrmdoc.Monitor(share=1.0)

    def train() -> None:
        with monitor:
            feed(monitor, losses)
            raise RuntimeError(words)

    with pytest.raises(RuntimeError, match="out of memory"):
        train()
    assert monitor.analysis is not None
    assert monitor.analysis.state == "crashed"
    assert "oom-cuda" in {symptom.id for symptom in monitor.analysis.present}


def test_nothing_is_raised_into_the_training(caplog: pytest.LogCaptureFixture) -> None:
    class Strange:
        def __float__(self) -> float:
            raise OSError("a device that is gone")

    def wrong(incident: Incident) -> None:
        raise ValueError("a mistake of the user")

    monitor = hrmdoc.Monitor(share=1.0, on_incident=wrong)
    monitor.log("first", {"loss": 1.0})  # type: ignore[arg-type]
    monitor.log(0, {"text": "hello", "odd": Strange(), "many": np.zeros(3), "one": np.zeros(1), "none": None})
    for step in range(1, 30):
        monitor.log(step, {"loss": math.inf})
    monitor.log(31, None)  # type: ignore[arg-type]
    assert monitor.close() is not None
    assert monitor.analysis is not None
    assert monitor.analysis.run.metrics == {"loss", "one"}
    assert sum("could not take what it was given" in message for message in caplog.messages) == 1
    assert any("a mistake of the user" in message for message in caplog.messages)


def test_a_metric_that_is_no_single_number_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    with hrmdoc.Monitor(share=1.0) as monitor:
        for step in range(9):
            monitor.log(step, {"loss": 1.0, "per\x1bclass": np.zeros(3), "note": "hello", "later": None})
            monitor.log(step, {f"made up {step} {n}": "x" for n in range(9)})
    said = [message for message in caplog.messages if "no single number" in message]
    assert "'perclass' (ndarray), 'note' (str)" in said[0]
    assert sum(message.count("(") for message in said) == 20, "names that are made up do not fill a log"
    assert not any("later" in message or "loss" in message for message in said)


def test_settings_that_are_wrong_end_the_monitor_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "hrmdoc.toml").write_text("fail_on = 3\n")
    monkeypatch.chdir(tmp_path)
    monitor = hrmdoc.Monitor()
    monitor.log(0, {"loss": 1.0})
    assert monitor.close() is None
    assert "hrmdoc.toml" in caplog.messages[0]
    assert "training goes on" in caplog.messages[0]


def test_threads_may_log_at_once() -> None:
    monitor = hrmdoc.Monitor(share=1.0)

    def work(name: str) -> None:
        for step in range(200):
            monitor.log(step, {name: 1.0 / (step + 1)})

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monitor.close()
    assert monitor.analysis is not None
    assert monitor.analysis.run.points == 800


@pytest.mark.parametrize("name", ["RANK", "SLURM_PROCID"])
def test_of_several_ranks_the_first_one_speaks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "3")
    monitor = hrmdoc.Monitor()
    monitor.log(0, {"loss": math.nan})
    assert monitor.close() is None
    with hrmdoc.Monitor(rank=0) as first:
        first.log(0, {"loss": math.nan})
    assert first.analysis is not None


def test_a_variable_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HRMDOC_MONITOR", "off")
    monitor = hrmdoc.Monitor()
    monitor.log(0, {"loss": math.nan})
    assert monitor.close() is None


def _forked(monitor: hrmdoc.Monitor, found: multiprocessing.SimpleQueue) -> None:  # type: ignore[type-arg]
    for step in range(20):
        monitor.log(step, {"loss": math.nan})
    analysis = monitor.close()
    found.put(None if analysis is None else (analysis.verdict, analysis.run.points))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_child_of_a_fork_has_a_monitor_of_its_own(losses: Iterator[float]) -> None:
    context = multiprocessing.get_context("fork")
    with hrmdoc.Monitor(share=1.0) as monitor:
        feed(monitor, losses)
        found = context.SimpleQueue()
        child = context.Process(target=_forked, args=(monitor, found))
        child.start()
        child.join(30)
        assert child.exitcode == 0
        assert found.get() == ("critical", 20)
    assert monitor.analysis is not None
    assert monitor.analysis.run.points == 800, "the child's values are not the parent's"


def test_a_program_that_forgets_to_close_ends_cleanly_and_is_examined(tmp_path: Path) -> None:
    program = (
        "import hrmdoc\n"
        f"m = hrmdoc.Monitor(to={str(tmp_path)!r})\n"
        "for step in range(50): m.log(step, {'loss': float('nan') if step > 20 else 2.0 - step / 20})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert "Loss is NaN or infinite" in done.stderr
    assert json.loads((tmp_path / "diagnosis.json").read_text())["verdict"] == "critical"


def test_a_folder_reads_as_the_run_was_seen(tmp_path: Path, losses: Iterator[float]) -> None:
    config = {"optimizer": {"lr": 1e-3}, "api_key": "sk-0123456789abcdefghij"}
    with hrmdoc.Monitor(to=tmp_path, config=config, share=1.0) as monitor:
        feed(monitor, losses, broken=True)
    found = hrmdoc.analyze(tmp_path)
    assert monitor.analysis is not None
    assert found.verdict == monitor.analysis.verdict == "critical"
    assert [s.id for s in found.present] == [s.id for s in monitor.analysis.present]
    assert found.run.points == monitor.analysis.run.points
    assert "sk-0123" not in (tmp_path / "run.json").read_text()
    history = [json.loads(line) for line in (tmp_path / "incidents.jsonl").read_text().splitlines()]
    first = next(one for one in history if one["symptom"] == "loss-nonfinite")
    assert (first["file"], first["line"]) == (str(tmp_path / "metrics.jsonl"), 202)


def test_a_folder_keeps_how_the_run_was_started_where_another_process_was(tmp_path: Path) -> None:
    with hrmdoc.Monitor(to=tmp_path, command=["python", "train.py"]) as monitor:
        monitor.log(0, {"loss": 1.0})
    assert json.loads((tmp_path / "run.json").read_text())["command"] == ["python", "train.py"]


def test_a_second_run_in_the_folder_goes_on_there(tmp_path: Path) -> None:
    for begin in (0, 10):
        with hrmdoc.Monitor(to=tmp_path) as monitor:
            for step in range(begin, begin + 10):
                monitor.log(step, {"loss": 2.0 - step / 20})
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 20
    kinds = [json.loads(line)["event"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert kinds == ["started", "ended", "resumed", "ended"]


def test_a_folder_that_cannot_be_written_costs_the_record_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with hrmdoc.Monitor(to=tmp_path / "file" / "run") as monitor:
        for step in range(20):
            monitor.log(step, {"loss": math.nan})
    assert monitor.analysis is not None
    assert monitor.analysis.verdict == "critical"
    assert any("no longer recorded" in message for message in caplog.messages)


def test_importing_the_integrations_imports_no_framework() -> None:
    program = (
        "import sys, hrmdoc, hrmdoc.integrations; hrmdoc.Monitor\n"
        "print(sorted({'torch', 'transformers', 'lightning', 'keras', 'wandb', 'mlflow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["transformers", "lightning", "keras", "accelerate"])
def test_an_integration_without_its_framework_says_what_to_install(name: str) -> None:
    program = (
        "import sys\n"
        "for name in 'transformers lightning.pytorch pytorch_lightning keras accelerate'.split():"
        " sys.modules[name] = sys.modules[name.split('.')[0]] = None\n"
        f"import hrmdoc.integrations.{name} as found\n"
        "found.HrmdocCallback"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert f"needs it: pip install {name}" in done.stderr.splitlines()[-1]


class Writer:
    """A `SummaryWriter` that remembers."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str, int]] = []
        self.scalars: list[tuple[str, float, int]] = []

    def add_text(self, tag: str, text: str, step: int) -> None:
        self.texts.append((tag, text, step))

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self.scalars.append((tag, value, step))

    def flush(self) -> None:
        pass


def test_findings_go_to_tensorboard_and_a_healthy_run_writes_none(losses: Iterator[float]) -> None:
    writers: list[Writer] = []

    def opened() -> Writer:
        writers.append(Writer())
        return writers[-1]

    values = list(losses)
    for broken in (False, True):
        monitor = hrmdoc.Monitor(share=1.0)
        monitor.add_board(TensorBoard(opened))
        feed(monitor, iter(values), broken=broken)
        monitor.close()
    (writer,) = writers
    assert writer.texts[0][0] == "hrmdoc/incidents"
    assert "**loss-nonfinite** from step 201" in writer.texts[0][1]
    assert writer.texts[-1][1].startswith("**critical**")
    assert writer.scalars[0][:2] == ("hrmdoc/severity", 2)


def test_text_of_a_run_is_no_markdown() -> None:
    assert markdown("[a](javascript:x) <b>") == "\\[a\\]\\(javascript:x\\) \\<b\\>"


class Exiting:
    """A metric that ends the program when it is looked at, under a name that cannot be said."""

    def __float__(self) -> float:
        raise SystemExit(3)

    def __str__(self) -> str:
        raise RuntimeError("no name")


def test_a_value_that_exits_and_a_name_that_raises_cost_themselves_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with hrmdoc.Monitor(share=1.0) as monitor:
        for step in range(30):
            monitor.log(step, {"loss": math.nan, "odd": Exiting(), Exiting(): 1.0})  # type: ignore[dict-item]
    assert monitor.analysis is not None
    assert monitor.analysis.verdict == "critical"
    assert "odd" in caplog.text


def test_a_callback_that_exits_does_not_end_the_examination(caplog: pytest.LogCaptureFixture) -> None:
    def leave(incident: Incident) -> None:
        raise SystemExit(9)

    with hrmdoc.Monitor(share=1.0, on_incident=leave) as monitor:
        feed(monitor, iter([1.0] * 210), broken=True)
    assert "could not be reported: SystemExit" in caplog.text
    assert monitor.analysis is not None


@pytest.mark.parametrize("step", [1 << 63, -(1 << 63) - 1, 10**40])
def test_a_step_that_no_counter_reaches_is_passed_over(step: int, caplog: pytest.LogCaptureFixture) -> None:
    with hrmdoc.Monitor(share=1.0) as monitor:
        monitor.log(step, {"loss": 1.0})
        feed(monitor, iter([1.0] * 210), broken=True)
    assert monitor.analysis is not None
    assert monitor.analysis.run.points == 420
    assert "bits" in caplog.text


def test_a_logger_that_raises_does_not_reach_the_training() -> None:
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("the log is away")

    logger, handler = logging.getLogger("hrmdoc"), Broken()
    logger.addHandler(handler)
    try:
        with hrmdoc.Monitor(share=1.0) as monitor:
            monitor.log("no step", {"loss": 1.0})  # type: ignore[arg-type]
            monitor.configure(5)  # type: ignore[arg-type]
            for step in range(30):
                monitor.log(step, {"loss": math.nan, "word": "x"})
    finally:
        logger.removeHandler(handler)
    assert monitor.analysis is not None
    assert [one.symptom for one in monitor.incidents] == ["loss-nonfinite"]


@pytest.mark.parametrize("planted", ["link", "pipe"])
def test_what_is_planted_in_the_place_of_the_record_is_neither_followed_nor_waited_for(
    planted: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place, victim = tmp_path / "run" / "metrics.jsonl", tmp_path / "victim"
    place.parent.mkdir()
    victim.write_text("mine\n")
    place.symlink_to(victim) if planted == "link" else os.mkfifo(place)
    with hrmdoc.Monitor(share=1.0, to=place.parent) as monitor:
        feed(monitor, iter([1.0] * 210), broken=True)
    assert victim.read_text() == "mine\n"
    assert "no longer recorded" in caplog.text
    assert monitor.analysis is not None


def test_a_secret_of_the_command_line_does_not_stand_in_the_record(tmp_path: Path) -> None:
    command = ["python", "train.py", "--api-key", "hunter2hunter2", "--lr", "0.1"]
    with hrmdoc.Monitor(share=1.0, to=tmp_path, command=command) as monitor:
        monitor.log(0, {"loss": 1.0})
    said = json.loads((tmp_path / "run.json").read_text())["command"]
    assert said == ["python", "train.py", "--api-key", "[secret]", "--lr", "0.1"]


def test_names_made_up_at_every_step_are_examined_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hrmdoc.readers.support.budget.MAX_METRICS", 40)
    with hrmdoc.Monitor(share=1.0) as monitor:
        for step in range(60):
            monitor.log(step, {"loss": 1.0, f"name_{step}": 1.0})
    assert monitor.analysis is not None
    assert len(monitor.analysis.run.series) == 40
    assert sum(damage.left_out for damage in monitor.analysis.run.damages) == 21


def test_an_incident_without_numbers_is_logged_once_by_its_title() -> None:
    spike = Incident("loss-spike", "opened", "warning", "Loss spike", "Loss spike", 2, 0.0)
    assert line_of(spike).count("Loss spike") == 1


def test_weights_are_counted_with_those_that_learn() -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    model[0].requires_grad_(False)
    assert given.weights(model) == {"model.parameters": 11, "model.trainable_parameters": 3}
    assert given.weights(torch.nn.ReLU()) == {}
