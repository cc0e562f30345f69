"""Which of several watchers watches which run: shares of all runs, each held by a lease in a shared folder.

No server and no lock is needed, so that it holds on network file systems too. Three kinds of files:

- `members/ID`: a watcher's sign of life, a number that it counts up in place: what opens a file is told its
  newest content, while the names in a folder may be old ones. Others measure by their own clock for how long
  it stood still, so that clocks need not agree.
- `shares/NN.EPOCH`: the lease of a share, made so that one of several who try succeeds and never changed. Its
  content is who holds it, or nothing where it was given back; the highest epoch counts. Whoever takes over
  makes the next one.
- A watcher that was stopped for long makes the next epoch of its own leases before it reports anything: where
  that fails, somebody has taken the share over.

A share belongs to the living watcher whose name hashes highest with it (rendezvous hashing): a watcher that
comes or goes moves its own part of the shares and no others.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hrmdoc.paths import open_kept

SHARES = 64
BEAT_S = 1.0
EXPIRES_S = 10.0
"""Seconds for which a sign of life may stand still; then its watcher is taken for dead."""
FORGET_S = 600.0
KEPT_EPOCHS = 8
"""Leases of a share that stay: whoever sees an old list of names meets one that is there already."""


def steady() -> float:
    """Seconds of a clock that nobody sets and that goes on while the machine sleeps, where there is one."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


def share_of(run: str) -> int:
    """The share of a run, by its path below the root: the same for every watcher."""
    return (
        int.from_bytes(hashlib.blake2b(run.encode(errors="surrogateescape"), digest_size=4).digest()) % SHARES
    )


class Leases:
    """The shares of this process.

    Args:
        folder: where the watchers of one root meet; made when missing.
        clock: seconds of a clock that nobody sets.

    Attributes:
        mine: the shares that it holds.

    Raises:
        OSError: nothing can be written there.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = steady) -> None:
        self._members, self._shares, self._clock = folder / "members", folder / "shares", clock
        self.id = f"{platform.node()[:60]}-{os.getpid()}-{secrets.token_hex(4)}".replace("/", "_")
        self.mine: set[int] = set()
        self._epochs: dict[int, tuple[int, str]] = {}
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._beaten, self._count = clock(), 0
        for place in (self._members, self._shares):
            place.mkdir(parents=True, exist_ok=True)
        self._sign = open(self._members / self.id, "xb", buffering=0)  # noqa: SIM115 (held as long as it lives)
        self.beat()

    def beat(self) -> None:
        """Gives a sign of life, takes shares that nobody living holds, and gives back those that are
        another's now. What is no longer in `mine` must not be reported any more."""
        now = self._clock()
        paused = now - self._beaten > EXPIRES_S / 2
        self._beaten = now
        self._count += 1
        with suppress(OSError):
            self._sign.seek(0)
            self._sign.write(b"%016d" % self._count)
        living = self._living(now)
        self._read_leases()
        for share in sorted(self.mine):
            if self._holder(share) != self.id or (paused and not self._take(share)):
                self.mine.discard(share)
        for share in range(SHARES):
            owner = max(living, key=lambda one: _weight(one, share))
            if owner != self.id and share in self.mine:
                self.mine.discard(share)
                self._take(share, "")
            elif owner == self.id and share not in self.mine and self._free(share, living, now):
                self._take(share)

    @property
    def stale(self) -> bool:
        """Whether so long has passed since the last sign of life that another may have taken a share over."""
        return self._clock() - self._beaten > EXPIRES_S / 2

    def close(self) -> None:
        """Gives everything back."""
        for share in sorted(self.mine):
            self._take(share, "")
        self.mine.clear()
        self._sign.close()
        with suppress(OSError):
            (self._members / self.id).unlink()

    def _living(self, now: float) -> list[str]:
        """Those whose sign moved within the time, this one among them; a new one counts as living."""
        found = {self.id}
        for name in _names(self._members):
            if name == self.id:
                continue
            count = _content(self._members / name)
            known = self._seen.get(name)
            if count is None:
                continue
            if known is None or known[0] != count:
                self._seen[name] = known = count, now
            if now - known[1] < EXPIRES_S:
                found.add(name)
            elif now - known[1] > FORGET_S:
                with suppress(OSError):
                    (self._members / name).unlink()
        return sorted(found)

    def _read_leases(self) -> None:
        newest: dict[int, int] = {}
        for name in _names(self._shares):
            number, _, made = name.partition(".")
            if number.isdecimal() and made.isdecimal() and int(number) < SHARES:
                newest[int(number)] = max(newest.get(int(number), 0), int(made))
        for share, epoch in newest.items():
            known = self._epochs.get(share, (0, ""))
            if epoch > known[0] or (epoch == known[0] and known[1] == "?"):
                holder = _content(self._place(share, epoch)) or b"?"  # made, and not written yet
                self._epochs[share] = epoch, holder.decode(errors="replace").strip()

    def _holder(self, share: int) -> str:
        return self._epochs.get(share, (0, "-"))[1]

    def _free(self, share: int, living: list[str], now: float) -> bool:
        """Whether nobody living holds it."""
        holder = self._holder(share)
        if holder == "?":  # whoever made it died before it wrote its name, or writes it right now
            mark = f"?{share}.{self._epochs[share][0]}"
            return now - self._seen.setdefault(mark, (b"", now))[1] >= EXPIRES_S
        return holder not in living or holder == self.id

    def _take(self, share: int, holder: str | None = None) -> bool:
        """Makes the next lease of a share, in the name of this watcher or, as "", of nobody; False where
        another did."""
        epoch = self._epochs.get(share, (0, ""))[0] + 1
        name = self.id if holder is None else "-"
        try:
            number = os.open(self._place(share, epoch), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with open(number, "wb", buffering=0) as file:
                file.write(name.encode())
        except OSError:
            return False
        self._epochs[share] = epoch, name
        if holder is None:
            self.mine.add(share)
        with suppress(OSError):
            self._place(share, epoch - KEPT_EPOCHS).unlink()
        return True

    def _place(self, share: int, epoch: int) -> Path:
        return self._shares / f"{share:02d}.{epoch}"


def _weight(member: str, share: int) -> bytes:
    return hashlib.blake2b(f"{member}\0{share}".encode(errors="surrogateescape"), digest_size=8).digest()


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _content(file: Path) -> bytes | None:
    try:
        with open_kept(file) as opened:
            return opened.read(256)
    except OSError:
        return None
