from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


def test_a_heading_says_that_the_measures_below_it_are_of_an_evaluation(read: Any) -> None:
    block = "Evaluation Results:\n   Loss: 0.53\n   Perplexity: 1.70\n"
    run = read("step 10 | Loss: 0.9\n" + block + "step 20 | Loss: 0.8\n" + block)
    assert points(run, "Loss") == [(10, 0.9), (20, 0.8)]
    assert points(run, "val_Loss") == [(10, 0.53), (20, 0.53)]


def test_a_correct_of_all_becomes_a_share(read: Any) -> None:
    line = "Test set: Average loss: 0.05, Accuracy: 9830/10000 (98%)\n"
    run = read("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3\n" + line + line)
    assert points(run, "test_Accuracy") == [(640, 0.983), (640, 0.983)]
    assert points(run, "test_Average loss")[0] == (640, 0.05)


def test_a_box_of_measures_is_placed_at_its_own_count_of_steps(read: Any) -> None:
    box = (
        "------------------------------\n| rollout/           |         |\n|    ep_rew_mean     | {0}    |\n"
        "| time/              |         |\n|    total_timesteps | {1}    |\n------------------------------\n"
    )
    run = read(box.format(22.3, 2048) + box.format(25.1, 4096))
    assert points(run, "rollout/ep_rew_mean") == [(2048, 22.3), (4096, 25.1)]


def test_a_box_is_placed_by_its_epoch_where_no_row_bears_the_name_of_a_measure(read: Any) -> None:
    box = (
        "-----------------------------\n| epoch              | {0}    |\n| test/mean_Q        | {1} |\n"
        "| test/success_rate  | {2}  |\n-----------------------------\n"
    )
    run = read(box.format(0, -0.31, 0.0) + box.format(1, -0.72, 0.4))
    assert points(run, "test/success_rate") == [(0, 0.0), (1, 0.4)]


def test_rows_under_a_header_of_columns_are_read(read: Any) -> None:
    log = "epoch     train_loss  valid_loss  accuracy  time\n0         0.5         0.4         0.8       00:10\n"
    run = read(log + "1         0.4         0.35        0.85      00:10\n")
    assert points(run, "valid_loss") == [(0, 0.4), (1, 0.35)]


def test_rows_under_measures_alone_are_counted_where_a_split_is_named(read: Any) -> None:
    run = read(
        "Summary:\ntrain loss   val_loss   val_acc\n  1.20    0.90    0.50\n  0.80    0.85    0.60\nRemarks: fine\n"
    )
    assert points(run, "val_loss") == [(0, 0.9), (1, 0.85)]
    assert read("loss   acc   score of\n  1.20    0.90    0.50\n  0.80    0.85    0.60\n").points == 0


def test_rows_under_names_with_bars_between_them_are_counted_where_two_of_them_are_measures(
    read: Any,
) -> None:
    run = read(
        "  surr | vf_loss |    kl |   ent\n 0.91 |    3.4 | 0.012 | -0.35\n 0.52 |    3.1 | 1.25 | -0.36\n"
    )
    assert points(run, "kl") == [(0, 0.012), (1, 1.25)]
    assert points(run, "vf_loss") == [(0, 3.4), (1, 3.1)]
    assert not points(read("surr vf_loss kl ent\n0.91 3.4 0.012 -0.35\n0.52 3.1 1.25 -0.36\n"), "kl")
    assert not points(read("  kl | beta | size\n 0.01 | 3.4 | 12\n"), "kl")


def test_a_name_that_comes_again_belongs_to_the_split_named_in_between(read: Any) -> None:
    line = "Epoch {0} | Train Loss: 0.{1} | Acc: 0.7 | Val Loss: 0.8 | Acc: 0.6\n"
    run = read("".join(line.format(epoch, 9 - epoch) for epoch in range(4)))
    assert points(run, "Acc")[-1] == (3, 0.7)
    assert points(run, "val_Acc")[-1] == (3, 0.6)


