"""The columns beside a kubelet: a real API server, containerd, kubelet and `tidemark agent`; offline work runs in pods, and the service in the groups of two online pods.

The processes of the service start on the machine and join the group of an online pod's container, because the image of the test node has no web server. The kernel
divides CPU by groups, so this is as if they ran in the pod. All of it uses the same processors as the service: compare the two columns with each other.
"""

import os
import secrets
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.harness import real_node, start_agent
from cluster import colocation
from demo import measure, show
from demo.measure import Measured, Watch
from demo.plain_groups import cpu_seconds
from demo.service import Service
from driver import cluster, processes
from driver.console import Failed
from support.node import cgroups, pods

WAIT_S = 60
ONLINE = {"web": "1", "load": "500m"}  # requests, as in `./dev up`
OFFLINE = {"koordinator.sh/qosClass": "BE"}
MORE_THAN_ALL_MILLI = 2000  # a process that never sleeps
SOLD = {"batch-cpu": int(1000 * show.SOLD_CORES), "batch-memory": 64 << 20}
# What the chart's settings make of a NodeSLO: Koordinator's defaults, a line of 65 % held by a cpuset.
CHART = {"resourceUsedThresholdWithBE": {"enable": True}}
# The settings of `tidemark up` (embedded/settings_file.cc).
UP = {
    "resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressThresholdPercent": 90, "cpuSuppressPolicy": "idle"},
    "resourceQOSStrategy": {
        "lsClass": {"cpuQOS": {"enable": True, "groupIdentity": 2}}, "beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}},
    },
}


def offline_pods(cores: int) -> list[pods.Work]:
    """The mix of `./dev up`: two thirds are sold what is idle, one third asks for nothing."""
    amounts = [SOLD] * ((show.WORK_PER_CORE - 1) * cores) + [{}] * cores
    return [pods.Work(f"crunch-{i}", pods.BEST_EFFORT, MORE_THAN_ALL_MILLI, 6, labels=OFFLINE, batch=batch) for i, batch in enumerate(amounts)]


class KubeletNode:
    def __init__(self, program: Path, service: Service):
        self.program, self.service = program, service

    def measure(self, rate: float, length_s: float, seed: int, offline: list[pods.Work], slo: dict) -> Measured:
        """With a node that is started for this and gone afterwards."""
        with ExitStack() as stack:
            with _in_system_group(stack):
                fixture = cluster.Fixture(place=cluster.memory())
                stack.callback(fixture.stop)
                self.api, self.node = real_node(fixture.start(), stack)
                self._start_agent(stack)
            self._offer(slo)
            for group in _with_shares(self.node.cgroup):  # the kubelet's groups are below it; on a node they are at the top, with these
                (group / "cpu.shares").write_text(str(1024 * os.cpu_count()))
            groups = {name: self._online_pod(name, cpu) for name, cpu in ONLINE.items()}
            stack.callback(processes.kill_group, self._start(groups["web"], self.service.web_command()))
            _until("the web server does not answer", lambda: show.serves(self.service.port))
            found = self.node.run(offline) if offline else []
            if slo is UP:
                _until("an offline pod is not idle", lambda: all(self._is_idle(pod["metadata"]["uid"]) for pod in found))
            time.sleep(show.SETTLE_S)
            return self._load(groups["load"], self.service.load_command(rate, length_s, seed))

    def _offer(self, slo: dict) -> None:
        """As a manager does: the objects of the node, and what it sells."""
        colocation.must(self.api.request("POST", colocation.NODESLOS, {
            "apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": slo,
        }))
        amounts = {"kubernetes.io/batch-cpu": "8000", "kubernetes.io/batch-memory": "8Gi"}
        status = {"status": {"capacity": amounts, "allocatable": amounts}}
        path = f"/api/v1/nodes/{self.node.name}/status"
        colocation.must(self.api.request("PATCH", path, status, content="application/strategic-merge-patch+json"))

    def _start_agent(self, stack: ExitStack) -> None:
        state = stack.enter_context(tempfile.TemporaryDirectory(prefix="tidemark-bench-"))
        stack.callback(processes.kill_group, start_agent(self.program, self.node, state, "--state-dir", f"{state}/learned"))

    def _online_pod(self, name: str, cpu: str) -> list[Path]:
        """Starts it with a container that sleeps; gives the groups of that container."""
        body = pods.manifest(pods.Work(name, pods.BURSTABLE, 0, 0), self.node.name, "default")
        body["spec"]["containers"][0] |= {"args": [], "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}
        colocation.must(self.api.request("POST", "/api/v1/namespaces/default/pods", body))

        def groups() -> list[Path]:
            pod = next((pod for pod in self.node.pods() if pod["metadata"]["name"] == name), {})
            started = [each["containerID"].rpartition("/")[2] for each in pod.get("status", {}).get("containerStatuses", []) if "running" in each["state"]]
            return [found for top in cgroups.there(self.node.cgroup) for found in top.rglob(started[0])] if started else []

        return _until(f"the pod {name} does not run", groups)

    def _start(self, groups: list[Path], command: list[str], **options) -> subprocess.Popen:
        def join() -> None:
            for group in groups:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        return processes.start(command, preexec_fn=join, **options)

    def _is_idle(self, uid: str) -> bool:
        files = [file for top in cgroups.there(self.node.cgroup) for file in top.glob(f"kubepods/besteffort/pod{uid}/cpu.idle")]
        return [file.read_text().strip() for file in files] == ["1"]

    def _load(self, groups: list[Path], command: list[str]) -> Measured:
        offline = [top / "kubepods" / "besteffort" for top in cgroups.there(self.node.cgroup)]
        watch = Watch(lambda: cpu_seconds(offline))
        with tempfile.TemporaryFile("w+") as output:
            child = self._start(groups, command, stdout=output)
            try:
                watch.until(lambda: child.poll() is not None)
            finally:
                processes.kill_group(child)
            output.seek(0)
            return measure.read(output.read(), watch)


def _with_shares(path: str) -> list[Path]:
    return [group for group in cgroups.there(path) if (group / "cpu.shares").exists()]


@contextmanager
def _in_system_group(stack: ExitStack):
    """What starts in it shares one group of 1024 shares, as the daemons of a node do in systemd's system.slice."""
    name = f"tidemark-test-{secrets.token_hex(4)}"
    stack.callback(cgroups.remove, name)  # when all that starts in it has gone
    cgroups.make(name)
    before = [group for group in cgroups.hierarchies() if (group / "cpu.shares").exists()]
    try:
        for group in _with_shares(name):
            (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        for group in before:
            (group / "cgroup.procs").write_text(str(os.getpid()))


def _until(what_not: str, question):
    deadline = time.monotonic() + WAIT_S
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise Failed(f"after {WAIT_S} s {what_not}")
        time.sleep(0.1)
    return answer
