"""The plugin for axolotl, against a stand-in of its interface: axolotl itself needs a GPU to be installed."""

from __future__ import annotations

import sys
import types
from importlib import import_module

import pytest

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("pydantic", reason="pydantic is not installed")
pytestmark = pytest.mark.frameworks


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    base = types.ModuleType("axolotl.integrations.base")
    base.BasePlugin = type("BasePlugin", (), {})  # type: ignore[attr-defined]
    for name in ("axolotl", "axolotl.integrations"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "axolotl.integrations.base", base)
    monkeypatch.delitem(sys.modules, "hrmdoc.integrations.axolotl", raising=False)
    return import_module("hrmdoc.integrations.axolotl")


def test_the_config_gives_the_callback_its_policy(ours: types.ModuleType) -> None:
    cfg = types.SimpleNamespace(hrmdoc_stop="critical", hrmdoc_save=None)
    (callback,) = ours.HrmdocPlugin().add_callbacks_pre_trainer(cfg, model=None)
    assert callback._options == {"framework": "axolotl", "stop": "critical"}


def test_its_keys_are_where_it_says(ours: types.ModuleType) -> None:
    module, _, name = ours.HrmdocPlugin().get_input_args().rpartition(".")
    keys = getattr(import_module(module), name)
    assert keys(hrmdoc_stop="warning").hrmdoc_stop == "warning"
    with pytest.raises(ValueError, match="hrmdoc_stop"):
        keys(hrmdoc_stop="sometimes")
