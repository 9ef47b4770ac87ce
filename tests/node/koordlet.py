"""The part of Koordinator's node agent (koordlet) on a real node, played from the contract: its writes to cgroups and its objects."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from cluster import colocation
from node.protecting import BATCH
from node.test_agent import API
from support.node import cgroups, pods

TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
QUOTA, PROCESSORS = "cfsQuota", "cpuset"  # cpuSuppressPolicy
SUPPRESSED_US = 61000  # the quota of offline work when it stopped; our agent is unlikely to choose this number
QUOTA_BURST_PERCENT = 120  # contract 7.5: one step up
BVT = {"Guaranteed": 2, "Burstable": 2, "BestEffort": -1}
LIMITS = {"cpu.cfs_quota_us": BATCH["batch-cpu"] * 100, "cpu.shares": BATCH["batch-cpu"] * 1024 // 1000, "memory.limit_in_bytes": BATCH["batch-memory"]}

# Its own container runs as long as it does. Guaranteed, so that it changes no weight of the kubelet's cgroup `burstable`.
KOORDLET = pods.Work("koordlet", pods.GUARANTEED, 1, 6, container="koordlet")
_PINNED_TO = os.cpu_count() - 1
# The scheduler gave it its own CPU, by annotation.
PINNED = pods.Work(
    "pinned", pods.GUARANTEED, 5, 6, labels={"koordinator.sh/qosClass": "LSR"},
    annotations={"scheduling.koordinator.sh/resource-status": json.dumps({"cpuset": str(_PINNED_TO)})},
)
SHARED = f"0-{_PINNED_TO - 1}" if _PINNED_TO > 1 else "0"  # CPUs left for other online work


@dataclass(frozen=True)
class Group:
    """One cgroup of the node, in any hierarchy."""

    cgroup: str
    path: str  # below kubepods

    def places(self, file: str) -> list[Path]:
        found = [hierarchy / self.cgroup / "kubepods" / self.path / file for hierarchy in cgroups.hierarchies()]
        return [each for each in found if each.exists()]

    def write(self, file: str, value) -> None:
        """As koordlet does: no kernel has all of the files, and an unchanged value is not written again (contract 7.2)."""
        for place in self.places(file):
            if place.read_text().strip() != str(value):
                place.write_text(str(value))

    def read(self, file: str) -> int:
        return int(self.places(file)[0].read_text())


class Koordlet:
    def __init__(self, cgroup: str, pods_there: list[dict]):
        self._cgroup, self._pods = cgroup, {pod["metadata"]["name"]: pod for pod in pods_there}

    def group(self, path: str = "") -> Group:
        return Group(self._cgroup, path)

    def pod(self, name: str) -> Group:
        pod = self._pods[name]
        level = {"Guaranteed": "", "Burstable": "burstable/", "BestEffort": "besteffort/"}[pod["status"]["qosClass"]]
        return self.group(f"{level}pod{pod['metadata']['uid']}")

    def containers(self, name: str) -> list[Group]:
        ids = [each["containerID"].removeprefix("containerd://") for each in self._pods[name]["status"]["containerStatuses"]]
        return [self.group(f"{self.pod(name).path}/{each}") for each in ids]

    def work(self, policy: str) -> None:
        """One pass of everything that is on by default, and of CPU burst."""
        self._let_online_work_burst()
        self._place_processors()
        self._set_priorities()
        # Cgroup v1 allows no quota below that is larger than the one above: pods without a quota go first.
        for step in (self._limit_batch_pods, self._suppress) if policy == QUOTA else (self._suppress, self._limit_batch_pods):
            step(policy)

    def _let_online_work_burst(self) -> None:
        """Contract 7.5, policy auto: a throttled container gets more quota, and may save unused quota. The cgroup above goes first: the kernel
        allows no more below than above."""
        pod, (container,) = self.pod("online"), self.containers("online")
        more = container.read("cpu.cfs_quota_us") * (QUOTA_BURST_PERCENT - 100) // 100
        for group in (pod, container):
            group.write("cpu.cfs_quota_us", group.read("cpu.cfs_quota_us") + more)
            group.write("cpu.cfs_burst_us", group.read("cpu.cfs_quota_us") // 2)

    def _place_processors(self) -> None:
        """Contract 7.9: a pod with its own CPUs has no quota; other online work shares the remaining CPUs."""
        (pinned,) = self.containers("pinned")
        pinned.write("cpuset.cpus", _PINNED_TO)
        for group in (self.pod("pinned"), pinned):
            group.write("cpu.cfs_quota_us", -1)
        for group in self.containers("online"):
            group.write("cpuset.cpus", SHARED)

    def _set_priorities(self) -> None:
        """Contract 7.7, if the kernel has it."""
        for path, value in {"": 0, "burstable": BVT["Burstable"], "besteffort": BVT["BestEffort"]}.items():
            self.group(path).write("cpu.bvt_warp_ns", value)
        for name, pod in self._pods.items():
            for group in (self.pod(name), *self.containers(name)):
                group.write("cpu.bvt_warp_ns", BVT[pod["status"]["qosClass"]])

    def _limit_batch_pods(self, policy: str) -> None:
        """Contract 7.8: the pod has the sums; if all offline work has one quota, no pod has its own."""
        for name in ("offline-1", "offline-2"):
            containers = self.containers(name)
            for group, times in [(self.pod(name), len(containers)), *((each, 1) for each in containers)]:
                for file, value in LIMITS.items():
                    group.write(file, -1 if file == "cpu.cfs_quota_us" and policy == QUOTA else value * times)

    def _suppress(self, policy: str) -> None:
        """Contract 7.3: one of both policies; the limits of the other are removed. On a machine with two CPUs its rule would remove none, so
        the test removes a part of all."""
        top = self.group("besteffort").places("cpuset.cpus")[0].parent
        downwards = [self.group(str(folder.relative_to(top.parent))) for folder in [top, *sorted(top.glob("*/")), *sorted(top.glob("*/*/"))]]  # sandboxes too
        self.group("besteffort").write("cpu.cfs_quota_us", SUPPRESSED_US if policy == QUOTA else -1)
        for group in downwards if policy == QUOTA else reversed(downwards):  # a child may not have more than its parent
            group.write("cpuset.cpus", f"0-{_PINNED_TO}" if policy == QUOTA else SHARED)

    def report(self, node: str) -> None:
        """Contract 3.1, 7.14: the status that koord-manager reads, and the node's topology."""
        used, none = {"resources": {"cpu": "345m", "memory": "123456Ki"}}, {"resources": {"cpu": "0", "memory": "0"}}
        status = {
            "updateTime": colocation.time_stamp(),
            "nodeMetric": {"nodeUsage": used, "systemUsage": none, "aggregatedNodeUsages": [{"usage": {"avg": used, "p99": used}, "duration": "1m0s"}]},
            "podsMetric": [{"name": name, "namespace": "default", "podUsage": none, "priority": "koord-prod", "qos": "LS"} for name in sorted(self._pods)],
            "prodReclaimableMetric": {"resource": none},
        }
        colocation.must(API.request("PATCH", f"{colocation.NODEMETRICS}/{node}/status", {"status": status}, content="application/merge-patch+json"))
        amounts = {"capacity": str(os.cpu_count()), "allocatable": str(os.cpu_count()), "available": str(os.cpu_count())}
        topology = {
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "topologyPolicies": ["None"],
            "metadata": {
                "name": node, "labels": {"app.kubernetes.io/managed-by": "Koordinator"},
                "annotations": {
                    "kubelet.koordinator.sh/cpu-manager-policy": '{"policy":"none"}',
                    "node.koordinator.sh/be-cpu-shared-pools": json.dumps([{"socket": 0, "node": 0, "cpuset": f"0-{_PINNED_TO}"}]),
                    "node.koordinator.sh/cpu-shared-pools": json.dumps([{"socket": 0, "node": 0, "cpuset": SHARED}]),
                    "node.koordinator.sh/cpu-topology": json.dumps({"detail": [{"id": i, "core": i, "socket": 0, "node": 0} for i in range(os.cpu_count())]}),
                    "node.koordinator.sh/pod-cpu-allocs": "null",
                },
            },
            "zones": [{"name": "node-0", "type": "Node", "resources": [{"name": "cpu", **amounts}]}],
        }
        colocation.must(API.request("POST", TOPOLOGIES, topology), 201, 409)
