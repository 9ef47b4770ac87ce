"""./dev bench reaction: how long online work shares the machine before offline work gives way, with the agent's reaction and without, on a real node.

A real kubelet runs an online pod and an offline one that do next to nothing; the agent suppresses by quota. A surge is a process that
uses one processor from one moment on, in a container of the online pod. It begins at any moment between two decisions. The quota is
read from its file by this program every half millisecond. The two sides take turns; ROUNDS surges each, eleven seconds apart, since
the agent reacts six times a minute at most, and offline work is to have its share again.

  narrowed_with      milliseconds from the surge (SIGCONT to its process) to a quota that is a tenth of the node narrower
  narrowed_without   the same with --reaction=false
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.harness import figure, main_with_cluster, real_node, start_agent
from cluster import colocation
from driver import processes
from driver.console import Failed, say
from support.node import cgroups, pods

TURNS, SURGES = 2, 5  # of each side
APART_S = 11
LIMIT_S = 120
LOOK_S = 0.0005
NODESLOS = "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
SPEC = {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 95}}
OFFLINE = {"koordinator.sh/qosClass": "BE"}
# Stops itself, and uses one CPU after SIGCONT.
BUSY = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass"


class Surge:
    """One process, put into the online pod's groups before it begins."""

    def __init__(self, groups: list[Path]):
        self._child = subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.DEVNULL)
        os.waitpid(self._child.pid, os.WUNTRACED)
        for group in groups:
            (group / "cgroup.procs").write_text(str(self._child.pid))

    def begin(self) -> float:
        now = time.monotonic()
        self._child.send_signal(signal.SIGCONT)
        return now

    def end(self) -> None:
        self._child.kill()
        self._child.wait()


class Side:
    """An agent on the node, and what stands in the quota of offline work."""

    def __init__(self, state: str, reaction: bool, quota: Path, surged: list[Path], step_us: int):
        self._status, self._wanted = Path(f"{state}/run/status.json"), "reaction: ready" if reaction else "TM-SUPPRESS-"
        self._quota, self._surged, self._step_us = quota, surged, step_us

    def says(self) -> str:
        return next(each["says"] for each in json.loads(self._status.read_text())["strategies"] if each["name"] == "cpuSuppress")

    def quota(self) -> int:
        return int(self._quota.read_text().split()[0])

    def calm(self) -> int:
        """What stands there for three seconds, with room for a surge to show."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            seen = self.quota()
            time.sleep(3)
            if seen > 2 * self._step_us and self.quota() > seen - self._step_us / 2 and self._wanted in self.says():
                return self.quota()
        raise Failed(f"other work of this machine leaves offline work no room: the agent says {self.says()}")

    def narrowed_ms(self) -> float:
        calm, surge = self.calm(), Surge(self._surged)
        try:
            time.sleep(random.random())
            began = surge.begin()
            while self.quota() > calm - self._step_us:
                if time.monotonic() - began > LIMIT_S:
                    raise Failed(f"a surge that nobody answers: the quota is {self.quota()}, and was {calm}")
                time.sleep(LOOK_S)
            return 1000 * (time.monotonic() - began)
        finally:
            surge.end()


def run(program: Path, environment: dict[str, str], stack: ExitStack) -> None:
    api, here = real_node(environment, stack)
    colocation.install_crds()
    slo = {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": here.name}, "spec": SPEC}
    colocation.must(api.request("POST", NODESLOS, slo))
    here.run([pods.Work("online", pods.BURSTABLE, 1, 4), pods.Work("offline", pods.BEST_EFFORT, 1, 4, labels=OFFLINE)])

    uid = next(pod["metadata"]["uid"] for pod in here.pods() if pod["metadata"]["name"] == "online")
    containers = [group for root in cgroups.there(here.cgroup) for group in root.glob(f"kubepods/burstable/pod{uid}/*") if group.is_dir()]
    surged = [group for group in containers if group.name == min(each.name for each in containers)]  # one of them, in each hierarchy
    quota = next(root / "kubepods/besteffort/cpu.cfs_quota_us" for root in cgroups.there(here.cgroup) if (root / "kubepods/besteffort/cpu.cfs_quota_us").exists())
    step_us = os.cpu_count() * 100_000 // 10

    took: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(TURNS):
        for reaction in (True, False):
            with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as state:
                agent = start_agent(program, here, state, f"--reaction={str(reaction).lower()}")
                side = Side(state, reaction, quota, surged, step_us)
                try:
                    for _ in range(SURGES):
                        took[reaction].append(side.narrowed_ms())
                        say(f"{'with' if reaction else 'without'}: {took[reaction][-1]:.0f} ms")
                        time.sleep(APART_S)
                finally:
                    processes.kill_group(agent)
    figure("reaction.narrowed_with", "ms", took[True])
    figure("reaction.narrowed_without", "ms", took[False])


if __name__ == "__main__":
    sys.exit(main_with_cluster("reaction", run))
