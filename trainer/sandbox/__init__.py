"""Runs programs that nobody has read, as a model wrote them, and says whether they pass their tests.

`run` starts `child` in a process of its own, which confines itself with `confine` before it looks at the
program.
"""

from .run import Limits, Status, Verdict, run, self_test

__all__ = ["Limits", "Status", "Verdict", "run", "self_test"]
