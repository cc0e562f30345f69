"""`hrmdoc run --act`: a command is run, its config patched, run again, and what did not help taken back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hrmdoc.live.taken import TakenAction
from hrmdoc.settings import Policy, Settings
from hrmdoc.supervision.heal import configs_in, heal

SETTINGS = Settings(
    policy=Policy(auto=("safe", "guarded"), min_probability=0.01, cooldown_s=0.0, max_per_run=2)
)
CONFIG = (
    "# mine\nlearning_rate: 2e-5\nper_device_train_batch_size: 64  # "
    "hopeful\ngradient_accumulation_steps: 1\n"
)
PROGRAM = """
import re, sys
size = int(re.search(r"batch_size: (\\d+)", open(sys.argv[1]).read()).group(1))
for i in range(1, 20):
    print({{"loss": 2 / (1 + i / 20), "grad_norm": 1.0, "learning_rate": 2e-5, "epoch": i / 30}}, flush=True)
if size > {room}:
    sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
             "total capacity of 23.65 GiB of which 1.50 GiB is free. Of the allocated memory 21.00 GiB is "
             "allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.")
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path / "config.yaml"


def healed(config: Path, program: str) -> list[TakenAction]:
    actions: list[TakenAction] = []
    command = [sys.executable, "-c", program, str(config)]
    heal(command, config.with_name("run.log"), configs_in(command), SETTINGS, show_action=actions.append)
    return actions


def test_config_files_are_found_among_the_words_of_a_command(config: Path) -> None:
    assert configs_in(["train", "x", "nowhere.yaml", str(config), f"--config={config}", "lr=1"]) == [
        config,
        config,
    ]
    assert configs_in([str(config)]) == [], "the program itself is no config"


def test_a_healthy_command_runs_once(config: Path) -> None:
    assert healed(config, PROGRAM.format(room=64)) == []
    assert config.read_text() == CONFIG
    assert not config.with_name("run-2.log").exists()


def test_what_helps_stays(config: Path) -> None:
    actions = healed(config, PROGRAM.format(room=32))
    assert [action.status for action in actions] == ["written", "helped"]
    assert "batch_size: 64" not in config.read_text()
    assert "# hopeful" in config.read_text()
    assert config.with_name("run-2.log").exists()


def test_what_does_not_help_is_taken_back_and_the_next_one_tried(config: Path) -> None:
    actions = healed(config, PROGRAM.format(room=0))
    assert [action.status for action in actions[:4]] == ["written", "ineffective", "written", "ineffective"]
    assert actions[0].remedy == actions[1].remedy != actions[2].remedy
    assert config.read_text() == CONFIG
    assert config.with_name("run-3.log").exists()


def test_a_command_that_fails_in_another_way_after_the_patch_was_not_helped(config: Path) -> None:
    other = "\nif size <= 32:\n    sys.exit('the cluster went away')\n"
    actions = healed(config, PROGRAM.format(room=32) + other)
    assert actions[1].status == "ineffective"
    assert config.read_text() == CONFIG


def test_between_two_restarts_the_config_is_patched_as_the_policy_allows(config: Path) -> None:
    from hrmdoc.supervision.heal import Patcher
    from hrmdoc.supervision.plan import Plan
    from hrmdoc.supervision.restart import Supervisor
    from hrmdoc.supervision.state import load

    actions: list[TakenAction] = []
    log = config.with_name("run.log")
    command = [sys.executable, "-c", PROGRAM.format(room=32), str(config)]
    patcher = Patcher(log, configs_in(command), SETTINGS, actions.append)
    plan = Plan(restarts=3, backoff=0.01)
    assert Supervisor(command, log, plan, SETTINGS, patching=patcher).run().status == 0
    state = load(log)
    assert state is not None
    assert [one.call for one in state.attempts] == ["FIX FIRST", "OK"]
    assert [action.status for action in actions] == ["written", "helped"]
    assert "batch_size: 64" not in config.read_text()


def test_what_the_policy_does_not_allow_ends_the_restarts_and_is_recorded(config: Path) -> None:
    from hrmdoc.paths import supervised_folder
    from hrmdoc.supervision.heal import Patcher
    from hrmdoc.supervision.plan import Plan
    from hrmdoc.supervision.restart import Supervisor

    log = config.with_name("run.log")
    command = [sys.executable, "-c", PROGRAM.format(room=32), str(config)]
    patcher = Patcher(log, configs_in(command), Settings(), lambda _: None)
    assert (
        Supervisor(command, log, Plan(restarts=3, backoff=0.01), Settings(), patching=patcher).run().status
        == 1
    )
    told = (supervised_folder(log) / "actions.jsonl").read_text()
    assert '"withheld"' in told
    assert config.read_text() == CONFIG


