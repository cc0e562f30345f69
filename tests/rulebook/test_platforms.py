from __future__ import annotations

from hrmdoc import rulebook
from hrmdoc.rulebook.platforms import on_rocm, spoken


def test_what_rocm_takes_over_from_cuda_keeps_its_name() -> None:
    kept = "torch.cuda.set_device(local_rank); NCCL_DEBUG=INFO; torch.amp.autocast('cuda')"
    assert on_rocm(kept) == kept


def test_a_word_inside_another_is_left_alone() -> None:
    assert on_rocm("TORCH_CUDA_ARCH_LIST and MYCUDA") == "TORCH_CUDA_ARCH_LIST and MYCUDA"


def test_no_remedy_or_cause_on_rocm_names_the_tools_of_the_other_maker() -> None:
    book = spoken(rulebook.load(), "rocm")
    for remedy in book.remedies.values():
        said = " ".join((remedy.title, remedy.why, *remedy.steps))
        left = [word for word in ("nvidia-smi", "nvcc", "dcgmi", "xid", "sm_70") if word in said]
        assert left == [], remedy.id
    assert not [one.id for one in book.causes.values() if "nvidia-smi" in one.check]
