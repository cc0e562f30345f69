"""Takes rights away from the current process, for good. Standard library only: the sandbox's child loads this
file by itself.

Six guards, each independent of the others, so that one missing leaves five:

    limits   CPU time, memory, no new processes or threads, nothing written to files, few open files
    user     root becomes nobody; all capabilities are dropped, but for reading a Python that lies where only
             root may look, and that only where `files` holds
    network  an own, empty network namespace (unshare)
    mounts   an own mount namespace in which every file system is read-only
    files    reads nothing but Python's library and the system's shared ones, writes nothing; no signals to
             others (Landlock)
    calls    the system calls that Python needs to compute, and no others; no file is opened for writing, and
             none changes owner, mode, times or attributes (seccomp)

`limits` needs a Unix, the rest Linux. What the kernel or a container refuses is left out of the list that
`confine` returns.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys

GUARDS = ("limits", "user", "network", "mounts", "files", "calls")
NOBODY = 65_534

_NEWUSER, _NEWIPC, _NEWNET, _NEWNS = 0x1000_0000, 0x0800_0000, 0x4000_0000, 0x0002_0000
_PRIVATE_ALL = 0x4000 | 0x4_0000  # MS_REC | MS_PRIVATE
_MOUNT_SETATTR, _RECURSIVE, _HERE = 442, 0x8000, -100
_RDONLY_NOSUID = 3
_READ_ANYWHERE = 1 << 2  # CAP_DAC_READ_SEARCH
_SET_PDEATHSIG, _SET_KEEPCAPS, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 1, 8, 22, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = (
    444,
    445,
    446,
)  # Landlock's numbers are the same on every architecture
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# Numbers of the calls that are allowed: Linux's own tables, arch/x86/entry/syscalls/syscall_64.tbl and
# asm-generic/unistd.h. name: (x86_64, aarch64); -1 where an architecture lacks the call.
_ALLOWED = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "lseek": (8, 62), "pread64": (17, 67),
    "readv": (19, 65), "writev": (20, 66), "stat": (4, -1), "fstat": (5, 80), "lstat": (6, -1),
    "newfstatat": (262, 79), "statx": (332, 291), "access": (21, -1), "faccessat": (269, 48),
    "faccessat2": (439, 439), "readlink": (89, -1), "readlinkat": (267, 78), "getdents64": (217, 61),
    "getcwd": (79, 17), "dup": (32, 23), "dup2": (33, -1), "dup3": (292, 24), "pipe": (22, -1),
    "pipe2": (293, 59), "poll": (7, -1), "ppoll": (271, 73), "select": (23, -1), "pselect6": (270, 72),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216),
    "madvise": (28, 233), "membarrier": (324, 283), "futex": (202, 98), "set_robust_list": (273, 99),
    "rseq": (334, 293), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "pause": (34, -1), "alarm": (37, -1), "getitimer": (36, 102),
    "setitimer": (38, 103), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, -1),
    "times": (100, 153), "getrusage": (98, 165), "sysinfo": (99, 179), "uname": (63, 160),
    "getrandom": (318, 278), "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178),
    "getpgrp": (111, -1), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176),
    "getegid": (108, 177), "getgroups": (115, 158), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
# Opened for reading alone: the place of the flags among the arguments.
_OPENS = ((2, -1, 1), (257, 56, 2))
_WRITES = 0o3 | 0o100 | 0o1000  # O_ACCMODE | O_CREAT | O_TRUNC
_FCNTL = (72, 25)
_FCNTL_ALLOWED = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC: none sends signals
_ARCHITECTURES = {
    "x86_64": (0, 0xC000_003E),
    "aarch64": (1, 0xC000_00B7),
}  # column of the table, AUDIT_ARCH_*
_READABLE = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/usr/share/zoneinfo", "/dev/null", "/dev/urandom"),
)


def confine(cpu_s: int, memory_bytes: int, parent: int) -> list[str]:
    """Applies every guard there is.

    Args:
        cpu_s: seconds of CPU time until the process is killed.
        memory_bytes: of address space.
        parent: the process that started this one; when it dies, this one is killed too.

    Returns:
        The names of the guards that hold.
    """
    calls = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    held = dict.fromkeys(GUARDS, False)
    if calls is not None:
        calls.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        held["network"] = _network(calls)
        held["mounts"] = _mounts(calls)
        held["files"] = _files(calls)
    held["user"] = _become_nobody(calls, reads_by_right=held["files"] and not _readable_by_all())
    if calls is not None:
        calls.prctl(_SET_PDEATHSIG, 9, 0, 0, 0)  # a change of user takes it away
        if os.getppid() != parent:
            os._exit(1)
    _limits(cpu_s, memory_bytes)
    held["limits"] = True
    held["calls"] = calls is not None and _allow_calls(calls)
    return [name for name in GUARDS if held[name]]


def _become_nobody(calls: ctypes.CDLL | None, *, reads_by_right: bool) -> bool:
    """Makes root nobody and gives up capabilities for good; whether this process is root no more.

    Args:
        reads_by_right: Python lies where nobody may look, and Landlock bounds what is read: then the right to
            read anywhere stays.
    """
    kept = 0
    if os.geteuid() == 0 and (reads_by_right or _readable_by_all()):
        if reads_by_right and calls is not None:
            kept = _READ_ANYWHERE
            calls.prctl(_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    return (calls is None or _keep_capabilities(calls, kept)) and os.geteuid() != 0


def _limits(cpu_s: int, memory_bytes: int) -> None:
    wanted = {
        "RLIMIT_CPU": cpu_s,
        "RLIMIT_AS": memory_bytes,
        "RLIMIT_NPROC": 0,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NOFILE": 32,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):  # macOS knows RLIMIT_AS and refuses to set it
            if sys.platform == "linux":
                raise


def _readable_by_all() -> bool:
    """Whether another user reaches Python's library; it may lie in root's home."""
    for place in sys.path:
        folder = place
        while folder != os.path.dirname(folder):
            if os.path.exists(folder) and not os.stat(folder).st_mode & 0o001:
                return False
            folder = os.path.dirname(folder)
    return True


def _network(calls: ctypes.CDLL) -> bool:
    own_user = (
        0 if os.geteuid() == 0 else _NEWUSER
    )  # only root may leave a namespace without an own user namespace
    return any(calls.unshare(flags) == 0 for flags in (_NEWNET | _NEWIPC | own_user, _NEWNET | own_user))


def _mounts(calls: ctypes.CDLL) -> bool:
    """Every file system read-only, as this process alone sees them (kernel 5.12 and later)."""
    if calls.unshare(_NEWNS) or calls.mount(b"none", b"/", None, _PRIVATE_ALL, None):
        return False
    wanted = ctypes.create_string_buffer(struct.pack("=QQQQ", _RDONLY_NOSUID, 0, 0, 0))
    return _call(calls, _MOUNT_SETATTR, _HERE, b"/", _RECURSIVE, wanted, 32) == 0


def _keep_capabilities(calls: ctypes.CDLL, kept: int) -> bool:
    header = (ctypes.c_uint32 * 2)(0x2008_0522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    return bool(calls.capset(header, (ctypes.c_uint32 * 6)(kept, kept)) == 0)


def _call(calls: ctypes.CDLL, number: int, *arguments: object) -> int:
    calls.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return int(calls.syscall(ctypes.c_long(number), *words))


def _files(calls: ctypes.CDLL) -> bool:
    """Landlock (kernel 5.13 and later): every right that it knows is taken, then reading is given back for a
    few folders."""
    version = _call(calls, _CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    rights = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    network = 3 if version >= 4 else 0  # binding to and connecting to TCP ports
    scope = 3 if version >= 6 else 0  # abstract Unix sockets of others, signals to others
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _call(
        calls,
        _CREATE_RULESET,
        ctypes.create_string_buffer(struct.pack("=QQQ", rights, network, scope)),
        size,
        0,
    )
    if ruleset < 0:
        return False
    for place in (*_READABLE, *sys.path):
        if not os.path.exists(place):
            continue
        given = _READ_FILE | (_READ_DIR if os.path.isdir(place) else 0)
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", given, opened))
        failed = _call(calls, _ADD_RULE, ruleset, 1, rule, 0)
        os.close(opened)
        if failed:
            return False
    restricted = _call(calls, _RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return restricted


def _allow_calls(calls: ctypes.CDLL) -> bool:
    """A seccomp filter (classic BPF): what is not in the table fails with EPERM; another architecture's calls
    kill."""
    known = _ARCHITECTURES.get(os.uname().machine)
    if known is None or sys.maxsize < 1 << 32:
        return False
    column, audit = known

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06
    allow, refuse = step(give, 0x7FFF_0000), step(give, 0x0005_0001)  # EPERM
    program = [step(load, 4), step(equal, audit, 1), step(give, 0x8000_0000), step(load, 0)]
    for row in _OPENS:
        if row[column] >= 0:
            program += [step(equal, row[column], 0, 4), step(load, _argument(row[2]))]
            program += [step(any_bit, _WRITES, 0, 1), refuse, allow]
    commands = [step(equal, one, len(_FCNTL_ALLOWED) - place) for place, one in enumerate(_FCNTL_ALLOWED)]
    program += [step(equal, _FCNTL[column], 0, len(commands) + 3), step(load, _argument(1))]
    program += [*commands, refuse, allow]
    numbers = [row[column] for row in _ALLOWED.values() if row[column] >= 0]
    program += [step(equal, number, len(numbers) - place) for place, number in enumerate(numbers)]
    program += [refuse, allow]
    body = ctypes.create_string_buffer(b"".join(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(body)))
    return bool(calls.prctl(_SET_SECCOMP, 2, header, 0, 0) == 0)


def _argument(place: int) -> int:
    """Where the lower half of an argument stands in what a filter sees (both architectures are
    little-endian)."""
    return 16 + 8 * place
