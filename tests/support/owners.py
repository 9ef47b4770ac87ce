"""Who made a folder in /tmp, so that a later run can tell what a killed one left behind from what is in use."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

MARK = "owner"
SCRATCH = "tidemark-test-"  # of folders that go with the program they were made for


@dataclass(frozen=True)
class Owner:
    pid: int
    started: str

    def runs(self) -> bool:
        return _started(self.pid) == self.started


def mark(folder: Path) -> None:
    """Whole or not at all: of half a mark nobody could tell whose it is."""
    fresh = folder / f"{MARK}.new"
    try:
        fresh.write_text(_mark(os.getpid()))
        fresh.rename(folder / MARK)
    finally:
        fresh.unlink(missing_ok=True)


def owner_of(folder: Path) -> Owner | None:
    """Whoever marked it, whether that runs or not. None where nobody can tell: no mark or half a one, of another user, or of another PID namespace."""
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return None
        pid, started, namespace = (folder / MARK).read_text().split()
        return Owner(int(pid), started) if namespace == _namespace() else None
    except (OSError, ValueError):
        return None


def gone(folder: Path) -> bool:
    """Whether whoever marked it runs no more; not of a folder of which nobody can tell."""
    owner = owner_of(folder)
    return owner is not None and not owner.runs()


def clear_away(place: Path, prefix: str) -> None:
    """Folders of drivers that were killed; the kernel has ended what ran in them."""
    for folder in place.glob(f"{prefix}*"):
        if gone(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _mark(pid: int) -> str:
    return f"{pid} {_started(pid)} {_namespace()}"


def _started(pid: int) -> str:
    """When a process began: by now its number may be another's. One that has ended is gone, though its parent may never look."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return "gone" if state in "ZX" else fields[18]
    except (OSError, IndexError, ValueError):
        return "gone"


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")
