"""The other commands, as users meet them."""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hrmdoc.examination.examine import Examination

Command = Callable[..., Any]
CONFIG = (
    "# mine\ndata_path: data/sudoku\nglobal_batch_size: 32\nepochs: 10\nlr: 1e-2  # "
    "high\nlr_warmup_steps: 0\nseed: 1\n"
)
SECRET = "sk-" + "abcdefghijklmnopqrstuvwx"
HOSTILE = (
    "".join(
        f'{{"step": {i}, "<img src=x onerror=alert(1)>loss": {2 - i / 100}, "loss": {2 - i / 100}}}\n'
        for i in range(50)
    )
    + "\n"
)


@pytest.fixture
def run(apart: Path) -> Path:
    """A run of hrmdoc's own trainer whose loss climbs away, with its config."""
    folder = apart / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"schema": "hrmdoc.run/1", "id": "run", "framework": "hrm"}')
    (folder / "config.yaml").write_text(CONFIG)
    losses = [1.5 - i / 100 for i in range(60)] + [1.0 + i / 20 for i in range(80)]
    lines = (
        f"step {i}/140 | lm_loss {loss:.4f} | grad_norm {1 + loss:.3f} | lr 1.0e-02\n"
        for i, loss in enumerate(losses)
    )
    (folder / "train.log").write_text("".join(lines))
    return folder


@pytest.fixture
def hostile(apart: Path) -> Path:
    folder = apart / "hostile"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(HOSTILE)
    traceback = (
        f'Traceback (most recent call last):\n  File "t.py", line 1, in f\nValueError: '
        f"<script>x</script> {SECRET}\x1b[31m\n"
    )
    (folder / "train.log").write_text("step 1 loss 2.0\nAPI_KEY=topsecretvalue\n" + traceback)
    return folder


def test_apply_shows_a_diff_and_writes_nothing(hrmdoc: Command, run: Path) -> None:
    done = hrmdoc("apply", run)
    assert done.status == 0
    assert "-lr: 1e-2  # high" in done.out
    assert f"hrmdoc apply {run} --write" in done.err
    assert (run / "config.yaml").read_text() == CONFIG


def test_apply_writes_once_and_takes_back_byte_for_byte(hrmdoc: Command, run: Path) -> None:
    assert hrmdoc("apply", run, "--write").status == 0
    written = (run / "config.yaml").read_text()
    assert written != CONFIG
    assert "# high" in written
    again = hrmdoc("apply", run, "--write")
    assert again.status == 2
    assert "no run has shown its effect yet" in again.err
    assert (run / "config.yaml").read_text() == written
    assert hrmdoc("apply", run, "--undo").status == 0
    assert (run / "config.yaml").read_text() == CONFIG
    assert hrmdoc("apply", run, "--undo").status == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--remedy", "reduce-learning-rat"), "did you mean 'reduce-learning-rate'?"),
        (("--rerun",), "--rerun needs --write"),
        (("--config", "nowhere.yaml"), "nowhere.yaml: no such file or folder"),
    ],
)
def test_apply_says_what_it_cannot_do(hrmdoc: Command, run: Path, words: tuple[str, ...], said: str) -> None:
    done = hrmdoc("apply", run, *words)
    assert done.status == 2
    assert said in done.err


def test_a_healthy_run_gets_no_patch(hrmdoc: Command, healthy: Path) -> None:
    done = hrmdoc("apply", healthy)
    assert done.status == 2
    assert "nothing to patch" in done.err


@pytest.mark.parametrize("ending", ["html", "md"])
def test_a_report_carries_neither_markup_nor_secrets_of_the_run(
    hrmdoc: Command, hostile: Path, apart: Path, ending: str
) -> None:
    assert hrmdoc("report", hostile, "-o", f"r.{ending}").status == 0
    text = (apart / f"r.{ending}").read_text()
    assert "<script>" not in text
    assert "<img" not in text
    assert SECRET not in text
    assert "\x1b" not in text


def test_a_report_loads_nothing_and_leads_with_the_verdict(
    hrmdoc: Command, sick: Path, healthy: Path, apart: Path
) -> None:
    assert hrmdoc("report", sick, healthy).status == 0
    page = (apart / "report.html").read_text()
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page.replace("https://json-schema.org", "")
    assert page.index("Loss is NaN or infinite") < page.index("Probable causes")


@pytest.mark.parametrize("target", ["missing/r.html", "r.docx"])
def test_a_report_that_cannot_be_written_is_an_error(hrmdoc: Command, sick: Path, target: str) -> None:
    assert hrmdoc("report", sick, "-o", target).status == 2


