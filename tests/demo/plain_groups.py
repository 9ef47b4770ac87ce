"""Groups without Tidemark: what a machine has when the online service and the offline work are just started on it."""

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from driver import processes
from driver.console import Failed
from support.node import cgroups

ONLINE_SHARES = 1024
EMPTY_S = 10


@dataclass(frozen=True)
class Knobs:
    """What the group above all offline work has. Without one each offline process has a group of 1024 shares beside the service, as a container of YARN has."""

    shares: int = 2
    idle: bool = False
    each_idle: bool = False  # the group of each process, not the one above: what an agent can do beside a kubelet
    quota_cores: float = 0.0
    cpus: str = ""  # the processors that it may use; all by default


class PlainGroups:
    """All of them in one cgroup of this run; processes in them are killed when it ends."""

    def __init__(self, name: str):
        self.name = name
        self.tops: list[Path] = []

    def __enter__(self) -> "PlainGroups":
        if os.geteuid() != 0 or not cgroups.writable():
            raise Failed("no groups can be made here: that wants root, and a cgroup file system that can be written to")
        self.tops = cgroups.make(self.name)
        self.cpu = next((top for top in self.tops if (top / "cpu.shares").exists() or (top / "cpu.weight").exists()), None)
        if self.cpu is None:
            self.__exit__()
            raise Failed("no group here has a weight of processors: the controller `cpu` is not handed down to the groups of this machine's root")
        return self

    def __exit__(self, *_) -> None:
        clear(self.name)

    def make(self, path: str, shares: int) -> None:
        for top in self.tops:
            folder = top
            for part in path.split("/"):
                _hand_down(folder)
                folder = folder / part
                folder.mkdir(exist_ok=True)
                for file in ("cpuset.cpus", "cpuset.mems"):  # version 1 makes them empty
                    if (folder / file).exists() and not (folder / file).read_text().strip():
                        (folder / file).write_text((folder.parent / file).read_text())
        if (self.cpu / "cpu.shares").exists():
            (self.cpu / path / "cpu.shares").write_text(str(shares))
        else:
            (self.cpu / path / "cpu.weight").write_text(str(1 + (shares - 2) * 9999 // 262142))

    def limit(self, path: str, knobs: Knobs, period_us: int = 100_000) -> None:
        if knobs.idle:
            (self.cpu / path / "cpu.idle").write_text("1")
        if knobs.cpus:
            for top in self.tops:
                if (top / path / "cpuset.cpus").exists():
                    (top / path / "cpuset.cpus").write_text(knobs.cpus)
        if knobs.quota_cores:
            quota = int(period_us * knobs.quota_cores)
            if (self.cpu / "cpu.max").exists():
                (self.cpu / path / "cpu.max").write_text(f"{quota} {period_us}")
            else:
                (self.cpu / path / "cpu.cfs_quota_us").write_text(str(quota))

    def start(self, path: str, command: list[str], **options) -> subprocess.Popen:
        files = [top / path / "cgroup.procs" for top in self.tops]

        def join() -> None:
            for file in files:
                file.write_text(str(os.getpid()))

        return processes.start(command, preexec_fn=join, **options)

    def cpu_seconds(self, path: str) -> float:
        return cpu_seconds([top / path for top in self.tops])

    def end(self, path: str) -> None:
        """Kills its processes and removes it, with all cgroups below."""
        empty([top / path for top in self.tops])
        for top in self.tops:
            for folder, _, _ in os.walk(top / path, topdown=False):
                os.rmdir(folder)

    @contextmanager
    def batch(self, count: int, command: list[str], knobs: Knobs | None):
        """So many offline processes; gives a function that says what they have had so far, in seconds of a processor."""
        if knobs:
            self.make("batch", knobs.shares)
            self.limit("batch", knobs)
        paths = [f"batch/{i}" if knobs else f"batch-{i}" for i in range(count)]
        children = []
        try:
            for path in paths:
                self.make(path, ONLINE_SHARES)
                if knobs and knobs.each_idle:
                    self.limit(path, Knobs(idle=True))
                children.append(self.start(path, command, stdout=subprocess.DEVNULL))
            yield lambda: sum(self.cpu_seconds(path) for path in paths)
        finally:
            for path in ["batch"] if knobs else paths:
                self.end(path)
            for child in children:
                child.wait()
                processes.forget(child)



def _hand_down(folder: Path) -> None:
    """In version 2: what the knobs need, as far as the folder itself was given it."""
    if (folder / "cgroup.subtree_control").exists():
        there = (folder / "cgroup.controllers").read_text().split()
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in ("cpu", "cpuset") if name in there))


def cpu_seconds(folders: list[Path]) -> float:
    for folder in folders:
        if (folder / "cpuacct.usage").exists():
            return int((folder / "cpuacct.usage").read_text()) / 1e9
        for line in (folder / "cpu.stat").read_text().splitlines() if (folder / "cpu.stat").exists() else []:
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
    raise Failed(f"no group of {folders} counts what its processes had of the processors")


def clear(name: str) -> None:
    """Also what a run that was killed has left."""
    empty(cgroups.there(name))
    left = cgroups.remove(name)
    if left:
        raise Failed("\n".join(left))


def empty(folders: list[Path]) -> None:
    deadline = time.monotonic() + EMPTY_S
    while pids := {pid for folder in folders for below, _, _ in os.walk(folder) for pid in (Path(below) / "cgroup.procs").read_text().split()}:
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        if time.monotonic() > deadline:
            raise Failed(f"processes that do not end: {', '.join(sorted(pids))}")
        time.sleep(0.02)
