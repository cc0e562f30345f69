"""Reports of trials, as Ray Tune prints them."""

from __future__ import annotations

import math
from typing import Any

from tests.readers.log.metrics import points

REPORT = """Result for {0}:
  agent_timesteps_total: {1}
  custom_metrics: {{}}
  date: 2026-01-02_15-41-01
  done: false
  episode_reward_mean: {2}
  hist_stats:
    episode_lengths:
    - 12
    - 13.5
  info:
    learner:
      default_policy:
        learner_stats:
          cur_lr: 5.0e-05
          entropy: 0.6657
          kl: .nan
        num_agent_steps_trained: 128.0
    num_steps_trained: 4000
  node_ip: 127.0.0.1
  timesteps_total: {1}
  training_iteration: 3
  trial_id: 120b5_00000

"""


def test_a_report_of_a_trial_tells_its_steps_and_all_its_numbers(read: Any) -> None:
    run = read(
        REPORT.format("PPO_env_1_00000", 4000, 22.5)
        + REPORT.format("PPO_env_1_00000", 8000, 30.25)
        + "== Status ==\n"
    )
    assert points(run, "episode_reward_mean") == [(4000, 22.5), (8000, 30.25)]
    assert points(run, "info/learner/default_policy/learner_stats/entropy") == [
        (4000, 0.6657),
        (8000, 0.6657),
    ]
    assert math.isnan(points(run, "info/learner/default_policy/learner_stats/kl")[0][1])
    assert not any(key.metric.startswith("hist_stats") for key in run.series)


def test_reports_of_other_trials_are_passed_by(read: Any) -> None:
    run = read(
        REPORT.format("trial_a", 4000, 22.5)
        + REPORT.format("trial_b", 4000, 1.5)
        + REPORT.format("trial_a", 8000, 30.5)
    )
    assert points(run, "episode_reward_mean") == [(4000, 22.5), (8000, 30.5)]


def test_a_report_that_was_cut_off_before_its_place_gives_nothing(read: Any) -> None:
    cut = REPORT.format("trial_a", 4000, 22.5).split("  timesteps_total")[0]
    assert read(cut).points == 0
    assert read("Result for the whole day:\n  loss: 0.5\n").points == 0


def test_a_report_is_whole_however_it_is_cut(read: Any) -> None:
    text = REPORT.format("trial_a", 4000, 22.5) * 2
    assert all(
        points(read(text, [cut]), "episode_reward_mean") == [(4000, 22.5)] * 2
        for cut in range(1, len(text), 11)
    )


BARE = """agent_timesteps_total: {0}000
custom_metrics: {{}}
date: 2026-01-02_15-41-01
done: false
episode_reward_mean: -1{0}.5
info:
  learner:
    default_policy:
      custom_metrics: {{}}
      learner_stats:
        entropy: 0.6{0}
        vf_explained_var: 5.8e-0{0}
timesteps_total: {0}000
training_iteration: {0}

"""


def test_a_report_without_a_heading_is_read_with_its_steps(read: Any) -> None:
    run = read("".join(map(BARE.format, (1, 2, 3))))
    assert points(run, "episode_reward_mean") == [(1000, -11.5), (2000, -12.5), (3000, -13.5)]
    explained = points(run, "info/learner/default_policy/learner_stats/vf_explained_var")
    assert explained == [(1000, 5.8e-1), (2000, 5.8e-2), (3000, 5.8e-3)]


def test_the_report_of_another_trial_is_no_report_without_a_heading(read: Any) -> None:
    run = read(REPORT.format("PPO_a", 100, 1.5) + REPORT.format("PPO_b", 200, 2.5))
    assert points(run, "episode_reward_mean") == [(100, 1.5)]
