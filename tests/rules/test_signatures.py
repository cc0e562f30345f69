"""Every signature holds what the schema promises."""

from __future__ import annotations

import re
from functools import cache

import pytest

from hrmdoc import rulebook
from hrmdoc.examination.cases.examples import check_examples
from hrmdoc.examination.signatures import SignatureMatcher
from hrmdoc.record.records import Line
from hrmdoc.rulebook import Rulebook, Signature


@cache
def book() -> Rulebook:
    return rulebook.load()


SIGNATURES = list(book().signatures.values())
MATCHER = SignatureMatcher(book())
PREFIXES = ("", "[rank3]: ", "[rank12]:[E1121 03:59:51.510406324 x.cpp:67] ", "2026-03-04T05:06:07.123Z ")


def ids(signature: Signature) -> str:
    return signature.id


@pytest.mark.parametrize("signature", SIGNATURES, ids=ids)
def test_a_signature_belongs_to_a_symptom_and_says_what_it_means(signature: Signature) -> None:
    assert signature.symptom in book().symptoms
    assert len(signature.means) > 15
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", signature.id)


@pytest.mark.parametrize("signature", SIGNATURES, ids=ids)
def test_literals_are_long(signature: Signature) -> None:
    assert min(map(len, signature.literals)) >= 5


@pytest.mark.parametrize("signature", SIGNATURES, ids=ids)
def test_every_example_shows_its_signature_and_no_counterexample_does(signature: Signature) -> None:
    assert [problem for _, problem in check_examples(book(), MATCHER, [signature.id], []) if problem] == []


@pytest.mark.parametrize("signature", SIGNATURES, ids=ids)
def test_captured_groups_do_not_shadow_the_words_of_an_evidence_template(signature: Signature) -> None:
    reserved = {"text", "signature", "role", "metric", "step", "last_step", "count", "rank"}
    names = {re.sub(r"_\d$", "", name) for name in re.compile(signature.pattern).groupindex}
    assert not names & reserved


@pytest.mark.parametrize("signature", [s for s in SIGNATURES if not s.traceback and not s.quoted], ids=ids)
def test_the_matcher_finds_an_example_behind_any_prefix(signature: Signature) -> None:
    anchored = signature.pattern.removeprefix("(?i)").startswith("^")
    example = next(text for text in signature.shown() if "\n" not in text or signature.desync)
    for prefix in PREFIXES[:1] if anchored else PREFIXES:
        found = MATCHER.match(Line(prefix + example.splitlines()[-1], "a.log", 1))
        assert signature.id in [match.signature.id for match in found]


def test_literals_do_not_occur_in_the_lines_of_a_healthy_run() -> None:
    healthy = (
        b"{'loss': 1.9113, 'grad_norm': 0.8121, 'learning_rate': 2e-05, 'epoch': 0.42}\n"
        b"step 250: train loss 3.1234, val loss 3.2345\n"
        b" iteration      200/ 1000 | consumed samples: 51200 | elapsed time per iteration (ms): 1203.5 "
        b"| lm loss: 2.1E+00 |\n"
        b"Epoch 3:  41%|####      | 82/200 [00:41<00:59,  1.98it/s, loss=0.512, v_num=3]\n"
        b"[2026-01-02 03:04:05,678][train][INFO] - step=120 loss=0.73 accuracy=0.81 lr=7e-5 tokens/s=12345\n"
        b"Saving model checkpoint to out/checkpoint-500\n"
        b"Some non-default generation parameters are set in the model config.\n"
        b"Mean Absolute Error: 0.51, Root Mean Squared Error: 0.77\n"
        b"wandb: Find logs at: ./wandb/offline-run-20260302_101112-abc/logs\n"
    )
    assert MATCHER.wanted(healthy) == []


def test_what_counts_only_where_nothing_else_matches_is_an_exception_or_a_last_word() -> None:
    plain_words = {s.id for s in SIGNATURES if s.id.startswith("said-")}
    assert plain_words
    assert all("(?P<exception>" in s.pattern for s in SIGNATURES if s.id in plain_words)
    exceptions = {"unhandled-exception", "binary-mismatch", "fsdp-error"}
    shell = {"module-not-found", "file-missing", "permission-denied", "config-error"}
    memory, last_words = {"oom-cuda", "oom-host"}, {"pad-token-missing", "zero3-partitioned-param"}
    told = {
        s.symptom
        for s in SIGNATURES
        if s.fallback and not s.traceback and not s.quoted and s.id not in plain_words
    }
    assert told == exceptions | shell | memory | last_words


def test_where_only_the_frames_tell_any_message_counts() -> None:
    told = [s for s in SIGNATURES if s.fallback and s.traceback and s.id != "any-exception"]
    assert len(told) > 10
    assert all(re.search(s.pattern, "FooError: something that nobody has written yet") for s in told)