def test_one_unreadable_run_among_several_is_passed_over(hrmdoc: Command, sick: Path, apart: Path) -> None:
    (apart / "empty.log").write_text("")
    done = hrmdoc("report", sick, "empty.log")
    assert done.status == 0
    assert "passed over: empty.log" in done.err


def test_a_bundle_holds_what_a_helper_asks_for_and_no_secret(
    hrmdoc: Command, hostile: Path, apart: Path
) -> None:
    done = hrmdoc("bundle", hostile, "-o", "b.zip")
    assert done.status == 0
    with zipfile.ZipFile(apart / "b.zip") as archive:
        names = archive.namelist()
        content = b"".join(archive.read(name) for name in names)
    assert names == done.out.split()
    assert {"diagnosis.json", "report.html", "environment.json"} < set(names)
    assert SECRET.encode() not in content
    assert b"topsecretvalue" not in content


def test_series_shows_what_a_name_means_in_the_framework_that_wrote_the_run(
    hrmdoc: Command, apart: Path
) -> None:
    rows = "".join(
        f'{{"current_steps": {n}, "total_steps": 9, "loss": 0.5, "accuracy": 0.75}}\n' for n in range(1, 10)
    )
    (apart / "trainer_log.jsonl").write_text(rows)
    assert "dpo.accuracy" in hrmdoc("series", apart / "trainer_log.jsonl").out
    (apart / "my_log.jsonl").write_text(rows)
    assert "train.accuracy" in hrmdoc("series", apart / "my_log.jsonl").out


def test_series_examine_nothing(hrmdoc: Command, sick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Examination, "_evaluate", lambda *_: pytest.fail("a rule was looked at"))
    assert "train.loss" in hrmdoc("series", sick).out


