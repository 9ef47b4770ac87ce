"""Who made a folder in /tmp, so that a later run can tell what a killed one left behind from what is in use."""

import os
import shutil
from pathlib import Path

MARK = "owner"
SCRATCH = "tidemark-test-"  # of folders that go with the program they were made for


def mark(folder: Path) -> None:
    (folder / MARK).write_text(_mark(os.getpid()))


def gone(folder: Path) -> bool:
    """Whether whoever marked it runs no more. Of a folder without a mark, of another user, or of another PID namespace nobody can tell."""
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return False
        pid, started, namespace = (folder / MARK).read_text().split()
        return namespace == _namespace() and _started(int(pid)) != started
    except (OSError, ValueError):
        return False


def clear_away(place: Path, prefix: str) -> None:
    """Folders of drivers that were killed; the kernel has ended what ran in them."""
    for folder in place.glob(f"{prefix}*"):
        if gone(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _mark(pid: int) -> str:
    return f"{pid} {_started(pid)} {_namespace()}"


def _started(pid: int) -> str:
    """When a process began: by now its number may be another's."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return "gone"


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")
