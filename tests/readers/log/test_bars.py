"""Progress bars, and printed mappings whose step the bars tell."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.readers.log.grammar.bars import bars_of
from hrmdoc.readers.log.state.bar_of_run import BarOfRun
from tests.readers.log.metrics import points

TRAIN = "\r{percent:3d}%|██        | {n}/20 [00:00<00:02,  8.77it/s]"


def bar(n: int) -> str:
    return TRAIN.format(percent=5 * n, n=n)


def test_a_bar_is_split_into_its_parts() -> None:
    [found] = bars_of("Epoch 3: 45%|████▌  | 9/20 [00:01<00:02,  4.1it/s, loss=0.5]tail")
    assert (found.desc, found.n, found.total, found.postfix, found.after) == (
        "Epoch 3",
        9,
        20,
        "loss=0.5",
        "tail",
    )
    assert found.counts_steps


def test_a_bar_over_examples_counts_no_steps() -> None:
    [found] = bars_of("Map: 100%|██████████| 32/32 [00:00<00:00, 3939.47 examples/s]")
    assert not found.counts_steps


def test_a_count_beyond_all_measure_is_none() -> None:
    [found] = bars_of("45%|██| 9" + "9" * 400 + "/20 [00:01<00:02,  4.1it/s]")
    assert (found.n, found.total) == (0, 20)


def test_what_only_resembles_a_bar_is_none() -> None:
    assert bars_of("50%| of the people | 3/4") == []
    assert bars_of("download 50% ━━━━━━ 1.2/2.4 MB at 3.4 MB/s") == []


def test_a_bar_of_ultralytics_is_split_into_its_parts() -> None:
    [begun] = bars_of("   1/9   2.6G  1.31   640: 0% ──────────── 0/2  0.4s")
    [found] = bars_of("   1/9   2.6G  1.15   640: 100% ━━━━━━━━━━━━ 2/2 1.2it/s 1:06<0.6s")
    assert (begun.n, found.n, found.total, found.desc) == (0, 2, 2, "1/9   2.6G  1.15   640")
    assert begun.counts_steps
    assert found.counts_steps
    [loading] = bars_of("weights.pt: 50% ━━━━━━────── 2.5M/5.0M 1.2MB/s 2.0s<2.0s")
    assert not loading.counts_steps


def test_the_bar_of_ignite_is_split_into_its_parts() -> None:
    [found] = bars_of("Epoch [1/3]: [4/10]  40%|████      , batch loss=0.73, lr=0.1 [00:00<00:01]")
    assert (found.desc, found.n, found.total, found.postfix) == (
        "Epoch [1/3]",
        4,
        10,
        "batch loss=0.73, lr=0.1",
    )
    assert found.counts_steps
    [begun] = bars_of("Epoch [1/3]: [1/10]  10%|█          [00:00<?]")
    assert (begun.n, begun.postfix) == (1, "")
    assert bars_of("[1/10] 10%| of all, says [1]") == []


def test_redraws_of_the_bar_of_ignite_give_one_point_a_batch(read: Any) -> None:
    redraw = "\rEpoch [{epoch}/2]: [{n}/4]  {percent}%|███       , loss={loss} [00:00<00:01]"
    log = "".join(
        redraw.format(epoch=epoch, n=n, percent=25 * n, loss=loss)
        for epoch in (1, 2)
        for n in (1, 2, 3, 4)
        for loss in (9.5, 5 - epoch - n / 10)
    )
    [series] = [series for key, series in read(log).series.items() if key.metric == "loss"]
    assert series.steps.tolist() == list(range(1, 9))
    assert series.values.tolist() == pytest.approx(
        [5 - epoch - n / 10 for epoch in (1, 2) for n in (1, 2, 3, 4)]
    )


def test_the_last_number_of_a_bar_that_its_terminal_cut_is_left_out() -> None:
    [whole] = bars_of("45%|████▌  | 9/20 [00:01<00:02,  4.1it/s, loss=0.5, lr=1e-5]")
    [torn] = bars_of("45%|████▌  | 9/20 [00:01<00:02,  4.1it/s, loss=0.5, lr=1")
    assert (whole.postfix, torn.postfix) == ("loss=0.5, lr=1e-5", "loss=0.5")


def test_the_main_bar_is_the_first_one_open_not_the_evaluation_inside_it() -> None:
    main = BarOfRun()
    for text in ("0%|  | 0/20 [00:00<?, ?it/s]", "0%|  | 0/2 [00:00<?, ?it/s]"):
        [found] = bars_of(text)
        main.see(found.n, found.total)
    main.choose()
    assert main.total == 20


@pytest.mark.parametrize("quote", ["", "'"])
def test_a_record_takes_its_step_from_the_redraw_after_it(quote: str, read: Any) -> None:
    record = f"\r        \r{{'loss': {quote}4.323{quote}, 'grad_norm': {quote}1.3{quote}, 'epoch': {quote}0.3125{quote}}}\n"
    run = read(bar(0) + bar(1) + record + bar(5) + record + bar(10))
    [series] = [series for key, series in run.series.items() if key.metric == "loss"]
    assert series.steps.tolist() == [5, 10]
    assert series.precision == (0 if quote else 1)
    assert run.facts["run", "run.total_steps"].value == 20


def test_an_evaluation_record_lands_on_the_step_of_the_training(read: Any) -> None:
    evaluation = "\n\r  0%|  | 0/2 [00:00<?, ?it/s]\x1b[A\r   \r\x1b[A{'eval_loss': 4.3, 'eval_runtime': 0.1, 'epoch': 0.62}\n"
    run = read(bar(0) + "\r{'loss': 4.3, 'epoch': 0.62}\n" + bar(10) + evaluation + bar(10) + bar(20))
    assert {key.metric: series.steps.tolist() for key, series in run.series.items()} == {
        "loss": [10],
        "epoch": [10],
        "eval_loss": [10],
        "eval_runtime": [10],
    }


def test_records_without_bars_are_placed_by_epoch_once_its_length_is_known(read: Any) -> None:
    facts = "***** Running training *****\n  Num Epochs = 3\n  Total optimization steps = 300\n"
    run = read(facts + "{'loss': 1.5, 'epoch': 0.1}\n{'loss': 1.4, 'epoch': 0.2}\n")
    assert [s.steps.tolist() for key, s in run.series.items() if key.metric == "loss"] == [[10, 20]]


def test_records_of_which_nothing_tells_the_step_are_numbered(read: Any) -> None:
    run = read("{'loss': 1.5, 'epoch': 0.1}\n{'loss': nan, 'epoch': 0.2}\n")
    [series] = [series for key, series in run.series.items() if key.metric == "loss"]
    assert (series.axis, series.steps.tolist()) == ("index", [0, 1])


def test_the_summary_at_the_end_is_no_point_of_the_loss(read: Any) -> None:
    run = read("{'loss': 1.5, 'epoch': 0.1}\n{'train_runtime': 6.8, 'train_loss': 4.31, 'epoch': 1.25}\n")
    assert run.points == 2
    assert run.facts["config", "train_loss"].value == 4.31
    assert [event.kind for event in run.events] == ["end"]


def test_a_mean_over_the_whole_run_that_is_no_number_is_a_point(read: Any) -> None:
    run = read("{'train_runtime': 6.8, 'train_samples_per_second': 3.1, 'train_loss': nan, 'epoch': 1.25}\n")
    assert [key.metric for key in run.series] == ["train_loss"]
    log = "TrainOutput(global_step=7, training_loss=nan, metrics={'train_runtime': 6.8, 'train_loss': nan, 'epoch': 1.25})\n"
    assert [key.metric for key in read(log).series] == ["train_loss"]


def test_a_ratio_key_tells_step_and_total(read: Any) -> None:
    run = read(
        '{"loss": 2.2, "grad_norm": NaN, "epoch": 0.74, "global_step/max_steps": "8280/11043", "percentage": "74.98%"}\n'
    )
    assert [s.steps.tolist() for key, s in run.series.items() if key.metric == "grad_norm"] == [[8280]]
    assert run.facts["run", "run.total_steps"].value == 11043


def test_redraws_at_one_position_give_one_point_and_stale_evaluations_none(read: Any) -> None:
    def draw(n: int, rest: str, epoch: int = 0) -> str:
        return f"\rEpoch {epoch}: {25 * n:3d}%|██ | {n}/4 [00:00<00:01, 10.0it/s, v_num=1, {rest}]"

    log = (
        draw(0, "x_loss=9.0")
        + draw(1, "train_loss_step=0.9")
        + draw(1, "train_loss_step=0.8")
        + draw(4, "train_loss_step=0.5")
    )
    log += draw(4, "train_loss_step=0.5, val_loss=0.7") + draw(1, "train_loss_step=0.4, val_loss=0.7", 1)
    log += draw(4, "train_loss_step=0.3, val_loss=nan.0", 1) + "\n"
    run = read(log)
    found = {
        key.metric: list(zip(s.steps.tolist(), map(str, s.values.tolist()), strict=True))
        for key, s in run.series.items()
    }
    assert found["train_loss_step"] == [(1, "0.8"), (4, "0.5"), (5, "0.4"), (8, "0.3")]
    assert found["val_loss"] == [(4, "0.7"), (8, "nan")]


def test_a_description_tells_epoch_and_measures(read: Any) -> None:
    drawn = "\rEpoch: [{0}/9] Loss: {0}.5 Acc: 7.00%: {1}0%|█| {1}/2 [00:01<00:01,  1.1it/s]"
    log = "".join(drawn.format(epoch, n) for epoch in (1, 2) for n in (1, 2))
    run = read(log + "\n")
    [loss] = [series for key, series in run.series.items() if key.metric == "Loss"]
    assert loss.steps.tolist() == [1, 2, 3, 4]
    assert run.facts["run", "run.steps_per_epoch"].value == 2


def test_bars_that_start_again_without_a_number_of_the_epoch_are_laps(read: Any) -> None:
    log = "".join(
        f"\r{50 * n}%|█| {n}/2 [00:0{n}<00:01,  1.1it/s, loss=0.{lap}{n}]" for lap in (1, 2) for n in (1, 2)
    )
    run = read(log + "\n")
    [loss] = [series for key, series in run.series.items() if key.metric == "loss"]
    assert loss.steps.tolist() == [1, 2, 3, 4]


def test_a_total_before_a_bar_is_read_beside_its_terms(read: Any) -> None:
    bars = "".join(
        f"\r[Adam] Tot:{9 / n:.2e} PDE:1e-3/2e-4:   {n}%|  | {n}/100 [00:00<?, ?it/s]" for n in range(1, 9)
    )
    assert points(read(bars), "Tot")[:2] == [(1, 9.0), (2, 4.5)]


@pytest.mark.parametrize("cut", ["e-", "e-0", "e"])
def test_an_exponent_that_the_width_of_a_bar_cut_is_no_number(cut: str, read: Any) -> None:
    bar = "{0}/9 [====] - 3s 107ms/step - batch_cost: 0.107{0} - reader cost: 9.91{1}\n"
    ends = ["e-05", "e-05", "e-05", "e-05", cut, "e-05", cut, "e-05", cut]
    run = read("Epoch 1/1\n" + "".join(bar.format(n, end) for n, end in enumerate(ends, 1)))
    assert points(run, "batch_cost") == [(1, 0.1079)]
    assert "reader cost" not in {key.metric for key in run.series}
    assert run.facts["run", "run.framework"].value == "paddle"
