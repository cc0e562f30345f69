"""The words for number formats: `torch.bfloat16`, `16-mixed`, `pure_fp16`, `mixed_float16`, `no`."""

from __future__ import annotations

from hrmdoc.text import patterns

_WORDS = patterns.lazy(
    r"(?P<bf16>bf(?:loat)?_?16)|(?P<fp8>f(?:p|loat)?8|e[45]m[23]|transformer.engine)"
    r"|(?P<fp16>f(?:p|loat)?_?16|half|(?<![a-z\d])16(?!\d))"
    r"|(?P<fp32>f(?:p|loat)?_?(?:32|64)|tf32|single|double|(?<![a-z\d])(?:32|64)(?!\d)|\Afloat\Z|\Ano(?:ne)?\Z)"
)


def precision_of(word: str) -> str | None:
    """`bf16`, `fp16`, `fp8` or `fp32` (more is no less to us); None where the word names none, as `auto` and
    `amp` do."""
    found = _WORDS.search(word.strip().lower())
    return None if found is None else found.lastgroup
