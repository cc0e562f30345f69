"""The sandbox's child: confines itself, runs a program and its tests, and reports how it went. Started by
`run`, never imported.

The job comes as JSON on stdin; the report goes as JSON to what stdout was at the start, and stdout itself
leads nowhere. The report carries a word that only the job held: a program that leaves early, or prints what
looks like a report, has not passed.
"""

import json
import os
import sys
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from confine import confine  # type: ignore[import-not-found]  # the interpreter is isolated: only now is this folder on its path

sys.path.pop(0)


def main() -> None:
    job = json.load(sys.stdin)
    report, write, leave, encode = (
        os.dup(1),
        os.write,
        os._exit,
        json.dumps,
    )  # kept: the program may change the modules
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ.clear()
    guards = confine(job["cpu_s"], job["memory_bytes"], job["parent"])
    status, detail = _run(job["code"], job["setup"], job["tests"])
    write(
        report,
        encode({"word": job["word"], "guards": guards, "status": status, "detail": detail[:300]}).encode(),
    )
    leave(0)


def _run(code: str, setup: str, tests: list[str]) -> tuple[str, str]:
    """'passed', 'failed' (an assertion of the tests does not hold) or 'error', and what went wrong."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    try:
        for name, source in (("program", code), ("setup", setup)):
            exec(compile(source, f"<{name}>", "exec"), module.__dict__)  # noqa: S102  # this is the sandbox
    except BaseException as error:  # noqa: BLE001  # sys.exit counts as an end before the tests
        return "error", _name(error)
    for test in tests:
        try:
            exec(compile(test, "<test>", "exec"), module.__dict__)  # noqa: S102
        except AssertionError:
            return "failed", test
        except BaseException as error:  # noqa: BLE001
            return "error", _name(error)
    return "passed", ""


def _name(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001  # the text of an error is the program's own code
        return type(error).__name__


main()
