"""A test's own small disk, large enough for a whole node: a file with a filesystem, mounted in a private namespace. Processes that this process starts later see it, and it
disappears with the last of them, for any reason."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import owners

CLONE_NEWNS = 0x20000  # from sched.h


def why_not() -> str:
    """The reason why this machine can have none; empty if it can."""
    if os.geteuid() != 0:
        return "a mount needs root: run as root"
    if shutil.which("mkfs.ext4") is None:
        return "missing: mkfs.ext4: apt-get install -y --no-install-recommends e2fsprogs"
    return "" if Path("/dev/loop-control").exists() else "this machine has no loop devices (/dev/loop-control)"


@contextmanager
def mounted(mebibytes: int) -> Iterator[Path]:
    """Gives this process a private mount namespace; its mounts are private too."""
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
    """As a kubelet counts: the part available to users other than root."""
    found = os.statvfs(place)
    return 100 * found.f_bavail / found.f_blocks


def _own_mounts() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "no mount namespace of its own")
    _run("mount", "--make-rprivate", "/")


def _run(*command) -> None:
    subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, check=True)
