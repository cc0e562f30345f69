"""Programs that want to pass without solving anything, or to do harm. None may pass; the parent goes on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from hrmdoc.trainer.sandbox import Limits, run, self_test
from hrmdoc.trainer.sandbox.confine import GUARDS

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
    assert sorted(held + missing) == sorted(GUARDS)
    assert {"limits", "calls"} <= set(held)


ATTRIBUTES = [
    "os.chmod(p, 0o777)",
    "os.chmod('f', 0o777, dir_fd=os.open(d, os.O_PATH))",
    "os.chown(p, os.getuid(), os.getgid())",
    "os.chown('f', -1, os.getgid(), dir_fd=os.open(d, os.O_PATH))",
    "os.utime(p, (0, 0))",
    "os.utime('f', (0, 0), dir_fd=os.open(d, os.O_PATH))",
    "os.setxattr(p, 'user.x', b'1')",
    "os.truncate(p, 0)",
    "os.open(p, os.O_RDONLY | os.O_TRUNC)",
    "os.open(p, os.O_RDWR)",
    "os.rename(p, p + '2')",
    "os.link(p, p + '2')",
]


@pytest.mark.parametrize("owner", ["nobody", "self"])
@linux
def test_owner_mode_times_and_attributes_of_files_outside_stay(tmp_path: Path, owner: str) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)  # one of them may be the folder for temporary files
    file = tmp_path / "f"
    file.write_text("word")
    file.chmod(0o640)
    if owner == "nobody" and os.geteuid() == 0:
        os.chown(file, 65_534, 65_534)
        os.chown(tmp_path, 65_534, 65_534)
    before, names = file.stat(), os.listxattr(file)
    for call in ATTRIBUTES:
        code = f"import os\nd = {str(tmp_path)!r}\np = d + '/f'\n{call}\n{RIGHT}"
        status, detail = verdict(code)
        assert (call, status) == (call, "error")
        assert any(word in detail for word in ("Permission", "Read-only", "NotImplementedError")), detail
    assert file.stat() == before
    assert (file.read_text(), os.listxattr(file)) == ("word", names)


ALONE = """
import ctypes, os, sys
sys.path.insert(0, {folder!r})
import confine
assert confine.{guard}(ctypes.CDLL(None, use_errno=True)), "not held"
for call in (lambda: os.chmod({file!r}, 0o777), lambda: os.utime({file!r}, (0, 0)),
             lambda: os.chown({file!r}, 1, 1), lambda: open({file!r}, "w")):
    try:
        call()
    except OSError:
        continue
    sys.exit("changed")
"""


@linux
@pytest.mark.parametrize("guard", ["_allow_calls", "_mounts"])
def test_each_of_two_guards_alone_keeps_files_as_they_are(tmp_path: Path, guard: str) -> None:
    if guard == "_mounts" and "mounts" not in self_test(SMALL)[0]:
        pytest.skip("no mount namespace of one's own here")
    file = tmp_path / "f"
    file.write_text("word")
    folder = str(Path(sys.modules["hrmdoc.trainer.sandbox.run"].__file__ or "").parent)
    script = ALONE.format(folder=folder, guard=guard, file=str(file))
    if guard == "_mounts" and os.geteuid() != 0:
        script = script.replace("import confine", "import confine; confine._network(ctypes.CDLL(None))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_text() == "word"


@linux
def test_root_becomes_nobody_also_where_only_root_may_read_python(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root becomes another")
    library = tmp_path / "library"
    library.mkdir(mode=0o700)
    (library / "late.py").write_text("x = 3")
    secret = tmp_path / "secret"
    secret.write_text("word")
    secret.chmod(0o600)
    folder = str(Path(sys.modules["hrmdoc.trainer.sandbox.run"].__file__ or "").parent)
    script = f"""
import os, sys
sys.path[:0] = [{folder!r}, {str(library)!r}]
from confine import confine
held = confine(5, 1 << 30, os.getppid())
import late
print(late.x, os.geteuid(), "user" in held, "files" in held)
try:
    open({str(secret)!r})
except OSError as error:
    print(type(error).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    if "False" in done.stdout:
        pytest.skip("no Landlock here")
    assert done.stdout == "3 65534 True True\nPermissionError\n"


FORGED = """
import gc, json, os
word = [o["word"] for o in gc.get_objects() if isinstance(o, dict) and "word" in o and "cpu_s" in o]
import sys
frame = sys._getframe()
while frame:
    word += [v["word"] for v in frame.f_locals.values() if isinstance(v, dict) and "cpu_s" in v]
    frame = frame.f_back
for n in range(3, 32):
    try:
        os.write(n, json.dumps({{"word": word[0], {more}}}).encode())
    except OSError:
        pass
os._exit(0)
"""


@pytest.mark.parametrize(
    "more",
    [
        '"status": 5',
        '"status": "passed"',
        '"status": "passed", "detail": 3, "guards": []',
        '"status": "passed", "detail": "", "guards": 4',
        '"status": "passed", "detail": "", "guards": [[]]',
        '"status": ["passed"], "detail": "", "guards": []',
    ],
)
def test_a_forged_report_that_is_none_ends_no_scoring(more: str) -> None:
    assert verdict(FORGED.format(more=more))[0] == "died"
