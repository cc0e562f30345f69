"""What is appended to a file is shown, from where it ended on."""

from __future__ import annotations

import io
from pathlib import Path

from hrmdoc.live.tail import BLOCK, Tail
from tests.waiting import until


def test_what_is_written_behind_the_end_is_copied_while_it_comes(tmp_path: Path) -> None:
    file, shown = tmp_path / "log", io.BytesIO()
    file.write_bytes(b"before\n")
    tail = Tail(file, shown)
    tail.start()
    with file.open("ab") as log:
        log.write(b"one\n")
    until(lambda: shown.getvalue() == b"one\n")
    with file.open("ab") as log:
        log.write(b"x" * (2 * BLOCK + 5))
    tail.finish()
    assert shown.getvalue() == b"one\n" + b"x" * (2 * BLOCK + 5)


def test_a_file_that_was_emptied_is_shown_from_its_beginning(tmp_path: Path) -> None:
    file, shown = tmp_path / "log", io.BytesIO()
    file.write_bytes(b"before, and long\n")
    tail = Tail(file, shown)
    file.write_bytes(b"anew\n")
    tail.start()
    tail.finish()
    assert shown.getvalue() == b"anew\n"


def test_a_stream_that_is_closed_ends_the_copying_alone(tmp_path: Path) -> None:
    file, shown = tmp_path / "log", io.BytesIO()
    file.touch()
    tail = Tail(file, shown)
    shown.close()
    file.write_bytes(b"one\n")
    tail.start()
    tail.finish()
    assert not tail._thread.is_alive()