def test_series_are_exported_and_roles_can_be_corrected(
    hrmdoc: Command, sick: Path, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert hrmdoc("series", sick, "-o", "x.csv").status == 0
    assert (apart / "x.csv").read_text().splitlines()[0].startswith("step,")
    assert len((apart / "x.csv").read_text().splitlines()) == 121
    shown = hrmdoc("series", sick, "--role", "eval.loss=grad_norm").out
    assert "eval.loss" in shown
    assert hrmdoc("series", sick, "--role", "nonsense").status == 2
    assert hrmdoc("series", sick, "-o", "x.txt").status == 2
    done = hrmdoc("series", sick, "-o", "x.parquet")
    assert done.status == 2
    assert "hrmdoc[frames]" in done.err


def test_a_comparison_names_what_differs_and_where_the_curves_part(
    hrmdoc: Command, sick: Path, healthy: Path
) -> None:
    done = hrmdoc("compare", sick, healthy)
    assert done.status == 0
    assert "parts first, at step" in done.out
    assert "loss-nonfinite" in done.out
    assert json.loads(hrmdoc("compare", "--json", sick, healthy).out)["schema"] == "hrmdoc.comparison/1"
    assert "no shared metric parts for good" in hrmdoc("compare", healthy, healthy).out


def test_a_rule_of_ones_own_is_scaffolded_tested_and_used(hrmdoc: Command, apart: Path) -> None:
    assert hrmdoc("rules", "new", "my-level", "--in", "mine").status == 0
    assert hrmdoc("rules", "check", "mine").status == 0
    done = hrmdoc("rules", "test", "mine")
    assert (done.status, done.out) == (0, "2 cases passed, 0 failed\n")
    assert "my-level" in hrmdoc("rules", "list", "mine").out
    (apart / "hrmdoc.toml").write_text('rules = ["mine"]\n')
    assert hrmdoc("trust").status == 0
    (apart / "high.jsonl").write_text(
        "".join(f'{{"step": {i}, "loss": {2 if i < 20 else 15}}}\n' for i in range(60))
    )
    document = json.loads(hrmdoc("analyze", "--json", "high.jsonl").out)
    assert "my-level" in [symptom["id"] for symptom in document["symptoms"]]
    assert hrmdoc("rules", "new", "my-level", "--in", "mine").status == 2
    assert hrmdoc("rules", "new", "My Level").status == 2


def test_a_failing_case_of_ones_own_is_told(hrmdoc: Command, apart: Path) -> None:
    hrmdoc("rules", "new", "my-level", "--in", "mine")
    cases = apart / "mine" / "tests" / "my-level.yaml"
    cases.write_text(cases.read_text().replace("expect: absent", "expect: present"))
    done = hrmdoc("rules", "test", "mine")
    assert done.status == 1
    assert "expected present, found absent" in done.out


def test_a_broken_rule_is_named_with_its_place(hrmdoc: Command, apart: Path) -> None:
    hrmdoc("rules", "new", "my-level", "--in", "mine")
    rule = apart / "mine" / "symptoms" / "my-level.yaml"
    rule.write_text(rule.read_text().replace("severity:", "severitty:"))
    done = hrmdoc("rules", "check", "mine")
    assert done.status == 2
    assert "my-level.yaml:4" in done.err
    assert "did you mean" in done.err


def test_a_config_outside_the_runs_folder_is_patched_once_the_command_line_names_it(
    hrmdoc: Command, run: Path, apart: Path
) -> None:
    mine = apart / "elsewhere" / "mine.yaml"
    mine.parent.mkdir()
    mine.write_text(CONFIG)
    (run / "run.json").write_text(
        json.dumps({"schema": "hrmdoc.run/1", "framework": "hrm", "config_source": str(mine)})
    )
    shown = hrmdoc("apply", run)
    assert shown.status == 0
    assert "--config elsewhere/mine.yaml --write" in shown.err
    refused = hrmdoc("apply", run, "--write")
    assert refused.status == 2
    assert "you did not name it" in refused.err
    assert mine.read_text() == CONFIG
    assert hrmdoc("apply", run, "--config", mine, "--write").status == 0
    assert "lr: 1e-2" not in mine.read_text()
    assert (run / "config.yaml").read_text() == CONFIG


def test_what_a_run_only_recorded_is_not_patched_and_the_words_for_the_command_are_given(
    hrmdoc: Command, run: Path
) -> None:
    dumped = re.sub(r" *#.*", "", CONFIG)
    (run / "config.yaml").write_text(dumped)
    record = {"schema": "hrmdoc.run/1", "framework": "hrm", "command": ["hrmdoc", "train", "preset=demo"]}
    (run / "run.json").write_text(json.dumps(record))
    done = hrmdoc("apply", run, "--write")
    assert done.status == 2
    assert "only records what the run had" in done.err
    assert "lr=" in done.err
    assert (run / "config.yaml").read_text() == dumped


@pytest.mark.parametrize("name", ["diagnosis.json", "of-yesterday.json"])
def test_what_hrmdoc_itself_wrote_of_a_run_is_no_config_of_it(
    name: str, hrmdoc: Command, apart: Path
) -> None:
    run = apart / "kept"
    run.mkdir()
    record = {"schema": "hrmdoc.run/1", "framework": "hf-trainer", "config": {"learning_rate": 10.0}}
    (run / "run.json").write_text(json.dumps({**record, "command": ["python", "train.py"]}))
    rows = [{"step": n, "loss": 1 + n / 9 if n < 60 else None, "learning_rate": 10.0} for n in range(90)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = hrmdoc("analyze", "--json", run).out
    assert "10.0" in said
    (run / name).write_text(said)
    done = hrmdoc("apply", run, "--write", "--all")
    assert done.status == 2
    assert "no config file found" in done.err
    assert (run / name).read_text() == said


def test_a_model_config_of_a_checkpoint_is_no_training_config(hrmdoc: Command, apart: Path) -> None:
    checkpoint = apart / "out" / "checkpoint-60"
    checkpoint.mkdir(parents=True)
    model = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 100}\n'
    (checkpoint / "config.json").write_text(model)
    rows = [{"step": i, "loss": 2.0 if i < 30 else 2.0 + i / 5, "learning_rate": 0.1} for i in range(1, 80)]
    (checkpoint / "trainer_state.json").write_text(json.dumps({"log_history": rows, "global_step": 79}))
    done = hrmdoc("apply", apart / "out", "--write")
    assert done.status == 2
    assert (checkpoint / "config.json").read_text() == model


@pytest.mark.parametrize(("command", "name"), [("report", "page.html"), ("bundle", "all.zip")])
def test_a_full_disk_leaves_what_was_written_before(
    command: str, name: str, hrmdoc: Command, sick: Path, apart: Path
) -> None:
    """The limit on the size of files stands for the disk, as that asks for no rights."""
    (apart / name).write_text("of yesterday")
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
        done = hrmdoc(command, sick, "-o", name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert done.status == 2
    assert "writ" in done.err
    assert (apart / name).read_text() == "of yesterday"
    assert not list(apart.glob(".*.tmp"))
