"""Settings of Python programs are never edited: the text to paste is shown instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hrmdoc.remedies import files
from hrmdoc.remedies.editors.python_edit import PythonDocument, is_config
from hrmdoc.roles.nested import loose
from hrmdoc.text import patterns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hrmdoc.remedies.editors.scalars import Plain

_OPTION = patterns.lazy(
    r"(?:add_argument|option)\(\s{0,40}(?:[\"']-\w[\"']\s{0,40},\s{0,40})?[\"'](--[A-Za-z][\w-]{0,80})[\"']"
)
"""Options as argparse, click and typer declare them."""
_CLASSES = {
    "trl": "GRPOConfig",
    "lightning": "Trainer",
    "transformers": "TrainingArguments",
    "hf": "TrainingArguments",
}


def is_program(path: Path) -> bool:
    """Whether a file holds Python code that does more than to give values to names.

    Raises:
        PatchError: it cannot be read.
    """
    return path.suffix == ".ipynb" or (path.suffix == ".py" and not is_config(files.read(path).text))


def places(programs: Sequence[Path], keys: Sequence[str]) -> list[str]:
    """Where the programs set these keys now, one note each; a key that they do not name is passed over.

    Raises:
        PatchError: a program cannot be read.
    """
    notes = []
    for path in programs:
        if path.suffix == ".py":
            leaves = PythonDocument(str(path), files.read(path).text).leaves
            found = {str(route[-1]): leaf for route, leaf in leaves.items()}
            notes += [
                f"{path}:{found[key].line} sets {key} = {found[key].text}" for key in keys if key in found
            ]
    return notes


def assigned(programs: Sequence[Path]) -> dict[str, str]:
    """The names to which the programs give values, by how they are looked up: without regard to case.

    Raises:
        PatchError: a program cannot be read.
    """
    texts = [(str(path), files.read(path).text) for path in programs if path.suffix == ".py"]
    leaves = [PythonDocument(name, text).leaves for name, text in texts]
    return {loose(str(route[-1])): str(route[-1]) for one in leaves for route in one}


def options(programs: Sequence[Path]) -> dict[str, str]:
    """The options of the programs' command lines (`--batch-size`) by the names of their values
    (`batch_size`).

    Raises:
        PatchError: a program cannot be read.
    """
    texts = [files.read(path).text for path in programs if path.suffix == ".py"]
    found = [option for text in texts for option in _OPTION.findall(text)]
    return {option.lstrip("-").replace("-", "_"): option for option in found}


def text_to_paste(framework: str, settings: Mapping[str, Plain]) -> str:
    """The keyword arguments that make the change, one a line, or plain assignments where the framework's
    class is not known; dotted keys become attributes of `config`, and options of the program its words."""
    if settings and all(key.startswith("--") for key in settings):
        return " ".join(f"{key}={value}" for key, value in settings.items())
    simple = {key: value for key, value in settings.items() if "." not in key}
    dotted = [f"config.{key} = {value!r}" for key, value in settings.items() if "." in key]
    return "\n".join([*_named(framework, simple), *dotted])


def _named(framework: str, settings: Mapping[str, Plain]) -> list[str]:
    """The lines for settings of one word each."""
    name = next((cls for word, cls in _CLASSES.items() if word in framework.lower()), None)
    if not settings or name is None:
        return [f"{key} = {value!r}" for key, value in settings.items()]
    return [f"{name}(", *(f"    {key}={value!r}," for key, value in settings.items()), "    ...", ")"]
