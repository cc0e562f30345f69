"""What each format's log becomes: short invented logs in the shape that the tool prints."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.readers.log.metrics import points

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
        {
            "lm_loss": [(7281, 2.38)],
            "consumed_tokens": [(7281, 85.8e9)],
            "elapsed_time_per_iteration_ms": [(7281, 11500.0)],
        },
    ),
    "nanogpt": (
        "iter 10: loss 4.1234, time 120.34ms, mfu 12.34%\nstep 250: train loss 3.1234, val loss 3.2345\n",
        {
            "loss": [(10, 4.1234)],
            "time": [(10, 120.34)],
            "train loss": [(250, 3.1234)],
            "val loss": [(250, 3.2345)],
        },
    ),
    "a mapping of mappings": (
        "{'step': 3, 'train': {'loss': 2.5, 'grads': {'norm': 0.25}}, 'val': {'loss': inf}, 'lr': 0.001}\n",
        {
            "train/loss": [(3, 2.5)],
            "train/grads/norm": [(3, 0.25)],
            "val/loss": [(3, math.inf)],
            "lr": [(3, 0.001)],
        },
    ),
    "scores of three splits beside one loss": (
        "Epoch: 007, Loss: 1.2345, Train: 0.5000, Val: 0.4000, Test: 0.4100\n",
        {
            "Loss": [(7, 1.2345)],
            "Train_score": [(7, 0.5)],
            "Val_score": [(7, 0.4)],
            "Test_score": [(7, 0.41)],
        },
    ),
    "tacotron": (
        "Train loss 480 0.612345 Grad Norm 0.812345 0.51s/it\n",
        {"Train loss": [(480, 0.612345)], "Grad Norm": [(480, 0.812345)]},
    ),
    "hrm": (
        "eval step 160 | all.accuracy 0.5364 | all.exact_accuracy 0.0100 | all.lm_loss 0.9695\n",
        {
            "all.accuracy": [(160, 0.5364)],
            "all.exact_accuracy": [(160, 0.01)],
            "all.lm_loss": [(160, 0.9695)],
        },
    ),
    "olmo-core": (
        "[step=7/100,epoch=1,eta=1h 2m]\n    optim/LR (group 0)=3e-4\n    throughput/device/TPS=11,234\n    train/CE loss=2.5\n",
        {
            "optim/LR_group0": [(7, 3e-4)],
            "throughput/device/TPS": [(7, 11234.0)],
            "train/CE loss": [(7, 2.5)],
        },
    ),
    "a mapping behind its step": (
        "2026-01-02 03:04:05 | INFO | Global step 12: {'policy_loss': -0.01, 'kl': 0.002, 'reward': 0.5}\n"
        * 3,
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
        {
            "LOSS NER": [(0, 45.63), (200, 1513.12), (400, 871.2)],
            "SCORE": [(0, 0.04), (200, 0.55), (400, 0.6)],
        },
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
    "catboost, a score of the test data alone": (
        "0:\ttest: 0.9512000\tbest: 0.9512000 (0)\ttotal: 41ms\tremaining: 1.2s\n",
        {"val_score": [(0, 0.9512)], "val_loss": []},
    ),
    "gradient boosting of scikit-learn": (
        "      Iter       Train Loss   Remaining Time \n"
        "         1           1.1903            0.07s\n         2           1.0322            1.02m\n",
        {"Train Loss": [(1, 1.1903), (2, 1.0322)]},
    ),
    "the name of the run between stars": (
        "*mar03-2*  2021-03-01 10:00:02 Steps 20, Total time 0.5. Loss 2.5e+01 lr 1.0e-04\n",
        {"Loss": [(20, 25.0)], "lr": [(20, 1e-4)]},
    ),
    "recalls of a retrieval behind an epoch": (
        "Train Epoch: 1 [40/40 (100%)] Loss: 15.5\nR@1 : 41.5\nR@10 : 66.25\n",
        {"R@1": [(40, 41.5)], "R@10": [(40, 66.25)]},
    ),
    "a share of the run, a worker and what its episode came to": (
        "2.5% |W1 |Ep_r: -7.5\n2.5% |W1 |Ep_r: -7.0\n2.6% |W1 |Ep_r: -6.5\n",
        {"Ep_r": [(0, -7.5), (1, -7.0), (2, -6.5)]},
    ),
    "a history that pandas printed, its index without a name": (
        "done\n,loss,acc,val_loss,val_acc\n0,0.9,0.5,0.8,0.55\n1,0.7,0.6,0.75,0.58\n",
        {"loss": [(0, 0.9), (1, 0.7)], "val_acc": [(0, 0.55), (1, 0.58)]},
    ),
    "columns with a clock and a mark behind the last": (
        "Epoch |  Train Loss |    Val Loss |         LR\n----------------------\n"
        "    1 |      0.2500 |      0.3100 |   1.00e-05 | 61.4s | ETA 30.5m *\n",
        {"Train Loss": [(1, 0.25)], "Val Loss": [(1, 0.31)], "LR": [(1, 1e-5)]},
    ),
    "DARTS at a loss of few hundredths": (
        "05/06 07:08:09 AM train 050 2.500000e-02 99.125000 99.750000\n",
        {"loss": [(50, 0.025)], "top1": [(50, 99.125)]},
    ),
    "Chinese with the word for what is current": (
        "当前Batch：10/60 | 当前epoch:0/5 | 当前损失值：9.5 | 当前准确率：12.50%\n",
        {"loss": [(10, 9.5)], "accuracy": [(10, 12.5)]},
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
        {
            "loss": [(1, 11.009)],
            "norm": [(1, 15.3)],
            "lr": [(1, 8.57e-7)],
            "tok/s": [(1, 171500.0)],
            "bf16 MFU": [(1, 56.1)],
        },
    ),
    "torchtitan": (
        "\x1b[31m[rank0]:\x1b[0m[titan] 2026-01-02 03:04:05,678 - root - INFO - \x1b[36mstep: 10  \x1b[32mloss:  8.12345"
        "  grad_norm:  1.2345  memory: 45.12GiB(47.50%)  tps: 5,432  mfu: N/A\x1b[39m\n"
        "[rank0]:[titan] 2026-01-02 03:04:06,678 - root - INFO - validate step: 10  loss:  7.1234\n",
        {
            "loss": [(10, 8.12345)],
            "tps": [(10, 5432.0)],
            "memory": [(10, 45.12)],
            "val_loss": [(10, 7.1234)],
            "mfu": [],
        },
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
    "the ImageNet example, whose evaluation is the mean of its batches": (
        "Epoch: [0][ 50/100]\tTime  1.2 (1.3)\tLoss 2.10 (2.20)\tAcc@1 20.0 (15.0)\n"
        "Test: [0/2]\tLoss 1.50 (1.50)\tAcc@1 30.0 ( 30.0)\nTest: [1/2]\tLoss 1.9e+0 (1.70e+0)\tAcc@1 44.0 ( 37.0)\n",
        {"Loss": [(50, 2.1)], "Acc@1": [(50, 20.0)], "test_Loss": [(50, 1.7)], "test_Acc@1": [(50, 37.0)]},
    ),
    "results of Lightning, framed by rich": (
        "epoch 3 loss 0.5\n│       test_Accuracy       │    0.9524999856948853     │\n"
        "│         test_loss         │    1.7757247686386108     │\n│ batch_size │ 32 │\n",
        {
            "loss": [(3, 0.5)],
            "test_Accuracy": [(3, 0.9524999856948853)],
            "test_loss": [(3, 1.7757247686386108)],
        },
    ),
    "xgboost": ("[0]\ttrain-rmse:0.5\teval-rmse:0.6\n", {"train-rmse": [(0, 0.5)], "eval-rmse": [(0, 0.6)]}),
    "verl": (
        "step:1 - actor/pg_loss:0.01 - actor/grad_norm:0.3 - critic/score/mean:0.1\n",
        {"actor/pg_loss": [(1, 0.01)], "actor/grad_norm": [(1, 0.3)]},
    ),
    "tensors": (
        "step 3 loss: tensor(0.5123, device='cuda:0', grad_fn=<NllLossBackward>)\n",
        {"loss": [(3, 0.5123)], "cuda": []},
    ),
    "verl under ray, as numpy spells its numbers": (
        "\x1b[36m(TaskRunner pid=43)\x1b[0m step:7 - actor/pg_loss:np.float64(0.0125) - actor/lr:1e-6 - critic/score/mean:0.5\n",
        {"actor/pg_loss": [(7, 0.0125)], "actor/lr": [(7, 1e-6)], "critic/score/mean": [(7, 0.5)]},
    ),
    "openrlhf": (
        "(PPOTrainer pid=4321) 2026-01-02 03:04:05.6 | INFO | openrlhf.trainer.ppo_trainer:fit:310 - ✨ Global step 12: "
        "{'policy_loss': -0.01, 'actor_lr': 5e-07, 'reward': 0.5, 'response_clip_ratio': 0.1, 'timing/generation': 31.2}\n"
        * 3,
        {
            "policy_loss": [(12, -0.01)] * 3,
            "actor_lr": [(12, 5e-7)] * 3,
            "response_clip_ratio": [(12, 0.1)] * 3,
        },
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
    "a value whose name stands before its step": (
        "Minibatch loss at step 50: 2.3\nScore at iteration 60 is 1.25\nAverage loss at step  70 :  1.5\n",
        {"Minibatch loss": [(50, 2.3)], "Score": [(60, 1.25)], "Average loss": [(70, 1.5)]},
    ),
    "a step between the loss of a split and its value": (
        "Validation loss 6312:  0.25\nAcc 5: 0.9\nValidation loss 6838:  0.125\n",
        {"Validation loss": [(6312, 0.25), (6838, 0.125)]},
    ),
    "darknet": (
        "Region 82 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.004668, .5R: -nan, .75R: -nan,  count: 0\n"
        "1012: 12.5, 11.25 avg, 0.001000 rate, 1.9 seconds, 6072 images\nLoaded: 0.000021 seconds\n"
        " 1013: 9.5, inf avg loss, 0.001000 rate, 2.0 seconds, 6078 images, 3.2 hours left\n",
        {
            "avg_loss": [(1012, 11.25), (1013, math.inf)],
            "lr": [(1012, 0.001), (1013, 0.001)],
            "step_time": [(1012, 1.9), (1013, 2.0)],
        },
    ),
    "marian": (
        "[2026-01-02 03:04:05] Ep. 1 : Up. 1000 : Sen. 64,000 : Cost 5.75 * 1,000 : Time 12.1s : 8000.0 words/s\n",
        {"Cost": [(1000, 5.75)]},
    ),
    "OpenNMT before it counted steps": (
        "Epoch  2,   650/  725; acc:  40.25; ppl:  11.10; xent:   2.40; 5453 src tok/s; 5916 tgt tok/s;     65 s elapsed\n",
        {"acc": [(1375, 40.25)], "xent": [(1375, 2.4)]},
    ),
    "a counter that names its total": (
        "Epoch 1, step/total_step: 5/60 8.33% Loss:5.5\nEpoch 2, step/total_step: 5/60 8.33% Loss:4.5\n",
        {"Loss": [(5, 5.5), (65, 4.5)]},
    ),
    "quoted lines": (
        "> step 1 loss 2.0\n> > step 2 loss 1.5\n",
        {"loss": [(1, 2.0), (2, 1.5)]},
    ),
    "transformers' table at the end": (
        "{'loss': 1.5, 'learning_rate': 0.0001, 'epoch': 1.0}\n***** train metrics *****\n  epoch                  =        3.0\n"
        "  train_loss              =     0.7228\n***** eval metrics *****\n  epoch                   =        3.0\n"
        "  eval_accuracy           =     0.8125\n  eval_loss               =       0.5\n  eval_runtime            = 0:00:12.34\n",
        {"loss": [(0, 1.5)], "eval_accuracy": [(0, 0.8125)], "eval_loss": [(0, 0.5)]},
    ),
    "W&B's last values": (
        "wandb: Run history:\nwandb:               eval/loss \u2588\u2581\u2582\nwandb: Run summary:\n"
        "wandb:               eval/loss 0.625\nwandb:              train/loss inf\nwandb: \nwandb: Synced 5 W&B file(s)\n",
        {"eval/loss": [(0, 0.625)], "train/loss": [(0, math.inf)], "Synced": []},
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


def test_fits_of_a_search_give_scores_and_no_settings(read: Any) -> None:
    line = "[CV {0}/3] END .......C=0.{0}, kernel=rbf;, score=0.9{0} total time=   0.0s\n"
    run = read("".join(line.format(n) for n in (1, 2, 3)))
    assert {key.metric for key in run.series} == {"validation score"}
    assert [value for _, value in points(run, "validation score")] == [0.91, 0.92, 0.93]
    assert run.facts["run", "run.searched"].value is True


def test_fits_may_show_several_scores_of_two_sides(read: Any) -> None:
    scores = " accuracy: (train=0.9{0}, test=0.8{0}) neg_log_loss: (train=-0.1{0}, test=-0.2{0})"
    line = f"[CV {{0}}/3; 1/9] END depth={{0}};,{scores} total time=   1.0s\n"
    run = read("".join(line.format(n) for n in (1, 2, 3)))
    assert {key.metric for key in run.series} == {
        "validation accuracy",
        "train accuracy",
        "validation log_loss",
        "train log_loss",
    }
    assert [value for _, value in points(run, "validation log_loss")] == [0.21, 0.22, 0.23]
    assert [value for _, value in points(run, "train accuracy")] == [0.91, 0.92, 0.93]