@pytest.mark.parametrize(
    ("line", "metric", "value"),
    [
        ("val Loss: 0.40 Acc: 0.9", "val_Acc", 0.9),
        ("train loss: 0.3 val loss: 0.4 accuracy: 0.9", "val_accuracy", 0.9),
        ("LOSS train 0.3 valid 0.4", "valid_loss", 0.4),
        ("loss 0.3 | val 0.4", "val_loss", 0.4),
        ("loss: 0.3 - val_loss: 0.4 - acc: 0.9", "acc", 0.9),
        ("val loss: 0.4 lr: 0.001", "lr", 0.001),
    ],
)
def test_what_follows_a_loss_of_one_split_is_of_that_split(
    line: str, metric: str, value: float, read: Any
) -> None:
    assert points(read("".join(f"Epoch {n} {line}\n" for n in (1, 2, 3))), metric)[-1] == (3, value)


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("+-------+\n| Epoch | Train Loss | Val Loss |\n+-------+\n", "|   {0}   |   0.{0}   |   0.4  |\n"),
        (
            "┏━━━━━━━┳━━━━━━━━━━━━┓\n┃ Epoch ┃ Train Loss ┃ Val Loss ┃\n┡━━━━━━━╇━━━━━━━━━━━━┩\n",
            "│ {0}     │ 0.{0}     │ 0.4   │\n",
        ),
        ("epoch train_loss val_loss\n", "{0} 0.{0} 0.4\n"),
    ],
)
def test_rows_under_a_framed_or_narrow_header_are_read(head: str, row: str, read: Any) -> None:
    run = read(head + "".join(row.format(n) for n in range(1, 8)) + "+-----+\n")
    names = [key.metric for key in run.series]
    assert names[1].lower().replace(" ", "_") == "val_loss"
    assert points(run, names[0]) == [(n, n / 10) for n in range(1, 8)]


def test_a_notice_of_evaluation_says_whose_the_next_measures_are(read: Any) -> None:
    run = read(
        "".join(
            f"Epoch {n}/4, Train Loss: 0.5\nValidating...\nLoss: 0.{n}, Accuracy: 80%\n" for n in range(1, 5)
        )
    )
    assert [value for _, value in points(run, "val_Loss")] == [0.1, 0.2, 0.3, 0.4]


def test_what_catboost_measures_is_a_score_once_its_best_value_has_grown(read: Any) -> None:
    row = "{0}:\tlearn: {1}\ttest: {2}\tbest: {2} ({0})\ttotal: 41ms\tremaining: 1.2s\n"
    losses = read("".join(row.format(n, 0.9 - n / 10, 0.95 - n / 10) for n in range(4)))
    assert len(points(losses, "val_loss")) == 4
    scores = read("".join(row.format(n, 0.5 + n / 10, 0.45 + n / 10) for n in range(4)))
    assert [step for step, _ in points(scores, "val_score")] == [1, 2, 3]
    assert len(points(scores, "train_loss")) == 1


YOLO_ROW = "{0:>10}/9    0.489G{1:>10}   0.02211   0.01802   0.11000        10       640"


def test_rows_of_yolo_are_read_without_the_line_that_names_them(read: Any) -> None:
    scores = "         0" * 4 + "   0.07120   0.02310   0.01940\n"
    run = read(
        "".join(
            YOLO_ROW.format(epoch, value) + scores for epoch, value in enumerate(("0.07", "nan", "0.05312"))
        )
    )
    assert [at for at, _ in points(run, "box_loss")] == [0, 1, 2]
    assert points(run, "val/box_loss")[0] == (0, 0.0712)
    bars = "      {0}/9     1.2G     1.5     2.1     1.3        16       640: 100%|##########| 4/4 [00:01<00:00,  3.1it/s]\n"
    assert [value for _, value in points(read("".join(map(bars.format, range(3)))), "box_loss")] == [1.5] * 3


def test_a_row_of_another_width_is_none_of_yolo(read: Any) -> None:
    assert read("".join(f"{YOLO_ROW.format(epoch, 0.1)}  3\n" for epoch in range(3))).points == 0
    assert read("   3/9   12G   0.1   loss\n" * 3).points == 0


def test_columns_of_spacy_2_are_read(read: Any) -> None:
    log = "Itn.  Dep Loss  NER Loss  UAS     NER P.\n0     0.000     20.500    0.000   5.882\n"
    assert points(read(log + "1     0.000     18.250    0.000   6.100\n"), "NER Loss") == [
        (0, 20.5),
        (1, 18.25),
    ]


