"""The cgroups of containers: HIERARCHY/PATH/container_ID in cpu and memory. The NodeManager creates and removes those; the run creates
the parents, and records them in its directory first, so that the next run can remove them."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from support.node import cgroups

CONTROLLERS = ("cpu", "memory")  # controllers of a NodeManager: each has its own process list
RECORD = "groups"
FREEZER_STATE = "freezer.state"


def why_not() -> str:
    """The reason why containers can have no groups on this machine, with the remedy; empty if they can."""
    if os.geteuid() != 0:
        return "groups are made by root: run as root"
    absent = [name for name in CONTROLLERS if name not in _places()]
    if absent:
        return f"no hierarchy of cgroup v1 with {', '.join(absent)}: boot with systemd.unified_cgroup_hierarchy=0"
    return "" if cgroups.writable() else "not every cgroup hierarchy can be written: run on a machine, or in a container with its own writable cgroups"


class Groups:
    """Groups of `path` below `below`, a test's group that its owner removes; without `below`, below the run's own group. ValueError for any other."""

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
        """Its existing groups."""
        return [group for name in CONTROLLERS if (group := self.folder(name) / container).exists()]

    def containers(self) -> set[str]:
        return {group.name for name in CONTROLLERS for group in self.folder(name).glob("container_*")}

    def processes(self, container: str) -> list[set[int]]:
        """The processes of each of its groups."""
        return [pids(group) for group in self.of(container)]


def pids(group: Path) -> set[int]:
    """Empty if the group is gone."""
    try:
        return {int(line) for line in (group / "cgroup.procs").read_text().split()}
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENODEV):
            raise
        return set()


def thaw(run: Path) -> None:
    """Thaws groups of a run: a frozen process cannot be killed."""
    if path := _recorded(run):
        for hierarchy in cgroups.there(path):
            for state in hierarchy.rglob(FREEZER_STATE):
                with suppress(OSError):
                    state.write_text("THAWED")


def remove(run: Path) -> list[str]:
    """Removes groups of a run. Returns the failures with their reasons."""
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
