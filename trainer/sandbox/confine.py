"""Takes rights away from the current process, for good. Standard library only: the sandbox's child loads this
file by itself.

Five guards, each independent of the others, so that one missing leaves four:

    limits   CPU time, memory, no new processes or threads, nothing written to files, few open files
    (setrlimit) user     root becomes nobody; all capabilities are dropped network  an own, empty network
    namespace (unshare) files    reads nothing but Python's library and the system's shared ones, writes
    nothing; no signals to others (Landlock) calls    no fork, exec, socket, ptrace, kill, mount and the like,
    which also holds root to the limits (seccomp)

`limits` needs a Unix, the rest Linux. What the kernel or a container refuses is left out of the list that
`confine` returns.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys

GUARDS = ("limits", "user", "network", "files", "calls")
NOBODY = 65_534

_NEWUSER, _NEWIPC, _NEWNET = 0x1000_0000, 0x0800_0000, 0x4000_0000
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 1, 4, 22, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = (
    444,
    445,
    446,
)  # Landlock's numbers are the same on every architecture
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# Numbers of the calls that are refused: Linux's own tables, arch/x86/entry/syscalls/syscall_64.tbl and
# asm-generic/unistd.h. name: (x86_64, aarch64); -1 where an architecture lacks the call.
_REFUSED = {
    "fork": (57, -1), "vfork": (58, -1), "clone": (56, 220), "clone3": (435, 435),
    "execve": (59, 221), "execveat": (322, 281),
    "socket": (41, 198), "socketpair": (53, 199), "io_uring_setup": (425, 425),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "prlimit64": (302, 261), "setpriority": (141, 140), "sched_setaffinity": (203, 122),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41),
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),  # memory outside RLIMIT_AS
}  # fmt: skip
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
    held = {"network": calls is not None and _network(calls)}
    if os.geteuid() == 0 and _readable_by_all():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    powerless = calls is None or _drop_powers(calls, parent)
    held["user"] = powerless and os.geteuid() != 0
    _limits(cpu_s, memory_bytes)
    held["limits"] = True
    held["files"] = calls is not None and _files(calls)
    held["calls"] = calls is not None and _refuse_calls(calls)
    return [name for name in GUARDS if held[name]]


def _drop_powers(calls: ctypes.CDLL, parent: int) -> bool:
    """Gives up capabilities for good and ties this process to its `parent`; whether none are left."""
    powerless = _drop_capabilities(calls)
    calls.prctl(_SET_PDEATHSIG, 9, 0, 0, 0)
    calls.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    return powerless


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


def _drop_capabilities(calls: ctypes.CDLL) -> bool:
    header = (ctypes.c_uint32 * 2)(0x2008_0522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    return bool(calls.capset(header, (ctypes.c_uint32 * 6)()) == 0)


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


def _refuse_calls(calls: ctypes.CDLL) -> bool:
    """A seccomp filter (classic BPF): the calls of the table fail with EPERM; another architecture's calls
    kill."""
    known = _ARCHITECTURES.get(os.uname().machine)
    if known is None or sys.maxsize < 1 << 32:
        return False
    column, audit = known
    numbers = [row[column] for row in _REFUSED.values() if row[column] >= 0]

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    tests = [(at_least, 0x4000_0000)] if column == 0 else []  # x86's second numbering, x32
    tests += [(equal, number) for number in numbers]
    program = [step(load, 4), step(equal, audit, 1), step(give, 0x8000_0000), step(load, 0)]
    program += [step(code, value, len(tests) - place) for place, (code, value) in enumerate(tests)]
    program += [step(give, 0x7FFF_0000), step(give, 0x0005_0001)]  # allow; EPERM
    body = ctypes.create_string_buffer(b"".join(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(body)))
    return bool(calls.prctl(_SET_SECCOMP, 2, header, 0, 0) == 0)
