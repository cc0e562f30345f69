"""What Slurm's accounting says of a job, in each of its forms, and what follows from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hrmdoc import readers
from hrmdoc.analysis import analyze
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Fact, Line, Record
from hrmdoc.supervision.verdict import verdict
from tests.readers.feeding import fed

PIPES = """JobID|JobName|Partition|State|ExitCode|Elapsed|MaxRSS|ReqMem|NodeList
412|train|gpu|{state}|{code}|01:02:03||64G|gpu13
412.batch|batch||{state}|{code}|01:02:03|66060288K||gpu13
412.extern|extern||COMPLETED|0:0|01:02:03|||gpu13
"""
COLUMNS = """JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
411               other        gpu       proj          8  COMPLETED      0:0
412               train        gpu       proj          8 {state:>10} {code:>8}
412.batch         batch                  proj          8 {state:>10} {code:>8}
"""
SEFF = """Job ID: 412
Cluster: hpc
User/Group: me/us
State: {state} (exit code 0)
Nodes: 1
Cores per node: 8
CPU Utilized: 00:10:00
CPU Efficiency: 50.00% of 00:20:00 core-walltime
Job Wall-clock time: 00:02:30
Memory Utilized: 63.90 GB
Memory Efficiency: 99.84% of 64.00 GB
"""


def document(state: str, *, new: bool, status: int = 0, by: int = 0) -> str:
    """As `sacct --json` writes it: until Slurm 22 with bare values, later with lists."""

    def number(value: int) -> Any:
        return {"set": True, "infinite": False, "number": value} if new else value

    code = {"status": ["ERROR"], "return_code": number(status), "signal": {"id": number(by), "name": ""}}
    step = {
        "state": [state] if new else state,
        "exit_code": code,
        "nodes": {"count": 1, "range": "gpu13", "list": ["gpu13"]},
        "step": {"id": "412.0" if new else {"job_id": 412, "step_id": 0}, "name": "python"},
        "tres": {"requested": {"max": [{"type": "cpu", "count": 3}, {"type": "mem", "count": 67645734912}]}},
    }
    job = {
        "job_id": 412,
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
        "state": {"current": [state] if new else state, "reason": "None"},
        "exit_code": code,
        "nodes": "gpu13",
        "required": {"memory_per_node": number(65536)},
        "time": {"elapsed": 3723, "end": 1767322000, "limit": number(120)},
        "steps": [step],
    }
    meta = {"plugins": {"type": "openapi/dbv0.0.39"}, "Slurm": {"release": "23.02"}}
    return json.dumps({"meta": meta, "errors": [], "jobs": [job]}, indent=1)


def records(tmp_path: Path, text: str, name: str = "sacct.txt") -> list[Record]:
    path = tmp_path / name
    path.write_text(text)
    chosen = readers.choose(path, text.encode()[: 1 << 16])
    assert chosen is not None
    assert chosen.NAME == "slurm"
    return fed(chosen.open_session(Context(str(path))), text.encode())


def line(tmp_path: Path, text: str) -> str:
    (found,) = [one for one in records(tmp_path, text) if isinstance(one, Line)]
    return found.text


def test_cells_between_pipes_are_read(tmp_path: Path) -> None:
    told = line(tmp_path, PIPES.format(state="OUT_OF_MEMORY", code="0:125"))
    assert told == (
        "slurm: job 412 on gpu13, State: OUT_OF_MEMORY (exit code 0:125) for host memory, elapsed 01:02:03, "
        "MaxRSS 66060288K of 64G"
    )


def test_a_delimiter_at_the_end_and_another_one_change_nothing(tmp_path: Path) -> None:
    text = PIPES.format(state="TIMEOUT", code="0:0")
    ended = "".join(f"{one}|\n" for one in text.splitlines())
    assert line(tmp_path, ended) == line(tmp_path, text.replace("|", ";")) == line(tmp_path, text)


def test_a_long_listing_is_read(tmp_path: Path) -> None:
    names = "JobID|JobIDRaw|JobName|MaxVMSize|TRESUsageInMaxNode|TRESUsageOutTot|PlannedCPU|State|ExitCode"
    assert "State: TIMEOUT" in line(tmp_path, f"{names}\n7|7|train|||||TIMEOUT|0:0\n")


def test_narrow_columns_cut_the_states(tmp_path: Path) -> None:
    for written, meant in (
        ("OUT_OF_ME+", "OUT_OF_MEMORY"),
        ("CANCELLED+", "CANCELLED"),
        ("TIMEOUT", "TIMEOUT"),
    ):
        assert f"job 412, State: {meant} " in line(tmp_path, COLUMNS.format(state=written, code="0:1"))


@pytest.mark.parametrize("new", [False, True])
def test_json_of_any_version_says_the_same(tmp_path: Path, new: bool) -> None:
    told = line(tmp_path, document("OUT_OF_MEMORY", new=new, by=125))
    assert told == (
        "slurm: job 412 on gpu13, State: OUT_OF_MEMORY (exit code 0:125) for host memory, "
        "elapsed 01:02:03 of 02:00:00, MaxRSS 66060288K of 65536M"
    )


def test_seff_is_read(tmp_path: Path) -> None:
    told = line(tmp_path, SEFF.format(state="TIMEOUT"))
    assert (
        told == "slurm: job 412, State: TIMEOUT (exit code 0), elapsed 00:02:30, MaxRSS 63.90 GB of 64.00 GB"
    )


@pytest.mark.parametrize(
    ("state", "code", "symptom", "call"),
    [
        ("OUT_OF_MEMORY", "0:125", "slurm-oom", "FIX FIRST"),
        ("TIMEOUT", "0:0", "slurm-timelimit", "RESTART"),
        ("DEADLINE", "0:0", "slurm-timelimit", "RESTART"),
        ("NODE_FAIL", "0:0", "node-failure", "RESTART ELSEWHERE"),
        ("BOOT_FAIL", "0:0", "node-failure", "RESTART ELSEWHERE"),
        ("PREEMPTED", "0:0", "slurm-preempted", "RESTART"),
        ("CANCELLED by 1000", "0:0", "interrupted", "STOP"),
        ("CANCELLED by 0", "0:0", "terminated-from-outside", "STOP"),
        ("FAILED", "1:0", "torchrun-childfailed", "RESTART"),
        ("FAILED", "0:9", "oom-host", "FIX FIRST"),
        ("FAILED", "137:0", "oom-host", "FIX FIRST"),
        ("FAILED", "0:11", "native-crash", "FIX FIRST"),
        ("COMPLETED", "0:0", "", "OK"),
        ("RUNNING", "0:0", "", "OK"),
    ],
)
def test_a_state_alone_leads_to_its_cause_and_verdict(
    tmp_path: Path, state: str, code: str, symptom: str, call: str
) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(PIPES.format(state=state, code=code))
    analysis = analyze(str(path))
    assert {one.id for one in analysis.present} >= ({symptom} if symptom else set())
    assert verdict(analysis).call == call
    assert "oom-cuda" not in {one.id for one in analysis.present}


def test_beside_a_log_it_says_why_that_ends(tmp_path: Path) -> None:
    steps = "".join(f"step {n}/1000 | loss {3 - n / 200:.3f} | lr 0.0003\n" for n in range(1, 101))
    (tmp_path / "slurm-412.out").write_text(steps)
    (tmp_path / "sacct.txt").write_text(
        PIPES.format(state="NODE_FAIL", code="0:0") + "413|later|gpu|COMPLETED|0:0|00:00:10|||gpu2\n"
    )
    analysis = analyze(str(tmp_path))
    assert analysis.diagnosis.hypotheses[0].cause == "node-lost"
    found = verdict(analysis)
    assert (found.call, found.step) == ("RESTART ELSEWHERE", 100)


def test_of_several_jobs_the_last_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    found = records(tmp_path, COLUMNS.format(state="FAILED", code="2:0"))
    assert [one.value for one in found if isinstance(one, Fact) and one.key == "SLURM_JOB_ID"] == ["412"]
    assert any("lists 2 jobs, of which 412 is read" in one.what for one in found if isinstance(one, Damage))


def test_a_step_tells_more_than_a_job_that_failed_or_hides_it(tmp_path: Path) -> None:
    head = "JobID|State|ExitCode\n"
    assert "job 7.0, State: OUT_OF_MEMORY" in line(tmp_path, head + "7|FAILED|1:0\n7.0|OUT_OF_MEMORY|0:125\n")
    hidden = head + "7|COMPLETED|0:0\n7.batch|COMPLETED|0:0\n7.0|COMPLETED|0:0\n7.1|FAILED|0:9\n"
    assert "job 7.1, State: FAILED (exit code 0:9), terminated with signal SIGKILL" in line(tmp_path, hidden)
    went_on = head + "7|COMPLETED|0:0\n7.0|FAILED|1:0\n7.1|COMPLETED|0:0\n"
    assert "State: COMPLETED" in line(tmp_path, went_on)


def test_a_job_that_was_requeued_is_what_its_last_try_is(tmp_path: Path) -> None:
    head = "JobID|State|ExitCode|NodeList\n"
    told = line(
        tmp_path, head + "7|NODE_FAIL|0:0|n1\n7.0|CANCELLED|0:9|n1\n7|TIMEOUT|0:0|n2\n7.0|CANCELLED|0:15|n2\n"
    )
    assert told.startswith("slurm: job 7 on n2, State: TIMEOUT")


def test_a_job_that_waits_has_not_ended(tmp_path: Path) -> None:
    found = records(tmp_path, PIPES.format(state="PENDING", code="0:0"))
    assert [one.what for one in found if isinstance(one, Damage)] == ["job 412 is PENDING: it has not ended"]
    assert not any(isinstance(one, Line) for one in found)


@pytest.mark.parametrize(
    "text",
    [
        '{"meta": {"Slurm": {}}, "jobs": [{"job_id": 1, "state": ',
        '{"jobs": [{"job_id": 1, "state": 7}]}',
        "JobID|State\n",
    ],
)
def test_what_is_torn_or_empty_says_so(tmp_path: Path, text: str) -> None:
    found = records(tmp_path, text, "sacct.json")
    assert [type(one) for one in found] == [Damage]


def test_other_tables_are_none_of_slurm(tmp_path: Path) -> None:
    for text in (
        "step|loss\n1|2.0\n",
        "State|Population\nOhio|11\n",
        '{"jobs": [], "state": 1}',
        "State: TIMEOUT\n",
    ):
        path = tmp_path / "a.txt"
        chosen = readers.choose(path, text.encode())
        assert chosen is None or chosen.NAME != "slurm"
