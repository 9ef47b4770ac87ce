"""A small disk of a test's own, on which a whole node can lie: a file with a filesystem, mounted where nobody else sees it. What this process begins from then on sees it, and it
goes with the last of them, however they end."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import owners

CLONE_NEWNS = 0x20000  # of sched.h


def why_not() -> str:
    """Why there can be none on this machine; empty where there can."""
    if os.geteuid() != 0:
        return "a mount needs root: run as root"
    if shutil.which("mkfs.ext4") is None:
        return "missing: mkfs.ext4: apt-get install -y --no-install-recommends e2fsprogs"
    return "" if Path("/dev/loop-control").exists() else "this machine has no loop devices (/dev/loop-control)"


@contextmanager
def mounted(mebibytes: int) -> Iterator[Path]:
    """Of this process alone from now on, its mounts too."""
    _own_mounts()
    with tempfile.TemporaryDirectory(prefix=owners.SCRATCH, dir="/tmp") as folder:
        owners.mark(Path(folder))
        image, place = Path(folder) / "disk", Path(folder) / "on"
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(mebibytes << 20)
        _run("mkfs.ext4", "-q", "-m", "0", image)
        _run("mount", "-o", "loop", image, place)
        try:
            yield place
        finally:
            _run("umount", "--lazy", place)


def free_percent(place: Path) -> float:
    """As a kubelet counts: of what others than root may have."""
    found = os.statvfs(place)
    return 100 * found.f_bavail / found.f_blocks


def _own_mounts() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "no mount namespace of its own")
    _run("mount", "--make-rprivate", "/")


def _run(*command) -> None:
    subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, check=True)
