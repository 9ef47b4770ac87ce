"""./dev bench sampler: what the node agent's sampler costs on a node of 50 pods, measured from outside its process.

The pods are groups of this machine's own, made for the run and removed after it, each with two containers and in each of those a
process that touches 64 KiB ten times a second. All readings of agent/sampler/readings.h at their periods, as an agent makes them.

  cpu_50_pods          what the process had of a core, kernel part included, in percent: 60 s a round
  cpu_50_pods_watched  the same where the quota of every container is scaled, so that each is read every second
  pass                 from the beginning of a pass to its last value, the mean of a round: time, with waiting for a processor
  memory               its resident memory, in MiB, with everything that the program links
"""

import os
import sys
import time
from pathlib import Path

from bench.harness import Talker, cpu_seconds, figure, resident_bytes
from driver import build, processes
from driver.console import Failed

PODS, CONTAINERS = 50, 2
ROUNDS = 3
LINES_A_ROUND = 6  # of ten passes, a second each
ROOT = Path("/sys/fs/cgroup")
READ_IN = ("cpu.shares", "cpuacct.usage", "memory.stat", "blkio.throttle.io_service_bytes_recursive", "cgroup.controllers")
V2_CONTROLLERS = "+cpu +memory +io"


class Groups:
    """The hierarchies' folders of one name, with pods and containers in them."""

    def __init__(self):
        self.name = f"tidemark-bench-{os.getpid()}"
        self._v2 = (ROOT / "cgroup.controllers").exists()
        read = lambda path: not path.is_symlink() and any((path / name).exists() for name in READ_IN)
        mounted = [ROOT] if self._v2 else [path for path in ROOT.iterdir() if read(path)]
        self._tops = [path / self.name for path in mounted]

    def make(self) -> None:
        try:
            for top in self._tops:
                top.mkdir()
                for pod in range(PODS):
                    for container in range(CONTAINERS):
                        (top / f"pod{pod}" / f"c{container}").mkdir(parents=True)
                    if self._v2:
                        (top / f"pod{pod}" / "cgroup.subtree_control").write_text(V2_CONTROLLERS)
                if self._v2:
                    (top / "cgroup.subtree_control").write_text(V2_CONTROLLERS)
        except OSError as error:
            raise Failed(f"groups of its own are needed, as root: {error}") from None

    def put(self, pid: int, pod: int, container: int) -> None:
        for top in self._tops:
            (top / f"pod{pod}" / f"c{container}" / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        for top in self._tops:
            for folder, _, _ in os.walk(top, topdown=False):
                os.rmdir(folder)


def side(program: Path, groups: Groups, how: str) -> tuple[list[float], list[float], list[float]]:
    sampler = Talker([program, "measure", groups.name, how])
    cpu, took, memory = [], [], []
    try:
        sampler.answer()  # the first ten passes open files
        for _ in range(ROUNDS):
            began, had, means = time.monotonic(), cpu_seconds(sampler.pid), []
            for _ in range(LINES_A_ROUND):
                line = sampler.answer()
                if line["accounts"] != PODS or line["measured"] != PODS or line["unreadable"] != 0:
                    raise Failed(f"not everything was measured: {line}")
                means.append(line["mean_us"])
            cpu.append(100 * (cpu_seconds(sampler.pid) - had) / (time.monotonic() - began))
            took.append(sum(means) / len(means))
            memory.append(resident_bytes(sampler.pid) / 2**20)
    finally:
        sampler.end()
    return cpu, took, memory


def main() -> int:
    processes.install_signal_handlers()
    program = {Path(path).name: Path(path) for _, path in build.listed("release", "benches")}["sampler_bench"]
    if "SAMPLER_BENCH" in os.environ:  # of another build
        program = Path(os.environ["SAMPLER_BENCH"])
    groups, workers = Groups(), []
    try:
        groups.make()
        for pod in range(PODS):
            for container in range(CONTAINERS):
                workers.append(processes.start([program, "work"]))
                groups.put(workers[-1].pid, pod, container)
        cpu, took, memory = side(program, groups, "plain")
        figure("sampler.cpu_50_pods", "%", cpu)
        figure("sampler.pass", "µs", took)
        figure("sampler.memory", "MiB", memory)
        figure("sampler.cpu_50_pods_watched", "%", side(program, groups, "watched")[0])
    finally:
        for worker in workers:
            processes.kill_group(worker)
        groups.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
