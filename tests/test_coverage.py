"""The table of what the documents say and what carries it stays true, and the rules hold what the documents
ask for."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ruamel.yaml import YAML

from benchmarks import coverage as table
from hrmdoc import rulebook
from hrmdoc.analysis import Patient
from hrmdoc.examination.derived import GUIDE_ITERATIONS_PER_S
from hrmdoc.reports.bundle import write
from hrmdoc.roles import RoleMap

BOOK = rulebook.load()
COVERAGE = table.load()
PRESETS = Path(__file__).parent.parent / "trainer" / "presets"


def changed(**fields: Any) -> list[str]:
    """What is found wrong when the first row reads differently."""
    row = msgspec.structs.replace(COVERAGE.documents[0].rows[0], **fields)
    document = msgspec.structs.replace(COVERAGE.documents[0], rows=(row,))
    return table.problems(msgspec.structs.replace(COVERAGE, documents=(document,)), BOOK)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"symptoms": ("loss-spikes",)}, "no symptom 'loss-spikes'"),
        ({"causes": ("bad-luck",)}, "no cause 'bad-luck'"),
        ({"causes": ("disk-exhausted",)}, "disk-exhausted produces none of"),
        ({"remedies": ("pray",)}, "no remedy 'pray'"),
        (
            {"causes": ("learning-rate-too-low",), "remedies": ("use-bf16",)},
            "no cause of the row offers 'use-bf16'",
        ),
        ({"playbook": ("loss#nowhere",)}, "no playbook section 'loss#nowhere'"),
        ({"playbook": ("no-page",)}, "no playbook section 'no-page'"),
        ({"tests": ("tests/test_coverage.py::test_nothing",)}, "no test"),
        ({"tests": ("tests/no_file.py::test_x",)}, "no test"),
        ({"code": ("hrmdoc/nothing.py",)}, "no file"),
        ({"thresholds": {"grad-norm-high": (11.0,)}}, "grad-norm-high does not state 11"),
        ({"words": {"loss": ("a phrase that nobody wrote",)}}, "loss does not say"),
        ({"symptoms": (), "words": {}}, "no test, case or phrase shows it"),
    ],
)
def test_what_is_not_so_is_told(fields: dict[str, Any], what: str) -> None:
    assert any(what in problem for problem in changed(**fields))


def test_a_row_that_nothing_carries_is_told() -> None:
    assert any(
        "nothing carries it" in problem
        for problem in changed(symptoms=(), causes=(), remedies=(), playbook=(), code=())
    )


def test_every_name_threshold_phrase_and_test_of_the_table_exists() -> None:
    assert table.problems(COVERAGE, BOOK) == []


def test_the_page_is_what_the_data_give() -> None:
    assert (table.HERE / "coverage.md").read_text("utf-8") == table.markdown(COVERAGE)


def test_the_five_documents_are_covered_row_by_row() -> None:
    rows = {document.title: len(document.rows) for document in COVERAGE.documents}
    assert set(rows) == {
        "Training stability guide",
        "Distributed guide",
        "HRM guide",
        "Reliability plan",
        "Zero-loss case",
    }
    assert min(rows.values()) >= 25
    doubled = [
        key
        for key, n in Counter((d.title, r.where, r.says) for d in COVERAGE.documents for r in d.rows).items()
        if n > 1
    ]
    assert doubled == []


def test_each_of_the_64_detections_has_a_rule_or_a_reason() -> None:
    assert [one.number for one in COVERAGE.detections] == list(range(1, 65))
    assert sum(bool(one.outside) for one in COVERAGE.detections) <= 8


def test_ids_that_have_a_name_are_in_the_rulebook() -> None:
    assert len(COVERAGE.ids.symptoms) == len(set(COVERAGE.ids.symptoms)) >= 160
    assert set(COVERAGE.ids.symptoms) <= set(BOOK.symptoms)
    assert set(COVERAGE.ids.causes) <= set(BOOK.causes)


def test_every_symptom_has_a_near_miss_before_its_hit() -> None:
    for name in BOOK.symptoms:
        cases = table.load_cases(table.CASES / f"{name}.yaml").cases
        assert cases[0].expect in ("absent", "not_evaluated"), name
        assert any(case.expect in ("present", "resolved") for case in cases), name


def test_every_cause_that_is_a_fault_offers_a_remedy_or_is_none() -> None:
    without = {cause.id for cause in BOOK.causes.values() if not cause.benign and not cause.remedies}
    assert without <= {"unknown"}


def test_every_remedy_is_offered_by_a_cause_and_says_how_to_verify_it() -> None:
    offered = {name for cause in BOOK.causes.values() for name in cause.remedies}
    assert set(BOOK.remedies) - offered == set()
    assert [
        remedy.id for remedy in BOOK.remedies.values() if not remedy.verify.gone and not remedy.verify.also
    ] == []
    assert [remedy.id for remedy in BOOK.remedies.values() if not remedy.why] == []


def test_remedies_for_memory_stand_in_the_order_of_the_ladder() -> None:
    ladder = [
        "halve-micro-batch",
        "checkpoint-activations",
        "quantize-base",
        "shorten-sequences",
        "use-flash-attention",
        "offload-to-host",
    ]
    assert [name for name in BOOK.causes["gpu-memory-exceeded"].remedies if name in ladder] == ladder


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("train/loss", "train.loss"),
        ("eval/loss", "eval.loss"),
        ("train/grad_norm", "grad_norm"),
        ("train/learning_rate", "lr"),
        ("memory/max_alloc", "gpu.memory"),
        ("rewards/accuracy_reward/mean", "rl.reward"),
        ("reward", "rl.reward"),
        ("reward_std", "rl.reward_std"),
        ("frac_reward_zero_std", "rl.frac_reward_zero_std"),
        ("entropy", "rl.entropy"),
        ("kl", "rl.kl"),
        ("sampling/sampling_logp_difference/mean", "rl.logp_difference"),
        ("sampling/importance_sampling_ratio/min", "rl.is_ratio_min"),
        ("clip_ratio/region_mean", "rl.clip_ratio"),
        ("completions/mean_length", "rl.completion_length"),
        ("completions/max_length", "rl.completion_max_length"),
        ("completions/clipped_ratio", "rl.completions_clipped"),
        ("num_tokens", "num_tokens"),
        ("ebft/alignment", "rl.ebft_alignment"),
        ("ebft/diversity", "rl.ebft_diversity"),
        ("ebft/cfm_loss", "rl.ebft_cfm_loss"),
        ("train/lm_loss", "train.loss"),
        ("eval/exact_accuracy", "eval.exact_accuracy"),
        ("train/lr", "lr"),
        ("final_metrics.val_loss", "eval.loss"),
    ],
)
def test_metric_names_of_the_documents_map_to_their_roles(metric: str, role: str) -> None:
    assert RoleMap(BOOK)(metric).role == role


@pytest.mark.parametrize(
    "metric",
    [
        "rewards/accuracy_reward/std",
        "completions/min_length",
        "completions/mean_terminated_length",
        "clip_ratio/low_mean",
        "clip_ratio/high_mean",
        "sampling/sampling_logp_difference/max",
        "sampling/importance_sampling_ratio/mean",
        "sampling/importance_sampling_ratio/max",
    ],
)
def test_companions_of_a_metric_do_not_take_its_role(metric: str) -> None:
    assert RoleMap(BOOK)(metric).role is None


def preset(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe", pure=True).load((PRESETS / f"{name}.yaml").read_text("utf-8"))
    return loaded


def test_presets_hold_the_values_of_the_reliability_plan() -> None:
    assert preset("stable") == {
        "grad_clip": 1.0,
        "lr_warmup_steps": 500,
        "lr_min_ratio": 0.1,
        "checkpoint_interval": 1000,
        "checkpoint_keep": 3,
        "on_nonfinite": "rollback",
    }
    assert preset("mps")["global_batch_size"] <= 4
    assert preset("mps")["grad_accum"] == 8


def test_expected_speed_is_that_of_the_hrm_guide() -> None:
    assert GUIDE_ITERATIONS_PER_S == {32: 50.0, 64: 30.0, 512: 5.0}


def test_the_bundle_holds_a_minimal_reproduction_and_no_secret(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    lines = [json.dumps({"step": step, "loss": 2.0 - 0.001 * step, "grad_norm": 1.0}) for step in range(40)]
    log.write_text("\n".join([*lines, "token hf_" + "A" * 34]) + "\n")
    patient = Patient(str(log))
    patient.read([str(log)])
    names = write(patient.look(closed=True), tmp_path / "bundle.zip", 20)
    assert {"diagnosis.json", "report.html", "environment.json", "facts.json", "reproduce.md"} <= set(names)
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        texts = {name: archive.read(name).decode("utf-8") for name in names}
    assert "one device, 20 steps" in texts["reproduce.md"]
    assert {"python", "packages", "platform"} <= set(json.loads(texts["environment.json"]))
    assert not [name for name, text in texts.items() if "A" * 34 in text]
