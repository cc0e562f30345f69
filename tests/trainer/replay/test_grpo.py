"""Training by reward: the task, its samples, and what a thread makes ahead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from hrmdoc.trainer.parallel.world import World  # noqa: E402
from hrmdoc.trainer.replay.grpo import Settings, Training, chosen, main  # noqa: E402
from hrmdoc.trainer.replay.policy import BASE, DIGITS, Policy, generate, imitate, prompts, reward  # noqa: E402
from hrmdoc.trainer.replay.prefetch import ahead  # noqa: E402
from hrmdoc.trainer.replay.weights import Weights  # noqa: E402
from hrmdoc.trainer.rundir.ranklog import RankLog  # noqa: E402

SMALL = "per_device_train_batch_size: 16\nnum_generations: 4\ntrain_prompts: 8\nimitation_steps: 2\n"


def test_the_reward_is_the_share_of_places_that_are_sorted() -> None:
    asked = torch.tensor([[3, 1, 2, 0, 5, 4]] * 2)
    answers = torch.tensor([[0, 1, 2, 3, 4, 5], [0, 1, 2, 4, 3, 5]])
    assert reward(asked, answers).tolist() == pytest.approx([1.0, 4 / 6])


def test_answers_follow_their_prompts_and_at_temperature_zero_are_always_the_same() -> None:
    torch.manual_seed(0)
    policy, asked = Policy(), prompts(5, 1)
    sequences = generate(policy, asked, 0.0)
    assert sequences.shape == (5, 2 * DIGITS + 1)
    assert torch.equal(sequences[:, :DIGITS], asked)
    assert (sequences[:, DIGITS] == BASE).all()
    assert torch.equal(sequences, generate(policy, asked, 0.0))
    assert not torch.equal(sequences, generate(policy, asked, 5.0))


def test_scores_are_those_of_the_tokens_that_come() -> None:
    torch.manual_seed(0)
    policy = Policy()
    sequences = generate(policy, prompts(3, 1), 1.0)
    begun = policy(sequences[:, : DIGITS + 2])[:, -1].log_softmax(-1)
    expected = begun.gather(1, sequences[:, DIGITS + 2, None])[:, 0]
    assert torch.allclose(chosen(policy.scores(sequences), sequences)[:, 1], expected, atol=1e-5)


def test_a_little_imitation_is_better_than_none() -> None:
    torch.manual_seed(0)
    policy, asked = Policy(), prompts(64, 1)
    before = reward(asked, generate(policy, asked, 0.0)[:, -DIGITS:]).mean()
    imitate(policy, 20, 5)
    assert reward(asked, generate(policy, asked, 0.0)[:, -DIGITS:]).mean() > before + 0.1


def test_results_made_ahead_come_in_order_and_an_error_is_raised_where_they_are_used() -> None:
    assert list(ahead([1, 2, 3], lambda one: one * 2)) == [2, 4, 6]

    def broken() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    made = ahead(broken(), str)
    assert next(made) == "1"
    with pytest.raises(OSError, match="gone"):
        next(made)


def test_a_step_clips_the_gradient_and_changes_the_weights_of_whoever_takes_them() -> None:
    model = torch.nn.Linear(2, 1, bias=False)
    weights = Weights(model, World(), 0.1, sharded=True)
    before = model.weight.detach().clone()
    assert weights.step((model.weight * 30).sum(), model, 1.0) == pytest.approx(30 * 2**0.5)
    assert weights.own.grad is not None
    assert weights.own.grad.norm().item() == pytest.approx(1.0, rel=1e-3)
    assert torch.equal(model.weight, before)
    weights.into(model)
    assert torch.allclose(model.weight, before - 0.1, atol=1e-3)


@pytest.mark.parametrize(("drop", "shares"), [(True, (2, 2)), (False, (3, 2))])
def test_only_full_batches_are_the_same_number_in_each_process(
    tmp_path: Path, shares: tuple[int, int], *, drop: bool
) -> None:
    settings = Settings(train_prompts=9, per_device_train_batch_size=8, num_generations=4, drop_last=drop)
    trainings = [Training(settings, RankLog(tmp_path, rank), World(rank, 2)) for rank in (0, 1)]
    assert tuple(len(list(one._batches(0))) for one in trainings) == shares


def test_a_run_logs_what_trl_logs_and_groups_of_one_have_no_advantage(tmp_path: Path) -> None:
    config, run = tmp_path / "c.yaml", tmp_path / "run"
    config.write_text(
        SMALL.replace("generations: 4", "generations: 1").replace("prompts: 8", "prompts: 32")
        + "async_prefetch: true\n"
    )
    assert main([str(config), f"run_dir={run}"]) == 0
    log = (run / "train.log").read_text()
    assert "step 1 loss" in log
    assert "reward_std 0 frac_reward_zero_std 1 entropy" in log
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [one["step"] for one in events if one["event"] == "evaluated"] == [0, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [("train_prompts: 1\n", "no full batch"), ("num_generations: 3\n", "no multiple of 3 generations")],
)
def test_a_batch_that_cannot_be_filled_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(f"imitation_steps: 1\nper_device_train_batch_size: 64\n{text}")
    assert main([str(config), f"run_dir={tmp_path / 'run'}"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["temperature: 0\n", "num_generations: 0\n", "beta: high\n"])
def test_settings_out_of_bounds_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(text)
    assert main([str(config), f"run_dir={tmp_path / 'run'}"]) == 2
    assert text.split(":")[0] in capsys.readouterr().err