DIVERGES = """
import re, sys
text = open(sys.argv[1]).read()
rate = float(re.search(r"lr: (\\S+)", text).group(1))
if unknown := set(re.findall(r"(?m)^(\\w+):", text)) - {{"lr", "bs"}}:
    sys.exit(f"unknown key {{unknown}}")
given = [float(word) for flag, word in zip(sys.argv, sys.argv[1:]) if flag == "--lr"]
rate = given[-1] if given else rate
{meanwhile}
for i in range(1, 151):
    bad = rate > 0.03 and i > 2
    loss, norm = ("nan", "nan") if bad else (1.9 / (1 + i / 30), 1.4)
    now = rate * min(1, i / 5)
    print(f"step {{i * 10}}/1500 | loss {{loss}} | grad_norm {{norm}} | lr {{now:.2e}}", flush=True)
"""


def _diverging(
    config: Path, policy: Policy, *words: str, meanwhile: str = "", rate: str = "0.1"
) -> tuple[list[TakenAction], str]:
    """What is done about a loss that is no number at a high rate, and the config afterwards."""
    config.write_text(f"lr: {rate}\nbs: 3\n")
    actions: list[TakenAction] = []
    command = [sys.executable, "-c", DIVERGES.format(meanwhile=meanwhile), str(config), *words]
    log = config.with_name("run.log")
    heal(command, log, [config], Settings(policy=policy), show_action=actions.append)
    return actions, config.read_text()


def test_no_key_that_the_program_may_not_know_is_written_where_the_policy_bars_the_first_remedy(
    config: Path,
) -> None:
    """As the README shows the policy: only what is safe."""
    actions, text = _diverging(config, Policy(auto=("safe",), min_probability=0.01, cooldown_s=0.0))
    assert [one.status for one in actions] == ["withheld"]
    assert text == "lr: 0.1\nbs: 3\n"
    assert not config.with_name("run-2.log").exists()


def test_a_rate_that_the_command_itself_gives_is_not_changed_in_the_config(config: Path) -> None:
    for rate in ("0.001", "0.1"):
        actions, text = _diverging(config, SETTINGS.policy, "--lr", "0.1", rate=rate)
        assert [one.status for one in actions] == ["withheld"]
        assert text == f"lr: {rate}\nbs: 3\n"


def test_a_config_that_another_actor_changed_meanwhile_is_not_changed_again(config: Path) -> None:
    other = "open(sys.argv[1], 'w').write('lr: 0.02\\nbs: 3\\n')"
    actions, text = _diverging(config, SETTINGS.policy, meanwhile=other)
    assert [one.status for one in actions] == ["withheld"]
    assert text == "lr: 0.02\nbs: 3\n"


def test_the_rate_is_lowered_where_nothing_stands_against_it(config: Path) -> None:
    actions, text = _diverging(config, SETTINGS.policy)
    assert [one.status for one in actions] == ["written", "helped"]
    assert float(text.splitlines()[0].removeprefix("lr: ")) <= 0.02


def test_a_remedy_that_waits_for_a_yes_is_asked_for_though_it_could_not_be_applied_yet(config: Path) -> None:
    policy = Policy(auto=("safe",), ask=("reduce-learning-rate",), min_probability=0.01)
    actions, text = _diverging(config, policy)
    assert [one.status for one in actions] == ["asked"]
    assert text == "lr: 0.1\nbs: 3\n"


def test_a_script_that_the_user_names_is_patched_as_a_config_is(config: Path) -> None:
    config.write_text("lr: 0.1\nbs: 3\n")
    (config.parent / "train.py").write_text(DIVERGES.format(meanwhile=""))
    script = config.with_name("run.sh")
    script.write_text(f"{sys.executable} train.py config.yaml --lr 1e-1\n")
    actions: list[TakenAction] = []
    log = config.with_name("run.log")
    heal(["sh", "run.sh"], log, [script], SETTINGS, show_action=actions.append)
    assert [one.status for one in actions] == ["written", "helped"]
    assert "--lr 1e-1" not in script.read_text()
