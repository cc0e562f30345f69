"""hrmdoc as a plugin of axolotl, by its config:

plugins:
  - hrmdoc.integrations.axolotl.HrmdocPlugin
hrmdoc_stop: critical   # optional
hrmdoc_save: warning    # optional
"""

from __future__ import annotations

from typing import Any, Literal

from hrmdoc.integrations import missing

try:
    from axolotl.integrations.base import BasePlugin
    from pydantic import BaseModel

    from hrmdoc.integrations.transformers import HrmdocCallback
except ImportError as error:
    raise missing("axolotl", "axolotl", error) from error

_OPTIONS = ("stop", "save")


class HrmdocArgs(BaseModel):
    """The keys that the plugin adds to axolotl's config."""

    hrmdoc_stop: Literal["warning", "critical"] | None = None
    hrmdoc_save: Literal["warning", "critical"] | None = None


class HrmdocPlugin(BasePlugin):  # type: ignore[misc, unused-ignore]
    """Gives the trainer that axolotl builds the callback for transformers."""

    def get_input_args(self) -> str:
        """Where axolotl finds the keys."""
        return "hrmdoc.integrations.axolotl.HrmdocArgs"

    def add_callbacks_pre_trainer(self, cfg: Any, model: Any) -> list[Any]:
        """The callback, with what the config asks for."""
        asked = {name: getattr(cfg, f"hrmdoc_{name}", None) for name in _OPTIONS}
        given = {name: value for name, value in asked.items() if value}
        return [HrmdocCallback(framework="axolotl", **given)]
