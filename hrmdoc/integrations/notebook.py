"""hrmdoc in notebooks and IPython.

%load_ext hrmdoc
%hrmdoc analyze runs/latest
%hrmdoc watch runs/latest      # the cell goes on showing the run while others are run
%hrmdoc stop
"""

from __future__ import annotations

import logging
import shlex
import threading
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import HrmdocError

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.live.watch import Watch

HELP = "%hrmdoc analyze PATH..., %hrmdoc watch PATH, or %hrmdoc stop"


class Magic:
    """The magic `%hrmdoc`."""

    def __init__(self) -> None:
        self._watch: Watch | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, line: str) -> Analysis | None:
        """Does what the line says; what is wrong is said in words, without a traceback."""
        try:
            return self._run(shlex.split(line))
        except (HrmdocError, ValueError) as error:
            print(f"hrmdoc: {error}")  # noqa: T201 (the output of the cell)
            return None

    def _run(self, words: list[str]) -> Analysis | None:
        match words:
            case ["analyze", _, *_]:
                from hrmdoc.analysis import analyze

                return analyze(words[1:])
            case ["watch", path]:
                self.stop()
                self._begin(path)
            case ["stop"]:
                self.stop()
            case _:
                raise ValueError(HELP)
        return None

    def stop(self) -> None:
        """Ends the watch; its cell keeps what it showed last."""
        if self._watch is not None and self._thread is not None:
            self._watch.stop()
            self._thread.join(10.0)
        self._watch = self._thread = None

    def _begin(self, path: str) -> None:
        from IPython.display import HTML, display

        from hrmdoc.live.watch import Watch

        self._watch = Watch(path)
        handle = display(HTML("hrmdoc reads …"), display_id=True)
        self._thread = threading.Thread(target=self._show, args=(self._watch, handle), daemon=True)
        self._thread.start()

    def _show(self, watch: Watch, handle: Any) -> None:
        try:
            for update in watch.updates():
                handle.update(update.analysis)
        except Exception as error:  # noqa: BLE001 (a thread has nobody to raise to)
            logging.getLogger("hrmdoc").warning("hrmdoc: the watch ended: %s", error)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext hrmdoc` calls."""
    shell.register_magic_function(Magic(), magic_kind="line", magic_name="hrmdoc")
