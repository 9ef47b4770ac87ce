"""The processes of a run, and the residue of a killed one. A container has its own session and outlives its NodeManager. It is found by its
environment, as every process of YARN: the run's directory is in the paths of its local directories and its configuration. Groups are found by
the record in the directory."""

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from support import owners
from support.yarn import groups

PLACE = Path("/tmp")  # not TMPDIR: the next run must find the residue of a killed one
PREFIX = "tidemark-yarn-"
END_S = 120


def processes_of(folder: Path) -> dict[int, str]:
    """Pid → command line."""
    found, name = {}, str(folder).encode()
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if int(file.parent.name) != os.getpid() and name in file.read_bytes():
                found[int(file.parent.name)] = (file.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def session(first: int) -> set[int]:
    """Processes of the group with this leader, whether that still exists or not."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rsplit(")", 1)[1].split()[3]) == first:
                found.add(int(file.parent.name))
    return found


def end(folder: Path) -> list[str]:
    """SIGKILL to all of them until none is left: processes that they start meanwhile have the same environment. Returns the rest."""
    deadline = time.monotonic() + END_S
    while found := processes_of(folder):
        groups.thaw(folder)
        if time.monotonic() > deadline:
            return [f"process {pid}: {line}" for pid, line in found.items()]
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    return []


def take_away(folder: Path) -> list[str]:
    left = end(folder)
    left += groups.remove(folder)
    if not left:  # last: the residue is found by it
        shutil.rmtree(folder, ignore_errors=True)
        left += [f"folder {folder}"] if folder.exists() else []
    return left


def clear_away() -> tuple[list[str], list[str]]:
    """Removes runs whose owner is gone. Others stay. Returns their directories, and the failures."""
    cleared, left = [], []
    for folder in sorted(PLACE.glob(f"{PREFIX}*")):
        if owners.gone(folder):
            rest = take_away(folder)
            left += rest
            cleared += [] if rest else [str(folder)]
    return cleared, left
