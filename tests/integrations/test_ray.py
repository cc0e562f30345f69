"""`HrmdocCallback` in a real experiment of Ray Tune."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

tune = pytest.importorskip("ray.tune", reason="ray is not installed")

import ray  # noqa: E402

from hrmdoc.integrations.ray import HrmdocCallback  # noqa: E402

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_the_trial_that_breaks_is_stopped_and_the_other_goes_to_its_end(tmp_path: Path) -> None:
    def train(config: dict[str, Any]) -> None:  # inside, so that it travels to the worker by value
        import time

        from ray import tune

        for step in range(150):
            time.sleep(0.03)
            well = 0.2 + 2 / (1 + step / 9) + step % 3 / 50
            tune.report({"loss": float("nan") if step > config["breaks"] else well})

    doctor = HrmdocCallback(share=1.0, stop="critical")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        tuner = tune.Tuner(
            train,
            param_space={"breaks": tune.grid_search([40, 1000])},
            run_config=tune.RunConfig(
                storage_path=str(tmp_path), callbacks=[doctor], stop=doctor.stopper, verbose=0
            ),
        )
        found = {one.config["breaks"]: one.metrics["training_iteration"] for one in tuner.fit()}
    finally:
        ray.shutdown()
    assert 40 < found[40] < 150
    assert found[1000] == 150
    by_verdict = {str(m.analysis and m.analysis.verdict): m for m in doctor.monitors.values()}
    assert by_verdict["critical"].incidents[0].symptom == "loss-nonfinite"
    assert len(by_verdict) == 2


def test_the_stopper_knows_no_trial_that_reported_nothing() -> None:
    assert HrmdocCallback().stopper("nobody", {"loss": math.nan}) is False


def test_save_is_refused_since_the_trial_saves_by_itself() -> None:
    with pytest.raises(ValueError, match="save= does nothing in Ray Tune"):
        HrmdocCallback(save="warning")


def test_what_tune_adds_to_a_result_is_no_metric(caplog: pytest.LogCaptureFixture) -> None:
    class Trial:
        trial_id, config = "a", {"lr": 1e-3}

    doctor = HrmdocCallback()
    added = {"trial_id": "a", "hostname": "node", "date": "2026-01-01", "config": {}, "node_ip": "::1"}
    doctor.on_trial_result(1, [], Trial(), {"training_iteration": 1, "loss": 1.0, **added})
    assert (analysis := doctor.monitors["a"].close()) is not None
    assert analysis.run.metrics == {"loss"}
    assert not caplog.records
