"""What each format's log becomes: short invented logs in the shape that the tool prints."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hrmdoc.run import Run


def points(run: Run, metric: str) -> list[tuple[int, float]]:
    """Steps and values of a metric, all ranks."""
    return [
        (int(step), float(value))
        for key, series in run.series.items()
        if key.metric == metric
        for step, value in zip(series.steps, series.values, strict=True)
    ]


def axis(run: Run, metric: str) -> str:
    return next(series.axis for key, series in run.series.items() if key.metric == metric)


LINES: dict[str, tuple[str, dict[str, list[tuple[int, float]]]]] = {
    "megatron": (
        " [2026-01-02 03:04:05.678901] iteration       10/     100 | consumed samples:          640 | elapsed time per iteration"
        " (ms): 512.3 | learning rate: 1.500000E-04 | lm loss: 9.8E+00 | loss scale: 1.0 | grad norm: nan"
        " | number of skipped iterations:   1 | number of nan iterations:   2 |\n"
        " validation loss at iteration 10 | lm loss value: 3.21E+00 | lm loss PPL: 2.48E+01 | \n",
        {
            "lm loss": [(10, 9.8)],
            "learning rate": [(10, 1.5e-4)],
            "elapsed time per iteration (ms)": [(10, 512.3)],
            "number of skipped iterations": [(10, 1.0)],
            "number of nan iterations": [(10, 2.0)],
            "val_lm loss value": [(10, 3.21)],
        },
    ),
    "nanotron": (
        "10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 7281 / 78950 | consumed_tokens: 85.8G |"
        " elapsed_time_per_iteration_ms: 11.5K | lm_loss: 2.38 | lr: 1e-05 | grad_norm: 1.25\n",
        {"lm_loss": [(7281, 2.38)], "consumed_tokens": [(7281, 85.8e9)], "elapsed_time_per_iteration_ms": [(7281, 11500.0)]},
    ),
    "nanogpt": (
        "iter 10: loss 4.1234, time 120.34ms, mfu 12.34%\nstep 250: train loss 3.1234, val loss 3.2345\n",
        {"loss": [(10, 4.1234)], "time": [(10, 120.34)], "train loss": [(250, 3.1234)], "val loss": [(250, 3.2345)]},
    ),
    "a mapping of mappings": (
        "{'step': 3, 'train': {'loss': 2.5, 'grads': {'norm': 0.25}}, 'val': {'loss': inf}, 'lr': 0.001}\n",
        {"train/loss": [(3, 2.5)], "train/grads/norm": [(3, 0.25)], "val/loss": [(3, math.inf)], "lr": [(3, 0.001)]},
    ),
    "scores of three splits beside one loss": (
        "Epoch: 007, Loss: 1.2345, Train: 0.5000, Val: 0.4000, Test: 0.4100\n",
        {"Loss": [(7, 1.2345)], "Train": [(7, 0.5)], "Val": [(7, 0.4)], "Test": [(7, 0.41)]},
    ),
    "tacotron": (
        "Train loss 480 0.612345 Grad Norm 0.812345 0.51s/it\n",
        {"Train loss": [(480, 0.612345)], "Grad Norm": [(480, 0.812345)]},
    ),
    "hrm": (
        "eval step 160 | all.accuracy 0.5364 | all.exact_accuracy 0.0100 | all.lm_loss 0.9695\n",
        {"all.accuracy": [(160, 0.5364)], "all.exact_accuracy": [(160, 0.01)], "all.lm_loss": [(160, 0.9695)]},
    ),
    "olmo-core": (
        "[step=7/100,epoch=1,eta=1h 2m]\n    optim/LR (group 0)=3e-4\n    throughput/device/TPS=11,234\n    train/CE loss=2.5\n",
        {"optim/LR_group0": [(7, 3e-4)], "throughput/device/TPS": [(7, 11234.0)], "train/CE loss": [(7, 2.5)]},
    ),
    "a mapping behind its step": (
        "2026-01-02 03:04:05 | INFO | Global step 12: {'policy_loss': -0.01, 'kl': 0.002, 'reward': 0.5}\n" * 3,
        {"policy_loss": [(12, -0.01)] * 3, "reward": [(12, 0.5)] * 3},
    ),
    "a mapping behind a step that could head a paragraph": (
        "step 7: {'train/loss': 1.5, 'train/step': 7}\nstep 8: {'train/loss': 1.25, 'train/step': 8}\n",
        {"train/loss": [(7, 1.5), (8, 1.25)]},
    ),
    "spacy": (
        "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE \n---  ------  ------------  --------  ------  ------\n"
        "  0       0          0.00     45.63    4.10    0.04\n  0     200         91.04   1513.12   55.20    0.55\n"
        "  1     400        112.85    871.20   60.10    0.60\n",
        {"LOSS NER": [(0, 45.63), (200, 1513.12), (400, 871.2)], "SCORE": [(0, 0.04), (200, 0.55), (400, 0.6)]},
    ),
    "mmengine with dates without a year": (
        "01/02 03:04:05 - mmengine - INFO - Epoch(train) [2][ 5/20]  lr: 1.0000e-01  eta: 0:00:00  time: 0.0120  loss: 0.8475\n"
        "01/02 03:04:06 - mmengine - INFO - Epoch(val) [2][20/20]    accuracy: 97.5000  data_time: 0.0034  time: 0.0052\n",
        {"loss": [(25, 0.8475)], "lr": [(25, 0.1)], "val_accuracy": [(25, 97.5)]},
    ),
    "catboost": (
        "20:\tlearn: 0.5312000\ttest: 0.5510000\tbest: 0.5500000 (18)\ttotal: 41ms\tremaining: 1.2s\n",
        {"train_loss": [(20, 0.5312)], "val_loss": [(20, 0.551)]},
    ),
    "a step in brackets": (
        "I0102 03:04:05.678901 139 logging_writer.py:48] [300] learning_rate=0.001, loss=2.5, accuracy=0.5\n",
        {"loss": [(300, 2.5)], "accuracy": [(300, 0.5)], "learning_rate": [(300, 0.001)]},
    ),
    "pictures between the words": (
        "\U0001f4ca Step 100/500 \u2192 \U0001f4c9 loss: 0.5 \u2022 \U0001f3af acc: 81.2% \u2022 lr=1e-3\n",
        {"loss": [(100, 0.5)], "acc": [(100, 81.2)], "lr": [(100, 1e-3)]},
    ),
    "build-nanogpt": (
        "step    50 | loss: 7.230000 | lr 6.0000e-04 | norm: 0.5822 | dt: 404.42ms | tok/sec: 1296409.68\n",
        {"loss": [(50, 7.23)], "lr": [(50, 6e-4)], "norm": [(50, 0.5822)], "tok/sec": [(50, 1296409.68)]},
    ),
    "bare numbers before a name": (
        "0 val 11.0\n0 hella 0.25\n0 train 11.1\n250 val 3.28\n",
        {"val_loss": [(0, 11.0), (250, 3.28)], "train_loss": [(0, 11.1)], "hella": [(0, 0.25)]},
    ),
    "nanochat": (
        "step 00010/01000 (1.00%) | loss: 8.123456 | lrm: 1.00 | dt: 512.34ms | tok/sec: 512,345 | epoch: 1 | eta: 10.1m\n"
        "Step 00250 | Validation bpb: 1.012345\n",
        {"loss": [(10, 8.123456)], "tok/sec": [(10, 512345.0)], "Validation bpb": [(250, 1.012345)]},
    ),
    "modded-nanogpt": (
        "step:124/1750 train_loss:5.0 train_time:990ms step_avg:12.1ms\n"
        "step:125/1750 val_loss:4.9 train_time:1000ms step_avg:nanms\n",
        {"train_loss": [(124, 5.0)], "val_loss": [(125, 4.9)]},
    ),
    "llm.c": (
        "step    1/20000 | loss 11.009 (+nanz)| norm 15.3 (+nanz)| lr 8.57E-07 | 3056.36 ms | 56.1% bf16 MFU | 171500 tok/s\n",
        {"loss": [(1, 11.009)], "norm": [(1, 15.3)], "lr": [(1, 8.57e-7)], "tok/s": [(1, 171500.0)], "bf16 MFU": [(1, 56.1)]},
    ),
    "torchtitan": (
        "\x1b[31m[rank0]:\x1b[0m[titan] 2026-01-02 03:04:05,678 - root - INFO - \x1b[36mstep: 10  \x1b[32mloss:  8.12345"
        "  grad_norm:  1.2345  memory: 45.12GiB(47.50%)  tps: 5,432  mfu: N/A\x1b[39m\n"
        "[rank0]:[titan] 2026-01-02 03:04:06,678 - root - INFO - validate step: 10  loss:  7.1234\n",
        {"loss": [(10, 8.12345)], "tps": [(10, 5432.0)], "memory": [(10, 45.12)], "val_loss": [(10, 7.1234)], "mfu": []},
    ),
    "torchtune": (
        "Step 10 | loss:1.234 lr:2e-05 tokens_per_second_per_gpu:812.3 grad_norm:0.9 \n",
        {"loss": [(10, 1.234)], "lr": [(10, 2e-5)], "grad_norm": [(10, 0.9)]},
    ),
    "fairseq json": (
        '2026-01-02 03:04:05 | INFO | train_inner | {"epoch": 1, "update": 0.123, "loss": "9.812",'
        ' "num_updates": "100", "gnorm": "2.1"}\n',
        {"loss": [(100, 9.812)], "gnorm": [(100, 2.1)]},
    ),
    "fairseq simple": (
        "2026-01-02 03:05:05 | INFO | train_inner | epoch 001:    201 / 5000 loss=9.5, ppl=700.1, num_updates=200, gnorm=2.2\n"
        "2026-01-02 03:06:05 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.1 | ppl 274.4 | num_updates 200\n"
        "2026-01-02 03:06:06 | INFO | train | epoch 001 | loss 9.6 | ppl 800 | num_updates 200\n",
        {"loss": [(200, 9.5)], "val_loss": [(200, 8.1)], "train_loss": [(200, 9.6)]},
    ),
    "olmo": (
        "2026-01-02 03:04:05.678\trank0\tolmo.train:1018\tINFO\t[step=10/1000,epoch=0]\n"
        "    train/CrossEntropyLoss=9.812\n    throughput/total_tokens=4,194,304\n    System/Peak GPU Memory (MB)=38,000\n",
        {
            "train/CrossEntropyLoss": [(10, 9.812)],
            "throughput/total_tokens": [(10, 4194304.0)],
            "System/Peak GPU Memory (MB)": [(10, 38000.0)],
        },
    ),
    "composer": (
        "[epoch=1][batch=10/100]:\n\t Train time/batch: 9\n\t Train loss/train/total: 9.8123\n"
        "[Eval batch=10/10] Eval on eval data:\n\t Eval metrics/eval/LanguageCrossEntropy: 8.1\n",
        {"Train loss/train/total": [(10, 9.8123)], "Eval metrics/eval/LanguageCrossEntropy": [(10, 8.1)]},
    ),
    "nemo": (
        "[NeMo I 2026-01-02 03:04:05 nemo_logging:393] Training epoch 0, iteration 9/99 | lr: 0.0003 | global_batch_size: 64 |"
        " global_step: 9 | reduced_train_loss: 9.81 | train_step_timing in s: 0.51 | val_loss: 8.5\n",
        {"reduced_train_loss": [(9, 9.81)], "train_step_timing in s": [(9, 0.51)], "val_loss": [(9, 8.5)]},
    ),
    "deepspeed": (
        "[2026-01-02 03:04:05,960] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=2, lr=[1e-05], mom=[(0.9, 0.95)]\n",
        {"skipped": [(10, 2.0)], "lr": [(10, 1e-5)]},
    ),
    "maskrcnn": (
        "2026-01-02 10:21:38,024 maskrcnn_benchmark.trainer INFO: eta: 5:30:07  iter: 400  loss: 0.2376 (0.2817)"
        "  time: 0.3508 (0.3500)  lr: 0.017307  max mem: 3050\n",
        {"loss": [(400, 0.2376)], "time": [(400, 0.3508)], "lr": [(400, 0.017307)], "eta": []},
    ),
    "detectron2": (
        "[01/02 03:04:05 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 1.5  loss_cls: 0.9  lr: 1e-4  max_mem: 3000M\n",
        {"total_loss": [(19, 1.5)], "lr": [(19, 1e-4)]},
    ),
    "mmengine": (
        "2026/01/02 03:04:05 - mmengine - INFO - Epoch(train)  [2][50/1000]  lr: 1.0e-03  eta: 1:23:45  loss: 1.2\n"
        "2026/01/02 03:04:15 - mmengine - INFO - Epoch(val) [2][50/50]    accuracy/top1: 70.1  data_time: 0.1\n",
        {"loss": [(1050, 1.2)], "val_accuracy/top1": [(1050, 70.1)]},
    ),
    "timm": (
        "Train: 1 [  50/1251 (  4%)]  Loss: 6.90 (6.92)  Time: 1.2s,  841.00/s  LR: 1.000e-05\n"
        "Test: [   0/48]  Loss:   6.9 ( 6.9)  Acc@1:  0.1 ( 0.1)\nTest: [  48/48]  Loss:   6.8 ( 6.8)  Acc@1:  0.2 ( 0.2)\n",
        {"Loss": [(50, 6.9)], "LR": [(50, 1e-5)], "test_Loss": [(50, 6.8)], "test_Acc@1": [(50, 0.2)]},
    ),
    "xgboost": ("[0]\ttrain-rmse:0.5\teval-rmse:0.6\n", {"train-rmse": [(0, 0.5)], "eval-rmse": [(0, 0.6)]}),
    "verl": (
        "step:1 - actor/pg_loss:0.01 - actor/grad_norm:0.3 - critic/score/mean:0.1\n",
        {"actor/pg_loss": [(1, 0.01)], "actor/grad_norm": [(1, 0.3)]},
    ),
    "tensors": ("step 3 loss: tensor(0.5123, device='cuda:0', grad_fn=<NllLossBackward>)\n", {"loss": [(3, 0.5123)], "cuda": []}),
    "verl under ray, as numpy spells its numbers": (
        "\x1b[36m(TaskRunner pid=43)\x1b[0m step:7 - actor/pg_loss:np.float64(0.0125) - actor/lr:1e-6 - critic/score/mean:0.5\n",
        {"actor/pg_loss": [(7, 0.0125)], "actor/lr": [(7, 1e-6)], "critic/score/mean": [(7, 0.5)]},
    ),
    "openrlhf": (
        "(PPOTrainer pid=4321) 2026-01-02 03:04:05.6 | INFO | openrlhf.trainer.ppo_trainer:fit:310 - ✨ Global step 12: "
        "{'policy_loss': -0.01, 'actor_lr': 5e-07, 'reward': 0.5, 'response_clip_ratio': 0.1, 'timing/generation': 31.2}\n" * 3,
        {"policy_loss": [(12, -0.01)] * 3, "actor_lr": [(12, 5e-7)] * 3, "response_clip_ratio": [(12, 0.1)] * 3},
    ),
    "nemo-rl": (
        "========================= Step 10/100 =========================\n▶ Starting validation at step 10...\n\n"
        "📊 Validation Results:\n    • Accuracy: 0.4531\n    • Average response length: 812.1 tokens\n\n"
        "📊 Training Results:\n  • Loss: 0.0123\n  • Avg Reward: 0.3125\n  • Mean Generation Length: 312.1042\n\n"
        "⏱️  Timing:\n  • Total step time: 12.31s\n  • policy_training: 3.10s (25.2%)\n",
        {
            "val_Accuracy": [(10, 0.4531)],
            "Loss": [(10, 0.0123)],
            "Avg Reward": [(10, 0.3125)],
            "Mean Generation Length": [(10, 312.1042)],
            "Total step time": [(10, 12.31)],
        },
    ),
    "torchtune, preferences": (
        "Step 7 | loss:0.61 rewards/chosen:0.1 rewards/accuracies:0.75 log_probs/chosen:-120.5 lr:2e-05 \n",
        {"loss": [(7, 0.61)], "rewards/accuracies": [(7, 0.75)], "log_probs/chosen": [(7, -120.5)]},
    ),
    "per-rank copies of one line": (
        "[rank0]: step 1 loss 2.0\n[rank1]: step 1 loss 2.5\n",
        {"loss": [(1, 2.0), (1, 2.5)]},
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_the_format_gives_its_metrics_at_its_step(name: str, read: Any) -> None:
    log, expected = LINES[name]
    run = read(log)
    assert {metric: points(run, metric) for metric in expected} == expected


def test_epochs_that_restart_the_batch_counter_are_laid_end_to_end(read: Any) -> None:
    line = "Epoch: [{0}][{1}/100]\tLoss {0}.{1:02d} (9.99)\tAcc@1 1.0 (2.0)\n"
    run = read("".join(line.format(epoch, batch) for epoch in (0, 1) for batch in (0, 50)))
    assert points(run, "Loss") == [(0, 0.0), (50, 0.5), (100, 1.0), (150, 1.5)]


def test_a_batch_counter_without_a_total_learns_the_length_of_an_epoch(read: Any) -> None:
    lines = [f"Epoch {epoch}, Step {step}, avg loss so far is 0.{epoch}\n" for epoch in (0, 1, 2) for step in (25, 50)]
    run = read("".join(lines) + "Epoch 2, val loss is 0.0424, val mse is 0.0197.\n")
    assert [step for step, _ in points(run, "avg loss")] == [25, 50, 75, 100, 125, 150]
    assert points(run, "val mse") == [(150, 0.0197)]


def test_a_step_counter_that_goes_on_over_epochs_is_taken_as_it_is(read: Any) -> None:
    run = read("".join(f"epoch {step // 100} step {step}/1000 loss 1.0\n" for step in range(50, 400, 50)))
    assert [step for step, _ in points(run, "loss")] == list(range(50, 400, 50))


def test_lines_that_tell_an_epoch_alone_are_placed_on_the_epoch_axis(read: Any) -> None:
    run = read("Epoch 1/3 - Train Loss: 4.0, Val Loss: 3.2\nEpoch 2/3 - Train Loss: 3.0, Val Loss: 3.1\n")
    assert points(run, "Train Loss") == [(1, 4.0), (2, 3.0)]
    assert axis(run, "Val Loss") == "epoch"
    assert run.facts["run", "run.epochs"].value == 3


def test_lines_that_come_back_within_an_epoch_are_counted(read: Any) -> None:
    log = "Epoch 1 - Batch loss: 3.0\nEpoch 1 - Batch loss: 2.0\nEpoch 1 - Average Train Loss: 2.5\nEpoch 2 - Batch loss: 1.0\n"
    run = read(log)
    assert points(run, "Batch loss") == [(0, 3.0), (1, 2.0), (2, 1.0)]
    assert points(run, "Average Train Loss") == [(1, 2.5)]


def test_lines_without_any_step_count_only_when_their_shape_comes_again(read: Any) -> None:
    assert read("loss is 0.5 and kl is 0.1\n" * 2).points == 0
    run = read("".join(f"grpo_loss is 0.{i} and kl is 0.1\n" for i in range(1, 5)))
    assert points(run, "grpo_loss") == [(0, 0.1), (1, 0.2), (2, 0.3), (3, 0.4)]
    assert axis(run, "grpo_loss") == "index"


def test_an_evaluation_before_the_first_step_stands_at_the_first_step(read: Any) -> None:
    log = "validation loss: 10.95\n" + "".join(
        f"step {step} | loss: {9 - step / 100:.2f}\n" + ("" if step % 10 else f"validation loss: {8 - step / 100:.2f}\n")
        for step in range(20, 61)
    )
    assert points(read(log), "validation loss")[:3] == [(20, 10.95), (20, 7.8), (30, 7.7)]


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


def test_rows_under_a_header_of_columns_are_read(read: Any) -> None:
    log = "epoch     train_loss  valid_loss  accuracy  time\n0         0.5         0.4         0.8       00:10\n"
    run = read(log + "1         0.4         0.35        0.85      00:10\n")
    assert points(run, "valid_loss") == [(0, 0.4), (1, 0.35)]


def test_rows_under_measures_alone_are_counted_where_a_split_is_named(read: Any) -> None:
    run = read("Summary:\ntrain loss   val_loss   val_acc\n  1.20    0.90    0.50\n  0.80    0.85    0.60\nRemarks: fine\n")
    assert points(run, "val_loss") == [(0, 0.9), (1, 0.85)]
    assert read("loss   acc   score of\n  1.20    0.90    0.50\n  0.80    0.85    0.60\n").points == 0


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
def test_what_follows_a_loss_of_one_split_is_of_that_split(line: str, metric: str, value: float, read: Any) -> None:
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
    run = read("".join(f"Epoch {n}/4, Train Loss: 0.5\nValidating...\nLoss: 0.{n}, Accuracy: 80%\n" for n in range(1, 5)))
    assert [value for _, value in points(run, "val_Loss")] == [0.1, 0.2, 0.3, 0.4]


def test_keras_redraws_that_lost_what_parts_them_give_one_record_an_epoch(read: Any) -> None:
    drawn = "2/2 [====] - ETA: 0s - loss: 0.{0} - mae: 0.46"
    log = "".join(
        f"Epoch {n}/3\n1/2 [==>.] - ETA: 1s - loss: 0.95{drawn.format(n)}{drawn.format(n)} - val_loss: 0.{n}\n" for n in (1, 2, 3)
    )
    run = read(log)
    assert points(run, "loss") == points(run, "val_loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert points(run, "mae") == [(1, 0.46), (2, 0.46), (3, 0.46)]


def test_keras_redraws_give_one_record_an_epoch(read: Any) -> None:
    log = (
        "Epoch 1/2\n\r\x1b[1m1/6\x1b[0m \x1b[32m━━━\x1b[0m\x1b[37m━━━━\x1b[0m \x1b[1m0s\x1b[0m"
        " 19ms/step - accuracy: 0.3 - loss: 1.02"
        "\b\b\b\b\r\x1b[1m6/6\x1b[0m ━━━━━━━ 0s 16ms/step - accuracy: 0.5 - loss: 0.81 - val_loss: 1.07\nEpoch 2/2\n"
        " 32/96 [=====>........] - ETA: 1:02 - loss: 0.9\r96/96 - 0s - 12ms/step - accuracy: 0.6 - loss: 0.80 - val_loss: nan\n"
    )
    run = read(log)
    assert points(run, "loss") == [(1, 0.81), (2, 0.8)]
    assert math.isnan(points(run, "val_loss")[1][1])
    assert run.facts["run", "run.framework"].value == "keras"


def test_ultralytics_rows_take_the_last_redraw_and_the_line_for_all_classes(read: Any) -> None:
    log = (
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        "\r        1/3      2.61G      1.20      1.398         81        640:  50%|█████     | 1/2 [00:00<00:01,  1.2it/s]"
        "\r        1/3      2.61G      1.15      1.398         81        640: 100%|██████████| 2/2 [00:01<00:00,  1.2it/s]\n"
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|████|"
        " 4/4 [00:00<00:00, 10.0it/s]\n"
        "                   all        128        929      0.676      0.527      0.605      0.446\n"
    )
    run = read(log)
    assert points(run, "box_loss") == [(1, 1.15)]
    assert points(run, "metrics/mAP50") == [(1, 0.605)]


def test_a_number_of_steps_behind_other_numbers_is_no_place_in_the_run(read: Any) -> None:
    log = "".join(f"step {step} | loss: {9 - step / 10}\nSampling slow: 58.{step}s, steps=200\n" for step in range(1, 9))
    assert points(read(log), "loss")[-1] == (8, 8.2)
    assert all(step < 9 for step, _ in points(read(log), "steps"))


def test_arguments_and_prose_are_no_metrics(read: Any) -> None:
    log = (
        "  lr .............................................. 0.0003\n  num_layers ...................................... 24\n"
        "Namespace(lr=0.0005, epochs=3)\n+ python train.py --lr 1e-4 --loss-scale 128 --train-iters 500\n"
        "**Step 1: First Two Weeks**\nStep 2:\n* In step 3 she needs a score of 85 to pass with accuracy 4.\n"
        "The student scores 82, 91 and 76.\n{'lr': 0.001, 'batch_size': 32, 'loss': 'mse'}\n"
    )
    run = read(log)
    assert run.points == 0
    assert run.facts["config", "num_layers"].value == 24
    assert run.facts["config", "epochs"].value == 3
    assert run.facts["config", "train_iters"].value == 500


@pytest.mark.parametrize(
    "line", ["Skipping nan loss 3 times", "found nan loss in rank 3", "nan grad norm 5 skipped", "step 7 saw a nan loss"]
)
def test_a_nan_in_a_sentence_is_no_value(read: Any, line: str) -> None:
    run = read(f"step 6 loss 1.5\n{line}\n")
    assert all(math.isfinite(value) for series in run.series.values() for value in series.values)


def test_a_nan_between_two_names_without_signs_is_a_value(read: Any) -> None:
    run = read("step 6 loss 1.5 grad_norm 2.0 lr 1e-3\nstep 7 loss nan grad_norm inf lr 1e-3\n")
    assert [step for step, value in points(run, "loss") if math.isnan(value)] == [7]
    assert points(run, "grad_norm") == [(6, 2.0), (7, math.inf)]
    assert {key.metric for key in run.series} == {"loss", "grad_norm", "lr"}


def test_ultralytics_own_bar_is_read_as_the_one_of_tqdm(read: Any) -> None:
    log = (
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        "\r\x1b[K        1/3      2.61G      1.31      1.412         81        640: 0% ──────────── 0/2  0.4s"
        "\r\x1b[K        1/3      2.61G      1.20      1.398         81        640: 50% ━━━━━━────── 1/2 1.7s/it 1.0s<1.7s"
        "\r\x1b[K        1/3      2.61G      1.15      1.398         81        640: 100% ━━━━━━━━━━━━ 2/2 1.2it/s 1.6s\n"
        "\r\x1b[K                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100% ━━━━━━━━━━━━"
        " 4/4 10.0it/s 0.4s\n"
        "                   all        128        929      0.676      0.527      0.605      0.446\n"
    )
    run = read(log)
    assert points(run, "box_loss") == [(1, 1.15)]
    assert points(run, "metrics/mAP50") == [(1, 0.605)]
    assert not points(run, "it/s"), "the rate of a bar is no metric"


def test_the_accuracies_of_an_ultralytics_classifier_are_read(read: Any) -> None:
    log = (
        "      Epoch    GPU_mem       loss  Instances       Size\n"
        "\r\x1b[K        1/3      2.61G     0.7282          8        224: 100% ━━━━━━━━━━━━ 4/4 2.7it/s 1.5s\n"
        "\r\x1b[K               classes   top1_acc   top5_acc: 100% ━━━━━━━━━━━━ 1/1 4.8it/s 0.2s\n"
        "                   all      0.625          1\n"
    )
    run = read(log)
    assert points(run, "loss") == [(1, 0.7282)]
    assert points(run, "metrics/accuracy_top1") == [(1, 0.625)]


def test_rows_of_fastai_are_read_between_the_bars_that_it_draws_over_them(read: Any) -> None:
    bars = "".join(f"\rEpoch {{}}/3 : |{'█' * n}{'-' * (20 - n)}| {5 * n}.00% [{n}/20 00:00<00:01... 0.71]" for n in range(21))
    blank = "\rEpoch {}/3 : " + 60 * " " + "\r"
    log = "█\repoch     train_loss  valid_loss  accuracy  time    \n█\r"
    for epoch, row in enumerate(
        ("0.69    0.65    0.61      00:01", "0.55    0.56    0.72      00:01", "0.47    0.51    0.78  00:01")
    ):
        log += (bars + 2 * blank).replace("{}", str(epoch + 1)) + f"{epoch}         {row}     \n"
    run = read(log)
    assert points(run, "train_loss") == [(0, 0.69), (1, 0.55), (2, 0.47)]
    assert points(run, "accuracy") == [(0, 0.61), (1, 0.72), (2, 0.78)]
    assert axis(run, "valid_loss") == "epoch"
    assert run.facts["run", "run.framework"].value == "fastai"


BATCH = "\rtrain          Epoch   {epoch}:  {percent:3d}%|█████     | {n}/10 [00:00<00:00, 35.81ba/s, loss/train/total={loss}]"


def test_bars_of_composer_count_batches(read: Any) -> None:
    log = "".join(BATCH.format(epoch=k // 10, percent=k % 10 * 10 + 10, n=k % 10 + 1, loss=9 - k / 10) for k in range(20))
    run = read(log)
    assert points(run, "loss/train/total") == [(k + 1, 9 - k / 10) for k in range(20)]


def test_rows_in_a_file_of_composer_count_all_batches_and_the_bars_beside_them_are_passed_by(read: Any) -> None:
    log = "[hyperparameter]: num_nodes: 1 \n"
    for k in range(20):
        log += (
            f"[metric][batch={k}]: time/batch_in_epoch: {k % 10} \n[metric][batch={k}]: loss/train/total: {9 - k / 10:.4f} \n\n"
        )
        log += "[stderr]: " + BATCH.format(epoch=k // 10, percent=50, n=k % 10 + 1, loss=8.5) + "     \x1b[A\n"
    log += "[metric][batch=20]: metrics/eval/CrossEntropy: 7.2500 \n"
    run = read(log)
    assert points(run, "loss/train/total") == [(k, pytest.approx(9 - k / 10)) for k in range(20)]
    assert points(run, "metrics/eval/CrossEntropy") == [(20, 7.25)]
