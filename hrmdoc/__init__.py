"""hrmdoc: a doctor for training runs.

```python
import hrmdoc

analysis = hrmdoc.analyze("runs/latest")
print(analysis.verdict, [h.cause for h in analysis.diagnosis.hypotheses[:3]])
frame = analysis.run.frame()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis, analyze
    from hrmdoc.beats import heartbeat
    from hrmdoc.integrations.monitor import Monitor
    from hrmdoc.live.watch import Watch, watch
    from hrmdoc.reports.card import card

__all__ = ["Analysis", "Monitor", "Watch", "__version__", "analyze", "card", "heartbeat", "watch"]
__version__ = "0.1.0"

_HOMES = {
    "Analysis": "hrmdoc.analysis",
    "analyze": "hrmdoc.analysis",
    "card": "hrmdoc.reports.card",
    "heartbeat": "hrmdoc.beats",
    "load_ipython_extension": "hrmdoc.integrations.notebook",
    "Monitor": "hrmdoc.integrations.monitor",
    "Watch": "hrmdoc.live.watch",
    "watch": "hrmdoc.live.watch",
}


def __getattr__(name: str) -> Any:
    """Loads the public names on first use, so that `import hrmdoc` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hrmdoc' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
