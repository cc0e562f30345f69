"""Facts that lines state: sizes, versions, arguments, and the rows of a printed configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hrmdoc.readers.log.grammar.values import number
from hrmdoc.record.records import Value
from hrmdoc.text import patterns
from hrmdoc.text.precisions import precision_of

_INT = r"([\d,]+)\b"
_NUMBERS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (key, hints, patterns.lazy(rf"(?:{words})\s?[:=]\s?{_INT}(?![.\d]|\s?[MB]\b)", re.IGNORECASE))
    for key, hints, words in (
        (
            "run.total_steps",
            ("steps",),
            "total optimization steps|total steps|total training steps|max_steps|total_steps",
        ),
        ("run.epochs", ("epochs",), "num epochs|(?<!total )number of epochs|total epochs"),
        ("run.steps_per_epoch", ("epoch",), "steps[_ ]per[_ ]epoch|num batches each epoch"),
        (
            "data.samples",
            ("examples", "samples"),
            "num examples|number of training (?:examples|samples)|training samples",
        ),
        (
            "data.batch_size",
            ("batch size",),
            r"total train batch size[^=]{0,80}|total batch size \([^)]{0,40}\)|(?:global|desired) batch size",
        ),
        ("data.micro_batch_size", ("batch",), r"instantaneous batch size per device|micro[_ ]batch[_ ]size"),
        ("data.grad_accum", ("accumulation steps",), "gradient accumulation steps"),
        (
            "model.trainable_parameters",
            ("param",),
            "(?<!non-)(?<!non )trainable param(?:eter)?s|number of trainable parameters",
        ),
        (
            "model.parameters",
            ("param",),
            "all params|total param(?:eter)?s|number of parameters|model parameters|num_params",
        ),
        ("data.vocab_size", ("vocab",), r"(?:padded )?vocab(?:ulary)?[_ ]size|size of (?:the )?vocabulary"),
        ("data.classes", ("classes", "num"), r"(?:number of|num|n)[_ ](?:classes|categories)|num[_ ]labels"),
        ("data.items", ("items",), r"(?:the )?(?:number of|num(?:ber)?[_ ]|n[_ ]|total |#\s?)\s?items"),
        ("world_size", ("world", "num gpus"), "using world size|world[_ ]size|num gpus used"),
    )
)
"""Key, words of which one stands wherever the pattern matches (in lower case; to look for a word is cheap),
pattern."""
_BELONGING = patterns.lazy(
    r"\bFound [\d,]{1,16} (?:[a-z]{1,16} )?(?:images|files) belonging to (?!1 )(\d{1,6}) classes"
)
"""What Keras says of folders."""
_BEST = patterns.lazy(
    r"\bloading best model from \S{0,300}checkpoint-(?P<step>\d{1,12})\b"
    r"|\bbest iteration(?: is)?:? \[?(?P<round>\d{1,12})\]?\.?\s{0,8}\Z"
    r"|\bend of the best epoch: (?P<epoch>\d{1,9})\.?\s{0,8}\Z",
    re.IGNORECASE,
)
"""Which state of the model is kept in the end, as transformers, XGBoost and Keras say it."""
_TRAINED_BEFORE = patterns.lazy(
    r"\b(?:[Ww]eights|[Ll]ayers) of (?P<of>[A-Z]\w{2,60}) (?:were )?(?:not )?initialized from "
    r"|\b(?:not used in|used when initializing) (?P<into>[A-Z]\w{2,60})\b"
)
"""What transformers, and its forerunners, say of a model that goes on from weights of an earlier training."""
_PLANNED = patterns.lazy(r"\btraining for (?:up to )?(\d{1,6}) epochs?\b", re.IGNORECASE)
_MILLIONS = patterns.lazy(
    r"(?:number of parameters|total parameters|model size)\s?[:=]\s?([\d.]{1,12})\s?([MB])\b", re.IGNORECASE
)
_VERSION = patterns.lazy(
    r"\b(py ?torch|torch|transformers|deepspeed|accelerate|cuda|cudnn|nccl|python|keras|tensorflow"
    r"|lightning|trl|peft|wandb"
    r"|unsloth|numpy|jax|triton)(?: version(?: is| =|:|=)? ?|==| v(?=\d))v?(\d[\w.+]{0,40})",
    re.IGNORECASE,
)
_PRECISION = patterns.lazy(
    r"using (bfloat16|float16|fp16|bf16)|mixed precision[:= ]{1,3}'?(bf16|fp16|no)\b"
    r"|using (\d\d)bit automatic mixed"
    r"|using params_dtype torch\.(\w{1,20})",
    re.IGNORECASE,
)
_DOTS = patterns.lazy(r"\s{0,8}([A-Za-z_][\w.\-]{0,80}) \.{3,120} ?(\S.{0,200})?\Z")
_NAMESPACE = patterns.lazy(r"\b(?:Namespace|TrainingArguments|Args|Config|TrainConfig|GPTConfig)\(")
_ARGUMENT = patterns.lazy(
    r"(?:\A|, ?)([A-Za-z_]\w{0,80})=('[^']{0,300}'|\"[^\"]{0,300}\"|[^,()\[\]{}]{1,200})"
)
_OPTION = patterns.lazy(r"(?<=\s)--([A-Za-z][\w\-.]{0,80})[ =](?!-)(\S{1,200})")
_COMMAND = patterns.lazy(
    r"(?:\S{0,300}(?:python\d?|torchrun|deepspeed|accelerate|srun)\b"
    r"|[\w./\-]{1,300}\.(?:py|sh)\b|\+{1,3} |\$ )"
)
_CONFIG_HEADER = patterns.lazy(
    r"[A-Za-z]{1,40}config\(\s{0,8}\Z|\W{0,24}(?:[\w ]{0,30}\b)?"
    r"(?:config(?:uration)?|hyper[- ]?parameters|arguments|args|settings|options)\W{0,24}\Z",
    re.IGNORECASE,
)
_CONFIG_ROW = patterns.lazy(
    r"(?:\s{1,16}(?:- |\(\d{1,4}\): )?([A-Za-z_][\w.\-]{0,80})\s{0,24}[:=]\s|(?!loss )([A-Za-z_]\w{0,80}) = )"
    r"(\S.{0,200}?)(?:\s{1,60}(?:#.*|\[default: .*))?\Z"
)
_CONFIG_FILE = patterns.lazy(r"Overriding config with (\S{1,300}):\s{0,8}\Z")
"""nanoGPT's configurator prints the name of the file and its text."""


