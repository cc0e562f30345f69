"""What Prometheus sees of a watched run, and the dashboard and rules that are built on it."""

from __future__ import annotations

import json
import math
import re
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from hrmdoc.errors import UsageError
from hrmdoc.live.treatment import TakenAction
from hrmdoc.live.watch import Update, Watch
from hrmdoc.metrics import Metrics
from tests.services import needed

pytestmark = pytest.mark.usefixtures("apart")

pytest.importorskip("prometheus_client", reason="the extra `metrics` is not installed")
DOCS = Path(__file__).parents[1] / "docs" / "operations"
HEARTBEAT = '{"time": 1, "step": 3, "pid": 1, "state": "running"}'


@pytest.fixture
def seen(tmp_path: Path) -> tuple[Metrics, Watch, Update]:
    """Metrics that saw one update of a sick run with a heartbeat."""
    run = tmp_path / "run"
    run.mkdir()
    lines = [f"step {i}/500 | lm_loss {2 - i / 100} | tokens_per_second 900\n" for i in range(60)]
    (run / "train.log").write_text("".join(lines) + "step 60/500 | lm_loss nan | tokens_per_second 800\n")
    (run / "heartbeat.json").write_text(HEARTBEAT)
    metrics = Metrics(lambda: [("pager", 2, 7, 3)])
    watch = Watch(str(run))
    update = next(iter(watch.updates(once=True)))
    metrics.see(watch, update)
    return metrics, watch, update


def samples(metrics: Metrics) -> dict[str, float]:
    """Every series by its name and the values of its labels but the run."""
    found = {}
    for family in metrics.registry.collect():
        for one in family.samples:
            labels = [value for name, value in sorted(one.labels.items()) if name != "run"]
            found[" ".join([one.name, *labels])] = one.value
    return found


def test_verdict_incidents_progress_heartbeat_and_alerts_are_shown(
    seen: tuple[Metrics, Watch, Update],
) -> None:
    shown = samples(seen[0])
    assert (shown["hrmdoc_verdict critical"], shown["hrmdoc_verdict healthy"]) == (1, 0)
    assert any(
        name.startswith("hrmdoc_incident_open") and "loss-nonfinite critical" in name for name in shown
    )
    assert (shown["hrmdoc_step"], shown["hrmdoc_steps_planned"]) == (60, 500)
    assert math.isnan(shown["hrmdoc_loss"])
    assert shown["hrmdoc_tokens_per_second"] == 800
    assert 0 <= shown["hrmdoc_heartbeat_age_seconds"] < 60
    assert shown["hrmdoc_watching"] == 1
    assert [shown[f"hrmdoc_alerts_{name} pager"] for name in ("waiting", "delivered_total", "failures")] == [
        2,
        7,
        3,
    ]


def test_actions_are_counted_by_remedy_and_outcome(seen: tuple[Metrics, Watch, Update]) -> None:
    metrics, watch, update = seen
    taken = TakenAction("roll-back", "Roll back", "x", "rollback", "done", 1.0)
    for _ in range(2):
        metrics.see(watch, Update(update.analysis, [], actions=[taken]))
    assert samples(metrics)["hrmdoc_actions_total roll-back done"] == 2


def test_ages_go_on_between_two_looks(
    seen: tuple[Metrics, Watch, Update], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, now = samples(seen[0])["hrmdoc_heartbeat_age_seconds"], time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 50)
    assert 49 < samples(seen[0])["hrmdoc_heartbeat_age_seconds"] - before < 60


def test_a_port_answers_and_one_that_is_taken_is_said(seen: tuple[Metrics, Watch, Update]) -> None:
    host, port = seen[0].serve("127.0.0.1:0")
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=20) as answer:
        assert b"hrmdoc_step{run=" in answer.read()
    with pytest.raises(UsageError, match="cannot listen there"):
        seen[0].serve(f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["", "9464x", "host:", ":99999", ":-1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="wants"):
        Metrics().serve(address)


def test_a_file_is_replaced_whole_says_in_the_end_that_nobody_watches_and_follows_no_link(
    seen: tuple[Metrics, Watch, Update], tmp_path: Path
) -> None:
    metrics, file, target = seen[0], tmp_path / "hrmdoc.prom", tmp_path / "elsewhere"
    target.write_text("mine")
    file.symlink_to(target)
    metrics.write_to(file)
    assert (target.read_text(), file.is_symlink()) == ("mine", False)
    assert "hrmdoc_watching{run=" in file.read_text()
    metrics.close()
    assert re.search(r"^hrmdoc_watching\{.*\} 0\.0$", file.read_text(), re.M)
    assert sorted(one.name for one in tmp_path.iterdir() if "prom" in one.name) == ["hrmdoc.prom"]


def test_a_file_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        Metrics().write_to(tmp_path / "file" / "hrmdoc.prom")


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=re.escape("pip install 'hrmdoc[metrics]'")):
        Metrics()


def dashboard() -> list[str]:
    """Every expression of the dashboard."""
    panels = json.loads((DOCS / "grafana.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_the_dashboard_and_the_rules_ask_for_series_that_are_shown(
    seen: tuple[Metrics, Watch, Update],
) -> None:
    taken = TakenAction("a", "A", "x", "y", "done", 1.0)
    seen[0].see(seen[1], Update(seen[2].analysis, [], actions=[taken]))
    shown = {name.split()[0] for name in samples(seen[0])}
    may_lack = {"hrmdoc_steps_per_second", "hrmdoc_throughput"}  # of logs with times, or of another unit
    asked = set(re.findall(r"hrmdoc_\w+", " ".join(dashboard())))
    asked |= set(re.findall(r"hrmdoc_\w+", (DOCS / "prometheus-rules.yml").read_text()))
    assert asked - shown - may_lack == set()
    assert may_lack <= asked


@pytest.mark.services
def test_promtool_takes_the_rules_the_dashboard_and_the_metrics(
    seen: tuple[Metrics, Watch, Update], tmp_path: Path
) -> None:
    promtool = needed("promtool")
    recorded = [
        {"record": f"r{index}", "expr": text.replace("$instance", ".*").replace("$run", ".*")}
        for index, text in enumerate(dashboard())
    ]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": recorded}]}))
    subprocess.run([promtool, "check", "rules", tmp_path / "panels.yml"], check=True, capture_output=True)
    subprocess.run(
        [promtool, "test", "rules", "prometheus-rules-test.yml"], cwd=DOCS, check=True, capture_output=True
    )
    seen[0].write_to(tmp_path / "hrmdoc.prom")
    text = (tmp_path / "hrmdoc.prom").read_bytes()
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr


def test_runs_that_are_watched_together_are_told_apart_by_their_label(tmp_path: Path) -> None:
    watches = []
    metrics = Metrics(many=True)
    for name, loss in (("a", "1.5"), ("b", "nan")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text("".join(f"step {i} | loss {loss}\n" for i in range(20)))
        watches.append(Watch(str(tmp_path / name), remember=False))
        metrics.see(watches[-1], next(iter(watches[-1].updates(once=True))))

    def steps() -> dict[str, float]:
        families = [one for one in metrics.registry.collect() if one.name == "hrmdoc_step"]
        assert len(families) <= 1
        return {Path(s.labels["run"]).name: s.value for one in families for s in one.samples}

    assert steps() == {"a": 19, "b": 19}
    metrics.forget(watches[0])
    assert steps() == {"b": 19}
