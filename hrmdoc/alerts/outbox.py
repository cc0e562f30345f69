"""Messages of one route that are not delivered yet, a file each: written before anything is sent, removed
once the target took it."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hrmdoc import systems
from hrmdoc.alerts.backoff import Failing, next_try
from hrmdoc.alerts.message import Message
from hrmdoc.locks import Lock, acquire
from hrmdoc.paths import read_kept, replace_file
from hrmdoc.routes import Route

KEEP_S = 7 * 86_400.0
"""Seconds after which a message that was never taken is given up."""
IN_A_ROW = 3
"""Messages that a target may refuse before the rest waits: one that it cannot take holds up no other."""
REMEMBERED = 200
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of sending one message.

    Attributes:
        why: what went wrong; "" where the target took it.
        lasting: it will never take this message.
        after_s: seconds for which it asked to be left alone.
    """

    why: str = ""
    lasting: bool = False
    after_s: float = 0.0


class Outbox:
    """The queue of one route.

    Of several processes one sends at a time, in the order in which messages were put. A target that was down
    is tried again after a pause that grows; what is said of one group stays in order. Where the disk takes
    nothing, messages wait in memory.

    Args:
        folder: the folder of the route; made when needed, for this user alone.
        route: what it may be sent when.
        say: gets a line when sending fails, and when it works again.
    """

    def __init__(self, folder: Path, route: Route, say: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._route = route
        self._say = say
        self._memory: dict[str, Message] = {}
        self._sent: list[str] = []
        self.delivered = 0

    def put(self, message: Message) -> None:
        """Queues a message. One that was delivered by that name is not queued again."""
        if message.id in self._remembered():
            return
        self._memory[f"{message.at:017.6f}-{message.id}"] = message
        self._persist()

    def waiting(self) -> list[tuple[str, Message]]:
        """What is queued, by whichever process, the oldest first."""
        return sorted((self._on_disk() | self._memory).items())

    def given_up(self) -> list[tuple[str, Message]]:
        """What its target never took."""
        return sorted(self._on_disk("given-up").items())

    def failing(self) -> Failing:
        """How the target failed last; the default where it did not."""
        try:
            return msgspec.json.decode(read_kept(self.folder / "failing.json", _LARGEST), type=Failing)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return Failing()

    def send_due(self, now: float, deliver: Callable[[Message], Answer], *, at_once: bool = False) -> bool:
        """Sends what may be sent now; whether all of that was taken. Nothing is sent while another process
        sends.

        Args:
            at_once: tries a target again although its pause is not over.
        """
        self._persist()
        waiting = self.waiting()
        if not waiting or (not at_once and self.failing().rests(now)):
            return not waiting
        lock = self._locked()
        if lock is None:
            return False
        with lock:
            return self._send(self.waiting(), now, deliver)

    def _send(
        self, waiting: list[tuple[str, Message]], now: float, deliver: Callable[[Message], Answer]
    ) -> bool:
        stuck: set[str] = set()
        failures: list[Answer] = []
        for name, message in waiting:
            if message.key in stuck:
                continue
            if self._route.holds(message.severity, now):
                stuck.add(message.key)
                continue
            answer = Answer() if message.id in self._remembered() else deliver(message)
            if not answer.why:
                self._done(name, message)
            elif answer.lasting or now - message.at > KEEP_S:
                self._give_up(name, message, answer.why)
            else:
                stuck.add(message.key)
                failures.append(answer)
                if len(failures) >= IN_A_ROW:
                    break
        self._note(failures, now)
        return not failures

    def retry(self) -> int:
        """Puts what was given up back into the queue, and ends the pause; how many they were."""
        lost = self.given_up()
        for name, message in lost:
            self._memory[name] = message
            with suppress(OSError):
                (self.folder / "given-up" / f"{name}.json").unlink()
        self._persist()
        with suppress(OSError):
            (self.folder / "failing.json").unlink()
        return len(lost)

    def _note(self, failures: list[Answer], now: float) -> None:
        before = self.failing()
        if failures:
            answer = failures[0]
            after = max(one.after_s for one in failures)
            failing = Failing(before.count + 1, answer.why, now, next_try(before.count + 1, now, after))
            replace_file(self.folder / "failing.json", msgspec.json.encode(failing).decode())
            if answer.why != before.why:
                self._say(f"{self._route.name}: {answer.why}; it is tried again")
        elif before.count:
            with suppress(OSError):
                (self.folder / "failing.json").unlink()
            self._say(f"{self._route.name}: works again")

    def _done(self, name: str, message: Message) -> None:
        self.delivered += 1
        self._remember(message.id)
        self._remove(name)

    def _give_up(self, name: str, message: Message, why: str) -> None:
        self._say(f"{self._route.name}: given up: {message.title}: {why}")
        replace_file(self.folder / "given-up" / f"{name}.json", msgspec.json.encode(message).decode())
        self._remove(name)

    def _remove(self, name: str) -> None:
        self._memory.pop(name, None)
        with suppress(OSError):
            (self.folder / "queue" / f"{name}.json").unlink()

    def _persist(self) -> None:
        """Writes what waits in memory alone."""
        for name, message in list(self._memory.items()):
            if not own_folder(self.folder):
                return
            if replace_file(
                self.folder / "queue" / f"{name}.json", msgspec.json.encode(message).decode(), durable=True
            ):
                del self._memory[name]

    def _on_disk(self, kind: str = "queue") -> dict[str, Message]:
        return dict(_read(self.folder / kind))

    def _remembered(self) -> list[str]:
        """The newest that were delivered, by whichever process."""
        with suppress(OSError, UnicodeDecodeError):
            self._sent = read_kept(self.folder / "sent", _LARGEST).decode("utf-8").split()
        return self._sent

    def _remember(self, name: str) -> None:
        """A process that is killed after this does not send it again."""
        self._sent = [*self._remembered(), name][-REMEMBERED:]
        replace_file(self.folder / "sent", "\n".join(self._sent) + "\n", durable=True)

    def _locked(self) -> Lock | None:
        try:
            return acquire(self.folder / "sending.lock") if own_folder(self.folder) else Lock(-1)
        except OSError:
            return Lock(-1)


def own_folder(folder: Path) -> bool:
    """Makes the folder where it is missing; whether it is one of this user's that nobody else can read, and
    no link."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == systems.user()


def _read(folder: Path) -> Iterator[tuple[str, Message]]:
    """The messages in a folder; what is none, or no regular file, is passed over."""
    for file in sorted(folder.glob("*.json")):
        with suppress(OSError, msgspec.MsgspecError, RecursionError):
            yield file.stem, msgspec.json.decode(read_kept(file, _LARGEST), type=Message)
