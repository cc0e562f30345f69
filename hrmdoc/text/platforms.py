"""What AMD's platform and devices are called, in logs and in configs."""

from __future__ import annotations

import re

from hrmdoc.text import patterns

ROCM = "rocm"
_ROCM = patterns.lazy(
    r"\bHIP (?:error|out of memory|GPUs)\b|\bhip(?:Error|blas|BLAS)|ROCm\b|\+rocm\d|\brocm[-/_\d]"
    r"|\bAMD (?:Instinct|Radeon)|\bMI[23]\d\d[AX]?\b|\bamdgpu\b|\bMIOpen\b|\bRCCL\b|\bgfx\d{3,4}\b"
)
_WORDS = re.compile(r"HIP|hip|[Rr][Oo][Cc][Mm]|AMD|MI\d|amdgpu|MIOpen|RCCL|gfx\d")
"""A quick look that most texts end with."""


def platform_in(text: str) -> str:
    """`rocm` where a text speaks of AMD's GPUs or their software, "" elsewhere."""
    return ROCM if _WORDS.search(text) and _ROCM.search(text) else ""
