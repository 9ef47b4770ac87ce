"""Marks the owner of a directory in /tmp, so that a later run can distinguish the residue of a killed run from directories in use."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

MARK = "owner"
SCRATCH = "tidemark-test-"  # prefix of directories that are removed with their program


@dataclass(frozen=True)
class Owner:
    pid: int
    started: str

    def runs(self) -> bool:
        return _started(self.pid) == self.started


def mark(folder: Path) -> None:
    """Atomic: a partial mark would have an unknown owner."""
    fresh = folder / f"{MARK}.new"
    try:
        fresh.write_text(_mark(os.getpid()))
        fresh.rename(folder / MARK)
    finally:
        fresh.unlink(missing_ok=True)


def owner_of(folder: Path) -> Owner | None:
    """The owner, running or not. None if unknown: no or partial mark, another user, or another PID namespace."""
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return None
        pid, started, namespace = (folder / MARK).read_text().split()
        return Owner(int(pid), started) if namespace == _namespace() else None
    except (OSError, ValueError):
        return None


def gone(folder: Path) -> bool:
    """Whether the owner is known and no longer runs."""
    owner = owner_of(folder)
    return owner is not None and not owner.runs()


def clear_away(place: Path, prefix: str) -> None:
    """Directories of killed drivers; the kernel has ended their processes."""
    for folder in place.glob(f"{prefix}*"):
        if gone(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _mark(pid: int) -> str:
    return f"{pid} {_started(pid)} {_namespace()}"


def _started(pid: int) -> str:
    """Start time of a process, since its number may be reused. A zombie counts as gone, even if its parent never reaps it."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return "gone" if state in "ZX" else fields[18]
    except (OSError, IndexError, ValueError):
        return "gone"


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")
