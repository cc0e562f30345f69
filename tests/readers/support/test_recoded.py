"""Text in encodings other than UTF-8."""

from __future__ import annotations

import pytest

from hrmdoc.readers.support.decode import codec_of, decoder

LOG = "第3轮 训练损失：0.25，准确率：81.5%\n"


def test_text_of_a_chinese_windows_is_recoded_in_any_cut() -> None:
    blob = LOG.encode("gb18030") * 3
    codec = codec_of(blob[:-1])  # the head may end within a sign
    assert codec == "gb18030"
    for size in (1, 7, len(blob)):
        plain = decoder(codec)
        pieces = [piece for at in range(0, len(blob), size) for piece in plain.feed(blob[at : at + size])]
        assert b"".join([*pieces, *plain.close()]).decode() == LOG * 3


@pytest.mark.parametrize(
    "head",
    [LOG.encode(), b"loss 0.5\n", "perte 0,5 é".encode("latin-1"), LOG.encode("gb18030") + b"\xff\xff"],
)
def test_other_bytes_stay_as_they_are(head: bytes) -> None:
    assert codec_of(head) == ""