def numbers_in(text: str) -> Iterator[tuple[str, Value]]:
    """Canonical keys and values printed on the line."""
    lower = text.lower()
    for key, hints, pattern in _NUMBERS:
        if not any(hint in lower for hint in hints):
            continue
        if (found := pattern.search(text)) and len(found.group(1)) < 20 and found.group(1).strip(","):
            yield key, int(found.group(1).replace(",", ""))
    if "parameters" in lower or "model size" in lower:
        yield from _millions_in(text)
    yield from _said_in(text, lower)


def _said_in(text: str, lower: str) -> Iterator[tuple[str, Value]]:
    """What is said in sentences of a program's own."""
    if "training for" in lower and (planned := _PLANNED.search(text)):
        yield "run.epochs", int(planned.group(1))
    if "belonging" in lower and (belonging := _BELONGING.search(text)):
        yield "data.classes", int(belonging.group(1))
    if ("initializ" in lower or "not used in" in lower) and (trained := _TRAINED_BEFORE.search(text)):
        yield "run.finetunes", trained["of"] or trained["into"]
    if "using" in lower or "precision" in lower:
        yield from _precision_in(text)
    if "best " in lower and (best := _BEST.search(text)):
        yield ("run.best_epoch" if best["epoch"] else "run.best_step"), int(best[best.lastgroup or 0])


def _millions_in(text: str) -> Iterator[tuple[str, Value]]:
    """Parameters as `124.44M`."""
    if found := _MILLIONS.search(text):
        unit = 1e6 if found.group(2) in "mM" else 1e9
        yield "model.parameters", int(number(found.group(1).rstrip(".")) * unit)


def _precision_in(text: str) -> Iterator[tuple[str, Value]]:
    """The numbers that are computed with."""
    if found := _PRECISION.search(text):
        word = next(group for group in found.groups() if group)
        if named := precision_of(word):
            yield "precision", named


def versions_in(text: str) -> Iterator[tuple[str, str]]:
    """Package and version, as `PyTorch version: 2.4.0`."""
    lower = text.lower()
    if "version" not in lower and "==" not in lower and " v" not in lower:
        return
    for found in _VERSION.finditer(text):
        name = found.group(1).lower().replace(" ", "")
        yield ("torch" if name in ("pytorch", "torch") else name), found.group(2).rstrip(".")


def arguments_in(text: str) -> Iterator[tuple[str, Value]]:
    """Arguments of a dotted dump (`lr ....... 1e-4`), of a printed `Namespace(...)`, or of the command
    itself."""
    if " ..." in text and (found := _DOTS.match(text)):
        yield found.group(1), literal(found.group(2) or "")
    elif "(" in text and (found := _NAMESPACE.search(text)):
        for argument in _ARGUMENT.finditer(text[found.end() :].rstrip().removesuffix(")")):
            yield argument.group(1), literal(argument.group(2))
    elif text.count(" --") > 1 and _COMMAND.match(text):
        for option in _OPTION.finditer(text):
            yield option.group(1).replace("-", "_"), literal(option.group(2))


def opens_config(text: str) -> bool:
    """Whether the line announces a printed configuration."""
    return (len(text) < 80 and _CONFIG_HEADER.match(text) is not None) or config_file(text) != ""


def config_file(text: str) -> str:
    """The config file that the line says the run was started with, "" for other lines."""
    found = _CONFIG_FILE.match(text) if text.startswith("Overriding") else None
    return found.group(1) if found else ""


def config_row(text: str) -> tuple[str, Value] | None:
    """Key and value of an indented `key: value` row, or of a Python assignment."""
    found = _CONFIG_ROW.match(text)
    return (found.group(1) or found.group(2), literal(found.group(3))) if found else None


def literal(text: str) -> Value:
    """The value that a printed word stands for."""
    word = text.strip().rstrip(",").strip("'\"")
    if word in ("None", "null", ""):
        return None
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    if word[0] in "+-.0123456789" and len(word) < 32:
        for kind in (int, float):
            try:
                return kind(word)
            except ValueError:
                continue
    return word
