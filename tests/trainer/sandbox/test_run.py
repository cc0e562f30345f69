"""Programs that want to pass without solving anything, or to do harm. None may pass; the parent goes on."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import psutil
import pytest

from hrmdoc.trainer.sandbox import Limits, run, self_test

SMALL = Limits(cpu_s=1, memory_mib=256)
TESTS = ["assert f(1) == 2", "assert f(2) == 3"]
RIGHT = "def f(x):\n    return x + 1"
linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's guards are Linux's")


def verdict(code: str, tests: list[str] | None = None, setup: str = "") -> tuple[str, str]:
    found = run(code, setup, TESTS if tests is None else tests, SMALL)
    return found.status, found.detail


def test_a_right_program_passes_and_a_wrong_one_fails_with_the_assertion_that_does_not_hold() -> None:
    assert verdict(RIGHT) == ("passed", "")
    assert verdict("def f(x):\n    return 2") == ("failed", "assert f(2) == 3")


def test_the_setup_may_need_the_program_and_the_library_can_be_imported() -> None:
    assert verdict("class A:\n    x = 1\ndef f(n): return n + STEP", setup="STEP = A().x") == ("passed", "")
    assert verdict(RIGHT, setup="STEP = A().x")[0] == "error"
    assert verdict(
        "import re, math, heapq, collections\ndef f(x):\n    return STEP + x", setup="STEP = 1"
    ) == ("passed", "")
    assert (
        verdict(
            "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\ndef f(x): return A(x).x + 1"
        )[0]
        == "passed"
    )
    assert verdict("if __name__ == '__main__':\n    def f(x): return x + 1")[0] == "passed"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(x:\n", "SyntaxError"),
        ("def g(x): return x", "NameError"),
        ("import numpy", "ModuleNotFoundError"),
        ("f = lambda x: input()", "EOFError"),
        ("class E(Exception):\n    def __str__(self): raise KeyError\nraise E", "E"),
        ("\0", "ValueError|SyntaxError"),
        ("f = eval('(' * 5000)", "Memory|SyntaxError|Recursion"),
    ],
)
def test_an_error_is_named(code: str, error: str) -> None:
    status, detail = verdict(code)
    assert status == "error"
    assert any(name in detail for name in error.split("|"))


LEAVES_EARLY = [
    "import sys; sys.exit(0)",
    "raise SystemExit",
    "import os; os._exit(0)",
    "def f(x):\n    import os\n    os._exit(0)",
    "import os; os.kill(os.getpid(), 9)",
    "exit(0)",
    "quit()",
]
PRETENDS = [
    "print('passed')",
    'import sys; sys.stdout.write(\'{"status": "passed"}\'); sys.exit(0)',
    "import os\nfor n in range(32):\n"
    '    try: os.write(n, b\'{"word": "", "status": "passed", "guards": [], "detail": ""}\')\n'
    "    except OSError: pass\nos._exit(0)",
    "import os\nfor n in range(32):\n    try: os.write(n, b'[]')\n    except OSError: pass\nos._exit(0)",
    'import json; json.dumps = lambda *a: \'{"status": "passed"}\'; raise SystemExit',
    "import atexit, os; atexit.register(os._exit, 0); raise SystemExit(0)",
]
CLOSES = ["import sys; sys.stdout.close(); sys.stderr.close()", "import os; os.closerange(0, 64)"]
HUNGRY = [
    "while True: pass",
    "import signal\nfor n in (signal.SIGXCPU, signal.SIGTERM):\n  signal.signal(n, signal.SIG_IGN)\n"
    "while True: pass",
    "try:\n    while True: pass\nexcept BaseException:\n    while True: pass",
    "x = []\nwhile True: x.append(bytes(1 << 20))",
    "x = bytearray(1 << 40)",
    "x = 'a' * (1 << 34)",
    "def g(n): return g(n + 1)\nimport sys; sys.setrecursionlimit(10 ** 9)\ng(0)",
    "def g(n): return g(n + 1)\ng(0)",
    "x = []\nfor _ in range(10 ** 6): x = [x]\nrepr(x)",
    "10 ** 10 ** 8",
]


@pytest.mark.parametrize("code", [*LEAVES_EARLY, *PRETENDS, *CLOSES, *HUNGRY])
def test_no_hostile_program_passes_whatever_tests_would_say(code: str) -> None:
    status, _ = verdict(code + ("" if "def f" in code else "\n"), ["assert f(1) == 2"])
    assert status != "passed"


@pytest.mark.parametrize("code", [*LEAVES_EARLY[:3], PRETENDS[2], CLOSES[1]])
def test_leaving_before_the_tests_does_not_pass_even_with_a_right_program(code: str) -> None:
    assert verdict(f"{RIGHT}\n{code}")[0] in ("error", "died")


def test_a_program_that_sleeps_is_ended_by_the_clock() -> None:
    began = time.monotonic()
    found = run("import time; time.sleep(1000)", "", TESTS, Limits(cpu_s=1))
    assert found.status == "timeout"
    assert time.monotonic() - began < 60


def test_a_flood_into_every_stream_ends_bounded() -> None:
    code = "import os\nwhile True:\n  for n in range(16):\n"
    code += "    try: os.write(n, b'x' * 65536)\n    except OSError: pass"
    assert verdict(code)[0] == "died"


@linux
@pytest.mark.parametrize(
    "code",
    [
        "import os\nwhile True: os.fork()",
        "import threading\nwhile True: threading.Thread(target=print).start()",
        "import subprocess; subprocess.run(['/bin/true'])",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import multiprocessing as m; m.Process(target=print).start()",
        "import os; os.setsid(); os.fork()",
    ],
)
def test_no_process_and_no_thread_is_started(code: str) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    assert verdict(f"{code}\n{RIGHT}")[0] in ("error", "died")
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


@linux
def test_nothing_is_written_and_nothing_of_the_users_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("word")
    tmp_path.chmod(0o777)
    secret.chmod(0o666)
    for code in (
        f"open({str(secret)!r}).read()",
        f"open({str(secret)!r}, 'w')",
        f"open({str(tmp_path / 'new')!r}, 'w').write('x')",
        f"import os; os.remove({str(secret)!r})",
        "open('huge', 'wb').write(bytes(1 << 20))",
        f"open('/proc/{os.getpid()}/environ', 'rb').read()",
        "import os; os.listdir('/root')",
        "import os; os.mkdir('x')",
        "import os; os.memfd_create('x')",
    ):
        status, detail = verdict(f"{code}\n{RIGHT}")
        assert (code, status) == (code, "error")
        assert any(word in detail for word in ("Permission", "Errno"))
    assert secret.read_text() == "word"
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "word")
    assert verdict(f"import os\nassert not os.environ, os.environ\n{RIGHT}") == ("passed", "")


@linux
def test_the_parent_is_not_signalled_and_the_network_not_reached() -> None:
    for code in ("os.kill(os.getppid(), 15)", "os.kill(-1, 15)", "os.killpg(1, 15)"):
        assert verdict(f"import os\n{code}\n{RIGHT}")[0] == "error"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        status, detail = verdict(
            f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\n{RIGHT}"
        )
    assert (status, "Error" in detail) == ("error", True)


@linux
def test_rights_once_taken_do_not_come_back() -> None:
    code = (
        "import resource as r\nfor k in (r.RLIMIT_CPU, r.RLIMIT_AS, r.RLIMIT_NPROC): r.setrlimit(k, (-1, -1))"
    )
    assert verdict(f"{code}\n{RIGHT}")[0] == "error"


def test_the_order_of_a_set_is_the_same_every_time() -> None:
    code = "def f(): return list({'a', 'bc', 'def', 'g'})"
    first = verdict(code, ["assert f() == 0, f()", "pass"])
    assert first == verdict(code, ["assert f() == 0, f()", "pass"])


def test_a_program_without_tests_is_refused() -> None:
    with pytest.raises(ValueError, match="without tests"):
        run(RIGHT, "", [])


@linux
def test_the_self_test_names_every_guard_as_held_or_missing() -> None:
    held, missing = self_test()
    assert sorted(held + missing) == sorted(("limits", "user", "network", "files", "calls"))
    assert {"limits", "calls"} <= set(held)
