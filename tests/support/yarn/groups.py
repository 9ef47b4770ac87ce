"""The cgroups that containers lie in: HIERARCHY/PATH/container_ID in cpu and memory. The NodeManager makes and removes those; what is above them the run
has made, and notes in its folder first, so that the next one can take it away."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from support.node import cgroups

CONTROLLERS = ("cpu", "memory")  # those that a NodeManager is configured to use: a file with processes each
RECORD = "groups"
FREEZER_STATE = "freezer.state"


def why_not() -> str:
    """Why containers can have no groups on this machine, with the remedy; empty when they can."""
    if os.geteuid() != 0:
        return "groups are made by root: run as root"
    absent = [name for name in CONTROLLERS if name not in _places()]
    if absent:
        return f"no hierarchy of cgroup v1 with {', '.join(absent)}: boot with systemd.unified_cgroup_hierarchy=0"
    return "" if cgroups.writable() else "not every cgroup hierarchy can be written: run on a machine, or in a container with its own writable cgroups"


class Groups:
    """Of `path` below `below`, a group of a test that its owner takes away; without, below a group of the run's own. ValueError for any other."""

    def __init__(self, path: str, below: str | None = None):
        own = f"tidemark-test-{secrets.token_hex(4)}"
        self.path = f"{below or own}/{path}"
        self._mine = self.path if below else own
        if not path or not cgroups.PATH.fullmatch(self.path):
            raise ValueError(f"`{self.path}` is no path of a group of a test")

    def make(self, run: Path) -> None:
        (run / RECORD).write_text(self._mine)
        cgroups.make(self.path)

    def folder(self, controller: str) -> Path:
        return _places()[controller] / self.path

    def of(self, container: str) -> list[Path]:
        """Its groups that are there."""
        return [group for name in CONTROLLERS if (group := self.folder(name) / container).exists()]

    def containers(self) -> set[str]:
        return {group.name for name in CONTROLLERS for group in self.folder(name).glob("container_*")}

    def processes(self, container: str) -> list[set[int]]:
        """Those of each of its groups."""
        return [pids(group) for group in self.of(container)]


def pids(group: Path) -> set[int]:
    """Of a group that is gone none."""
    try:
        return {int(line) for line in (group / "cgroup.procs").read_text().split()}
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENODEV):
            raise
        return set()


def thaw(run: Path) -> None:
    """Of what a run made: who is frozen cannot be killed."""
    if path := _recorded(run):
        for hierarchy in cgroups.there(path):
            for state in hierarchy.rglob(FREEZER_STATE):
                with suppress(OSError):
                    state.write_text("THAWED")


def remove(run: Path) -> list[str]:
    """What a run made. Returns what could not be removed, and why."""
    path = _recorded(run)
    return cgroups.remove(path) if path else []


def _recorded(run: Path) -> str:
    with suppress(OSError):
        path = (run / RECORD).read_text()
        return path if cgroups.PATH.fullmatch(path) else ""
    return ""


def _places() -> dict[str, Path]:
    """Controller → its hierarchy of version 1."""
    return {name: place for place in cgroups.hierarchies() for name in place.name.split(",") if not (place / "cgroup.controllers").exists()}
