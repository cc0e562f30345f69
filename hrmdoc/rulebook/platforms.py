"""Rules in the words of the machine: what they say of CUDA, for a run on AMD's ROCm.

The rules are written for CUDA. ROCm takes most of it over, `torch.cuda` and the variables of NCCL among it;
what is named otherwise there is said otherwise.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from hrmdoc.rulebook.schema.book import Rulebook
from hrmdoc.rulebook.schema.causes import Cause
from hrmdoc.rulebook.schema.remedies import Remedy
from hrmdoc.text import patterns
from hrmdoc.text.platforms import ROCM

_ON_ROCM = {
    "nvidia-smi -q -d ECC,ROW_REMAPPER,TEMPERATURE": "rocm-smi --showrasinfo all --showtemp",
    "nvidia-smi -q -d ECC": "rocm-smi --showrasinfo all",
    "grep -i xid": "grep -i amdgpu",
    "nvidia-smi nvlink -s; systemctl status nvidia-fabricmanager": "rocm-smi --showtopo",
    "dcgmi diag -r 3": "rvs, the ROCm Validation Suite",
    "nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,clocks_event_reasons.active --format=csv -l 5": (
        "watch -n 5 rocm-smi --showclocks --showtemp --showpower"
    ),
    "nvidia-smi shows the newest CUDA that the driver takes": (
        "cat /sys/module/amdgpu/version; AMD's table names the ROCm versions that this driver takes"
    ),
    "an older one for GPUs before sm_70": "HSA_OVERRIDE_GFX_VERSION of a near one for GPUs left out",
    "nvidia-smi": "rocm-smi",
    "docker run --gpus all": "docker run --device=/dev/kfd --device=/dev/dri",
    "CUDA_LAUNCH_BLOCKING=1": "AMD_SERIALIZE_KERNEL=3",
    "CUDA_VISIBLE_DEVICES": "HIP_VISIBLE_DEVICES",
    "PYTORCH_CUDA_ALLOC_CONF": "PYTORCH_HIP_ALLOC_CONF",
    "TORCH_CUDA_ARCH_LIST set to the capability": "PYTORCH_ROCM_ARCH set to that name, such as gfx942",
    "CUDA_HOME": "ROCM_HOME",
    "torch.version.cuda": "torch.version.hip",
    "torch.cuda.get_device_capability()": "torch.cuda.get_device_properties(0).gcnArchName",
    "module load gcc cuda": "module load gcc rocm",
    "nvcc": "hipcc",
    "NVLink": "Infinity Fabric",
    "CUDA": "ROCm",
}
_WORDS = patterns.lazy(
    "|".join(rf"(?<![\w.]){re.escape(word)}(?!\w)" for word in sorted(_ON_ROCM, key=len, reverse=True))
)


def spoken(book: Rulebook, platform: object) -> Rulebook:
    """The rulebook in the words of a platform, its causes and remedies; as it is but for ROCm."""
    if platform != ROCM:
        return book
    return replace(
        book,
        causes={name: _cause(one) for name, one in book.causes.items()},
        remedies={name: _remedy(one) for name, one in book.remedies.items()},
    )


def on_rocm(text: str) -> str:
    """A text of the rules as it reads for ROCm."""
    return _WORDS.sub(lambda found: _ON_ROCM[found.group()], text)


def _cause(one: Cause) -> Cause:
    return replace(one, title=on_rocm(one.title), summary=on_rocm(one.summary), check=on_rocm(one.check))


def _remedy(one: Remedy) -> Remedy:
    verify = replace(one.verify, within=on_rocm(one.verify.within), also=on_rocm(one.verify.also))
    steps = tuple(on_rocm(step) for step in one.steps)
    return replace(one, title=on_rocm(one.title), why=on_rocm(one.why), steps=steps, verify=verify)
