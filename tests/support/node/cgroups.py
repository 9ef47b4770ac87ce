"""The cgroups of a run: one directory of this name at the top of every hierarchy, with all cgroups of the kubelet below it."""

import os
import re
import time
from pathlib import Path

NAME = re.compile(r"tidemark-(test|demo)-[0-9a-f]{8}")  # nothing with another name is ever removed
PATH = re.compile(rf"{NAME.pattern}(/\w[\w.-]*)*")  # the same, or a directory in it
EMPTY_S = 120  # until killed processes are gone from their cgroups


def hierarchies() -> list[Path]:
    """The mount points of cgroups: one in version 2, one per controller in version 1, both on a hybrid machine."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, rest = line.split(" - ", 1)
        kind, place = rest.split()[0], fields.split()[4]
        if kind in ("cgroup", "cgroup2"):
            found.append(Path(place))
    return list(dict.fromkeys(path.resolve() for path in found))


def make(path: str) -> list[Path]:
    """Also creates missing parent directories; FileExistsError if it exists."""
    _check(path)
    made = []
    for hierarchy in hierarchies():
        folder = hierarchy
        for name in path.split("/"):
            parent, folder = folder, folder / name
            folder.mkdir(exist_ok=folder != hierarchy / path)
            for file in ("cpuset.cpus", "cpuset.mems"):  # version 1 creates them empty, and then nothing can run there
                if (folder / file).exists() and not (folder / file).read_text().strip() and (parent / file).exists():
                    (folder / file).write_text((parent / file).read_text())
        made.append(folder)
    return made


def remove(path: str) -> list[str]:
    """Removes the directories of this name with everything below; returns the failures with their reasons."""
    _check(path)
    deadline, left = time.monotonic() + EMPTY_S, {}
    while True:
        left = {}
        for hierarchy in hierarchies():
            for folder, _, _ in os.walk(hierarchy / path, topdown=False):
                try:
                    os.rmdir(folder)
                except FileNotFoundError:
                    pass
                except OSError as error:  # processes in it
                    left[folder] = error.strerror
        if not left or time.monotonic() > deadline:
            return [f"{folder}: {why}" for folder, why in left.items()]
        time.sleep(0.05)


def there(path: str) -> list[Path]:
    return [folder for hierarchy in hierarchies() if (folder := hierarchy / path).exists()]


def writable() -> bool:
    """Whether make() works: it creates a directory in every hierarchy."""
    return all(os.access(hierarchy, os.W_OK) for hierarchy in hierarchies())


def _check(path: str) -> None:
    if not PATH.fullmatch(path):
        raise ValueError(f"`{path}` is no name of a cgroup of a test")