def test_evaluations_of_boosted_trees_are_read_whatever_they_measure(read: Any) -> None:
    run = read("".join(f"[{n}]\ttrain-gamma-nloglik:nan\teval-map@5-:0.{n}\n" for n in range(3)))
    assert points(run, "eval-map@5-") == [(0, 0.0), (1, 0.1), (2, 0.2)]
    assert len(points(run, "train-gamma-nloglik")) == 3
    spaced = read("".join(f"[{n}]    train-auc:0.5{n}+0.01   test-auc:0.6{n}+0.02\n" for n in (0, 10, 20)))
    assert points(spaced, "test-auc") == [(0, 0.6), (10, 0.61), (20, 0.62)]
    assert read("[3] pre-loss:0.5 and so on\n[4] shape-1:2x3\n").points == 0


def test_catboost_shows_by_one_line_that_more_is_better(read: Any) -> None:
    row = "{0}:     learn: 0.95{0}        test: 0.82{0} best: 0.8356 (1)     total: 45.4s    remaining: 1h 42m 22s\n"
    assert points(read("".join(map(row.format, (7, 8)))), "val_score") == [(7, 0.827), (8, 0.828)]


def test_rows_behind_a_meter_are_read(read: Any) -> None:
    log = "[------------] Epoch      Train log_loss       Test log_loss            Test AUC     Time cost (sec)\n"
    row = "[   {0}0%      ]     {0}                 {1}            0.6{0}            0.50000               11.07\n"
    run = read(log + row.format(1, "nan") + row.format(2, "0.5"))
    assert [at for at, _ in points(run, "Train log_loss")] == [1, 2]
    assert points(run, "Test log_loss") == [(1, 0.61), (2, 0.62)]


def test_a_header_parted_by_single_spaces_may_have_columns_of_any_name_behind_its_measures(read: Any) -> None:
    run = read("epoch train loss valid loss accuracy_thresh f2_opt\n0 nan 0.3 0.9 0.1\n1 0.2 0.4 0.8 0.2\n")
    assert points(run, "valid_loss") == [(0, 0.3), (1, 0.4)]
    assert read("epoch after epoch the loss of it\n0 1 2 3 4 5 6\n").points == 0


TRIALS = """+-----------------------+----------+--------+------------------+------+----------+
| Trial name            | status   |   iter |   total time (s) |   ts |   reward |
|-----------------------+----------+--------+------------------+------+----------|
{0}+-----------------------+----------+--------+------------------+------+----------+
"""


def test_framed_rows_may_hold_words_and_those_of_the_first_label_count(read: Any) -> None:
    row = "| PPO_env_{0}         | RUNNING  |  {1}     |  20{1}.046       | 3072 |  {2}     |\n"
    run = read("".join(TRIALS.format(row.format("a", n, "nan") + row.format("b", n, 0.5)) for n in (3, 4)))
    assert [at for at, _ in points(run, "reward")] == [3, 4]
    assert points(run, "total time (s)") == [(3, 203.046), (4, 204.046)]


def test_a_word_in_a_row_may_name_the_split(read: Any) -> None:
    log = "| epoch | phase | loss | acc |\n|---|---|---|---|\n"
    run = read(log + "".join(f"| {n} | train | 0.{n} | 0.5 |\n| {n} | val | 0.6 |  |\n" for n in (1, 2)))
    assert points(run, "val_loss") == [(1, 0.6), (2, 0.6)]
    assert points(run, "train_loss") == [(1, 0.1), (2, 0.2)]


def test_values_of_two_splits_stand_side_by_side(read: Any) -> None:
    row = "{0}          |     0.5{1}  |     0.4{1}\n"
    head = "                   Training |  Validation\n"
    run = read(
        "".join(
            f"Epoch {n}/9\n{head}" + row.format("accuracy", n) + row.format("gpu_0_memory_MB", "1 ")
            for n in (1, 2)
        )
    )
    assert points(run, "val_accuracy") == [(1, 0.41), (2, 0.42)]
    assert points(run, "train_accuracy") == [(1, 0.51), (2, 0.52)]
    assert read("Reading | Writing\nloss  |  0.5  |  0.4\n" * 4).points == 0


def test_a_framed_header_of_two_lines_is_joined(read: Any) -> None:
    head = "|  Epoch  |  Iteration  |  Time Elapsed  |  Mini-batch  |  Validation  |\n"
    head += (
        "|         |             |   (hh:mm:ss)   |   Accuracy   |     Loss     |\n|=====================|\n"
    )
    run = read(
        head
        + "".join(
            f"|       {n} |          {n}0 |       00:00:10 |       5{n}.25% |       0.{n} |\n" for n in (1, 2)
        )
    )
    assert points(run, "Mini-batch Accuracy") == [(10, 51.25), (20, 52.25)]
    assert points(run, "Validation Loss") == [(10, 0.1), (20, 0.2)]


