"""Lines of values without names, of programs that are known by their form: they are written anew with the
names that the programs' sources give."""

from __future__ import annotations

from hrmdoc.text import patterns

_TENSOR = patterns.lazy(
    r"Tensor\(shape=\[\], dtype=(?P<type>[A-Z][a-z]{2,8})\d{0,2},"
    r" value=\s{0,4}(?P<value>[-+.\w]{1,24})\s{0,4}\)"
)
_REAL = r"(?:-?\d{1,6}\.\d{1,24}(?:e[-+]?\d{1,3})?|nan|-?inf)"
_VOICE = patterns.lazy(
    rf"(?:Losses: )?\[(?P<losses>{_REAL}(?:, {_REAL}){{4,5}})(?:, |\], step: )(?P<step>\d{{1,9}}), (?:lr: )?"
    r"(?P<rate>0\.0\d{1,24}|\d(?:\.\d{1,24})?e-\d{1,2})\]?(?P<rest>, \w.{0,80})?\s{0,8}\Z"
)
_OF_VOICES = {5: ("disc", "gen", "fm", "mel", "kl"), 6: ("disc", "gen", "fm", "mel", "dur", "kl")}
_OUTPUTS = patterns.lazy(r"\w[\w ]{0,40}?(?: is| are)? (?P<all>\(?Tensor\(shape=\[\], .{0,2000}\))")


def outputs(text: str) -> str:
    """`outputs are (Tensor(shape=[], dtype=Float32, value= 2.3), ...)` of MindSpore: the loss, whether the
    gradients overflowed, so that the step was skipped, and the scale of the loss."""
    found = _OUTPUTS.search(text)
    if found is None:
        return text
    given = [(one["type"], one["value"]) for one in _TENSOR.finditer(found["all"])]
    of_three = [kind for kind, _ in given] == ["Float", "Bool", "Float"]
    names = ("loss", "skipped_step", "loss_scale") if of_three else ("loss",)
    values = [str(int(value == "True")) if kind == "Bool" else value for kind, value in given]
    pairs = (f"{name}: {value}" for name, value in zip(names, values, strict=False))
    return f"{text[: found.start()]}{', '.join(pairs)}"


def voice(text: str) -> str:
    """`[2.4, 2.6, 3.1, 25.2, 1.6, 1.8, 400, 0.0002]` of VITS, without a name, and `Losses: [...], step: 400,
    lr: 0.0001` of what was made of it."""
    found = _VOICE.match(text)
    if found is None:
        return text
    losses = found["losses"].split(", ")
    pairs = zip(_OF_VOICES[len(losses)], losses, strict=True)
    named = ", ".join(f"loss_{name}: {loss}" for name, loss in pairs)
    return f"global step: {found['step']}, {named}, lr: {found['rate']}{found['rest'] or ''}"
