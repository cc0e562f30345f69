"""hrmdoc inside a training run, one file a framework. Importing this package imports none of them.

`hrmdoc.Monitor` (monitor.py) is the core: it takes metrics from the loop, examines them in a thread of its
own (examiner.py) on the path that `watch` takes, and reports incidents by policy (wording.py), to W&B, MLflow
and TensorBoard too (boards.py).
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def missing(framework: str, package: str, error: ImportError) -> ImportError:
    """What an integration raises where its framework cannot be imported."""
    return ImportError(f"hrmdoc's integration for {framework} needs it: pip install {package} ({error})")


def harmless(hook: F) -> F:
    """A hook of a framework that raises nothing into the training: what is wrong is logged."""

    @functools.wraps(hook)
    def guarded(*given: Any, **named: Any) -> Any:
        try:
            return hook(*given, **named)
        except Exception as error:  # noqa: BLE001 (frameworks change; a monitor may not end what it monitors)
            words = "hrmdoc: %s failed: %s: %s; training goes on"
            logging.getLogger("hrmdoc").warning(words, hook.__qualname__, type(error).__name__, error)
            return None

    return guarded  # type: ignore[return-value]