def test_columns_parted_by_commas_are_read_in_a_log(read: Any) -> None:
    run = read(
        "device: cpu\nepoch, train_loss, val_loss\n1, 0.9, 0.8\n2, 0.7, 0.6\ndone in 3, 4, 5 seconds\n"
    )
    assert points(run, "val_loss") == [(1, 0.8), (2, 0.6)]
    assert read("step, by step, the loss\n1, 2, 3\n").points == 0


def test_boxes_of_spinning_up_and_of_baselines_tell_their_steps(read: Any) -> None:
    edge = "---------------------------------------\n"
    box = edge + "|             Epoch |               {0} |\n|      AverageEpRet |            5{0}.5 |\n"
    run = read("".join((box + "| TotalEnvInteracts |           {0}00 |\n" + edge).format(n) for n in (1, 2)))
    assert points(run, "AverageEpRet") == [(100, 51.5), (200, 52.5)]
    box = edge + "| EpRewMean           | 5{0}.5    |\n| TimestepsSoFar      | {0}00      |\n" + edge
    assert points(read("".join(map(box.format, (1, 2)))), "EpRewMean") == [(100, 51.5), (200, 52.5)]


def test_boxes_of_names_that_nobody_knows_are_read_once_one_has_come_again(read: Any) -> None:
    edge = "-----------------------------\n"
    box = edge + "| exploitability | 0.{0}      |\n| t              | {1}        |\n" + edge
    run = read("".join(box.format(9 - n, n) for n in range(4)))
    assert points(run, "exploitability") == [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.6)]
    # settings are printed again as they were, and one box alone may be anything
    assert read(box.format(9, 3) * 3).points == 0
    assert read(box.format(9, 3)).points == 0


def test_columns_may_be_called_by_the_parts_of_the_data_alone_below_what_they_measure(read: Any) -> None:
    rows = "".join(f"\t{n}         0.{n}91     0.{n}25     0.{n}00    \n" for n in (1, 2, 3))
    run = read("Accuracies:\n\tEpoch     Train     Eval      Test      \n" + rows)
    assert points(run, "Train Accuracies") == [(1, 0.191), (2, 0.291), (3, 0.391)]
    assert points(run, "Test Accuracies") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    run = read("\tEpoch     Train     Eval\n" + "".join(f"\t{n}    0.{n}91     0.{n}25\n" for n in (1, 2)))
    assert points(run, "Eval") == [(1, 0.125), (2, 0.225)]


def test_what_a_signature_asks_for_is_kept_inside_a_box(read: Any) -> None:
    from hrmdoc.text.literals import Literals

    edge = "-" * 40 + "\n"
    box = edge + "| time/ | |\n|    total_timesteps | {0} |\n| loss | {0}.5 |\n| note | {1} |\n" + edge
    log = "".join(box.format(at, 77 if at == 5 else 1) for at in range(1, 9))
    run = read(log, wanted=Literals([b"| note | 77"]))
    assert [line.line for line in run.lines] == [29]
    assert points(run, "loss") == [(at, at + 0.5) for at in range(1, 9)]


def test_rows_of_two_sets_below_each_other_are_of_these(read: Any) -> None:
    rows = "".join(f"train\t{at}\t0.5{at}\t0.6{at}\neval\t{at}\t0.4{at}\t0.3{at}\n" for at in range(-1, 5))
    run = read(f"Run of a model, 5 epochs\nDataset\tEpoch\tF1\tAccuracy\n{rows}")
    assert [value for _, value in points(run, "val_Accuracy")] == [0.3, 0.31, 0.32, 0.33, 0.34]
    assert [value for _, value in points(run, "train_F1")] == [0.5, 0.51, 0.52, 0.53, 0.54]


def test_rows_for_latex_stand_below_their_header(read: Any) -> None:
    head = "   abs_err |   rmse | rmse_log |   a1 | \n"
    rows = (f"&   0.1{n}  &   4.{n}  &   0.2{n}  &   0.8{n}  \\\\\n\n-> Done!\n" for n in (1, 2, 3))
    run = read("".join(head + row for row in rows))
    assert [value for _, value in points(run, "a1")] == [0.81, 0.82, 0.83]
    assert [value for _, value in points(run, "rmse")] == [4.1, 4.2, 4.3]
