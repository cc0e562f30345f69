"""A reader that is not asked about a file would not have wanted it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc import readers
from hrmdoc.readers.support.asking import _WANTS, asked
from tests.fuzz.harness import _TOKENS, NAMES, seeds

PIECES = (
    *_TOKENS,
    *(
        b"Trial name",
        b"Result for x:\n",
        b"# TYPE node_load1 gauge\n",
        b"*** Sampled system activity (",
        b"JobID|STATE\n1|",
    ),
    *(
        b"Job ID: 7\n",
        b"lr: 1\nseed: 2\n",
        b"memory.used, x\n",
        b"\x09",
        b" ",
        b'"message": 1',
        b'{"status":"success",',
    ),
)
FILES = (
    *NAMES.values(),
    *("task.json", "heartbeat.json", "x.wandb", "events.out.tfevents.1", "train.py", "log"),
)


def wanting(path: Path, head: bytes) -> set[str]:
    """The readers that want a file, all of them asked."""
    return {name for name in readers.names() if readers.reader(name).sniff(path, head) > 0.0}


@pytest.mark.parametrize("reader", sorted(NAMES))
def test_who_wants_a_file_of_a_known_format_is_asked(reader: str) -> None:
    for data in seeds(reader):
        for head in (
            data[: 1 << 16],
            data[:300],
            b"\xef\xbb\xbf" + data[:300],
            b"\n " + data[:300],
            data[7:900],
        ):
            for name in FILES:
                path = Path(name)
                assert wanting(path, head) <= set(asked(readers.names(), path, head)), name


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join), st.sampled_from(FILES))
def test_who_wants_any_file_is_asked(head: bytes, name: str) -> None:
    assert wanting(Path(name), head) <= set(asked(readers.names(), Path(name), head))


def test_a_text_log_is_put_before_few_readers() -> None:
    for line in (b"step 1 loss 2.0\n", b"{'loss': 2.0, 'epoch': 1.0}\n"):
        few = asked(readers.names(), Path("train.log"), 2 * line)
        assert few == ["counted_rows", "csv", "mlflow", "text"]


def test_every_reader_named_there_is_one() -> None:
    assert set(_WANTS) <= set(readers.names())
