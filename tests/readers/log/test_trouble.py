"""Lines worth keeping, and the moments of a run."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_traceback_gives_its_frames_its_exception_and_an_event_with_the_last_step(read: Any) -> None:
    log = (
        'step 7 loss 2.0\nTraceback (most recent call last):\n  File "train.py", line 5, in <module>\n    main()\n'
        '  File "model.py", line 9, in forward\n    raise ValueError("x")\nValueError: bad shape\nafter\n'
    )
    run = read(log)
    assert [line.text.strip() for line in run.lines] == [
        'File "train.py", line 5, in <module>',
        'File "model.py", line 9, in forward',
        "ValueError: bad shape",
    ]
    [event] = run.events
    assert (event.kind, event.step, event.line, event.detail) == ("exception", 7, 7, "ValueError: bad shape")


def test_tracebacks_of_several_ranks_are_kept_apart(read: Any) -> None:
    log = (
        "[rank1]: Traceback (most recent call last):\n"
        '[rank0]: Traceback (most recent call last):\n[rank1]:   File "a.py", line 1, in f\n'
        '[rank0]:   File "b.py", line 2, in g\n[rank1]: RuntimeError: one\n[rank0]: torch.OutOfMemoryError: CUDA out of memory.\n'
    )
    run = read(log)
    assert [(event.rank, event.detail) for event in run.events] == [
        (1, "RuntimeError: one"),
        (0, "torch.OutOfMemoryError: CUDA out of memory."),
    ]


def test_an_exception_without_its_traceback_is_noticed(read: Any) -> None:
    [event] = read("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n").events
    assert event.kind == "exception"


@pytest.mark.parametrize(
    "text", ["An error occurred: none", "errors: 0", "UserWarning: Error detected", "the Error rate: 0.5"]
)
def test_words_about_errors_are_no_exceptions(text: str, read: Any) -> None:
    assert read(text + "\n").events == []


def test_lines_that_hold_a_wanted_literal_are_kept_whole_and_without_prefix(read: Any) -> None:
    def wanted(block: bytes) -> list[int]:
        return [at for at in range(len(block)) if block.startswith(b"oom-kill", at)]

    log = (
        "all well\n[rank3]: 2026-01-02 03:04:05,678 - root - INFO - \x1b[31moom-kill\x1b[0m event "
        + "x" * 5000
        + "\n"
    )
    run = read(log, wanted=wanted)
    [line] = run.lines
    assert line.text.startswith("oom-kill event xxx")
    assert (len(line.text), line.rank, line.line, line.time) == (2000, 3, 2, 1767323045.678)


def test_a_failure_summary_of_the_launcher_is_kept(read: Any) -> None:
    rule, thin = "=" * 60, "-" * 60
    log = (
        f"{rule}\ntrain.py FAILED\n{thin}\nFailures:\n[1]:\n  exitcode  : -9 (pid: 5)\n{rule}\nnothing more\n"
    )
    assert [line.text.strip() for line in read(log).lines] == [
        "train.py FAILED",
        "Failures:",
        "[1]:",
        "exitcode  : -9 (pid: 5)",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "step"),
    [
        ("Resuming from checkpoint /x/checkpoint-500", "resume", 500),
        ("Loading checkpoint from: runs/final/checkpoint-500", "resume", 500),
        ("Continuing training from global step 42", "resume", 42),
        ("Saving model checkpoint to out/checkpoint-1000", "checkpoint", 1000),
        ("Epoch 3: val_loss improved from 1.07 to 1.06, saving model to best.keras", "checkpoint", None),
        ("***** Running training *****", "start", None),
        ("`Trainer.fit` stopped: `max_epochs=2` reached.", "end", None),
        ("Training completed. Do not forget to share your model", "end", None),
        ("[default0]:Restarting worker group", "restart", None),
    ],
)
def test_a_moment_is_an_event(text: str, kind: str, step: int | None, read: Any) -> None:
    assert [(event.kind, event.step) for event in read(text + "\n").events] == [(kind, step)]


@pytest.mark.parametrize(
    "text",
    [
        "LoRA checkpoint None not found; training from base model.",
        "Will not resume from a checkpoint",
        "Early stopping counter: 3 of 10",
        "Saving is fun",
        "Loading checkpoint from: runs/a/final_model.pt",
        "Loaded checkpoint from 'runs/a/model_best.pth.tar'",
        "starting training step 5",
    ],
)
def test_near_misses_are_no_events(text: str, read: Any) -> None:
    assert read(text + "\n").events == []


def test_an_overflow_gives_the_new_loss_scale_and_a_skipped_step(read: Any) -> None:
    line = "[2026-01-02 03:04:05,030] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
    log = line + "Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1\n" + line
    run = read(log + "Attempted loss scale: 65536, reducing to 32768\n")
    found = {key.metric: series.values.tolist() for key, series in run.series.items()}
    assert found == {"loss_scale": [65536.0, 32768.0], "skipped_step": [1.0, 1.0]}
    assert run.facts["run", "run.framework"].value == "deepspeed"


@pytest.mark.parametrize(
    ("line", "scale"),
    [
        ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 256.0", 256.0),
        ("| WARNING: overflow detected, setting loss scale to: 0.0625", 0.0625),
        ("2026-01-02 03:04:05,197 [WARNING] overflow, still update, loss scale adjust to 1024.0", 1024.0),
    ],
)
def test_other_trainers_tell_of_an_overflow_in_their_words(line: str, scale: float, read: Any) -> None:
    found = {key.metric: series.values.tolist() for key, series in read(line + "\n").series.items()}
    assert found == {"loss_scale": [scale], "skipped_step": [1.0]}


@pytest.mark.parametrize(
    "line", ["stack overflow at loss 3", "to avoid overflow the loss scale starts low", "overflow: false"]
)
def test_an_overflow_that_is_only_spoken_of_is_none(line: str, read: Any) -> None:
    assert "skipped_step" not in {key.metric for key in read(line + "\n").series}


def test_a_traceback_that_python_ignored_is_kept_but_ended_nothing(read: Any) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in __del__\nAttributeError: no stdout\n'
    )
    run = read("Exception ignored in: <function Logger.__del__ at 0x7f>\n" + trace)
    assert not [event for event in run.events if event.kind == "exception"]
    run = read("Exception ignored in: <function Logger.__del__ at 0x7f>\n" + trace + trace)
    assert len([event for event in run.events if event.kind == "exception"]) == 1, (
        "the next one was not ignored"
    )


FOLDED = [
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.76 GiB total",
    "capacity; 9.21 GiB already allocated; 1.04 GiB free; 9.50 GiB reserved in total by",
    "PyTorch)",
]


@pytest.mark.parametrize(
    "below", ["step 8 loss 1.0", "2026-01-02 03:04:05 done", "ValueError: other", '  File "a.py", line 1', ""]
)
def test_a_line_that_begins_something_else_is_no_part_of_a_message(below: str, read: Any) -> None:
    assert not any(
        " PyTorch " in line.text or FOLDED[0] + " " in line.text
        for line in read(f"{FOLDED[0]}\n{below}\n").lines
    )


def test_a_short_message_has_no_second_part(read: Any) -> None:
    assert [line.text for line in read("ValueError: bad shape\nand more of this\n").lines] == [
        "ValueError: bad shape"
    ]


def test_lines_below_the_last_part_of_a_message_are_not_joined_to_it(read: Any) -> None:
    assert read("\n".join([*FOLDED, "srun: task 0: exited"])).lines[-1].text == " ".join(FOLDED)


@pytest.mark.parametrize("prefix", ["", "[rank3]: "])
def test_a_message_folded_between_words_is_kept_in_one_line_too(prefix: str, read: Any) -> None:
    run = read(
        "".join(
            f"{prefix}{part}\n"
            for part in ["Traceback (most recent call last):", '  File "a.py", line 1, in f', *FOLDED]
        )
    )
    assert [line.text for line in run.lines if line.text.startswith("Runtime")] == [
        FOLDED[0],
        " ".join(FOLDED),
    ]
    assert {line.line for line in run.lines if line.text.startswith("Runtime")} == {3}
    assert len(run.events) == 1


def test_a_message_folded_at_a_column_is_kept_whole(read: Any) -> None:
    text = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0!"
    run = read(f"{text[:80]}\n{text[80:]}\n")
    assert text in [line.text for line in run.lines]


def test_a_space_where_a_message_was_folded_stands_once(read: Any) -> None:
    assert read(f"{FOLDED[0]} \n{FOLDED[1]}  \n{FOLDED[2]}\n").lines[-1].text == " ".join(FOLDED)


def test_the_end_of_the_file_ends_a_folded_message(read: Any) -> None:
    assert read("\n".join(FOLDED[:2])).lines[-1].text == " ".join(FOLDED[:2])


@pytest.mark.parametrize("between", ["", "\n"])
def test_a_message_that_begins_below_its_exception_is_kept_in_one_line_too(between: str, read: Any) -> None:
    below = "    The config has no section of that name, which this model needs"
    run = read(
        f'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: \n{between}{below}\nstep 3\n'
    )
    assert run.lines[-1].text == f"RuntimeError: {below.strip()}"
    assert run.lines[-1].line == 3


@pytest.mark.parametrize(
    "below", ["Traceback (most recent call last):", "{'loss': 1.0}", "KeyError: 'a'", ""]
)
def test_an_exception_without_a_message_takes_none_from_another_thing(below: str, read: Any) -> None:
    assert [
        line.text
        for line in read(f"AssertionError:\n{below}\n\nlast\n").lines
        if " " in line.text and "Assertion" in line.text
    ] == []


def test_blanks_that_filled_a_terminal_do_not_push_a_message_out_of_its_line(read: Any) -> None:
    run = read(
        f'Traceback (most recent call last):\n  File "a.py", line 1, in f\nOSError: first{" " * 3000}second\n'
    )
    assert run.lines[-1].text == "OSError: first  second"


def test_one_resume_told_in_two_lines_is_one_event(read: Any) -> None:
    words = [
        "Restoring states from the checkpoint path at a.ckpt",
        "Restored all states from the checkpoint at a.ckpt",
    ]
    steps = [f"step {step} loss {2 - step / 100}" for step in range(60)]
    events = read("\n".join([*words, *steps, *words])).events
    assert [event.line for event in events if event.kind == "resume"] == [1, 63]
