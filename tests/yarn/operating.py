"""Our operator between a real API server and real ResourceManagers: shared by tests."""

import json
import os
import sys
import time
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from support.yarn import Totals, until

SITE = Totals(memory_mib=4096, vcores=4)
POLL_S = 1
NODE_ID = "yarn.hadoop.apache.org/node-id"
THIRD = "node.koordinator.sh/thirdPartyAllocations"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/koordinator-yarn-operator"
ELECTION = ("--leader-elect=true", "--leader-election-namespace=default")


def origin(cpu_milli: int, memory_mib: int) -> dict[str, str]:
    return {colocation.ORIGIN: json.dumps({"resources": {"kubernetes.io/batch-cpu": str(cpu_milli), "kubernetes.io/batch-memory": f"{memory_mib}Mi"}})}


class Operating(unittest.TestCase):
    """The class of a test sets `yarn` and `nms`."""

    @classmethod
    def setUpClass(cls):
        cls.api = colocation.client()
        cls.addClassCleanup(cls.api.close)

    def setUp(self):
        self.names = []
        # Removes what the previous test left. Its operator has stopped before.
        self.addCleanup(self.restore_totals)
        self.addCleanup(lambda: colocation.delete(self.api, *self.names))

    def restore_totals(self) -> None:
        until("each ResourceManager knows its nodes", lambda: all(nm.seen() for nm in self.nms))
        for nm in self.nms:
            self.assertEqual(200, nm.manager.update_total(nm.id, SITE.memory_mib, SITE.vcores).status)
        until("all totals are those of yarn-site", lambda: all(nm.total() == (SITE.memory_mib, SITE.vcores) for nm in self.nms))

    def put_node(self, name: str, annotations: dict[str, str]) -> None:
        colocation.put_node(self.api, name, capacity={"cpu": "8", "memory": "16Gi", "pods": "110"}, annotations=annotations)
        self.say_ready(name, "True")
        self.names.append(name)

    def say_ready(self, name: str, status: str) -> None:
        """As its kubelet does, or the node controller."""
        condition = {"type": "Ready", "status": status, "reason": "Test", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}
        must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [condition]}}, content=MERGE))

    def annotate(self, name: str, annotations: dict) -> None:
        must(self.api.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": annotations}}, content=MERGE))

    def begin(self, *more: str, configuration: Path | None = None) -> Component:
        operator = Component(
            "yarn-operator", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(configuration or self.yarn.configuration), "--leader-elect=false",
            f"--poll={POLL_S}s", "--metrics-addr=127.0.0.1:0", "--lost-hold=5s", *more,
        )
        self.addCleanup(operator.stop)
        return operator

    def wait_total(self, number: int, memory_mib: int, vcores: int, operator: Component) -> None:
        wait_for(lambda: self.nms[number].total() == (memory_mib, vcores), f"{memory_mib} MiB and {vcores} vcores of node {number}", operator)

    def held(self, name: str) -> dict[str, str] | None:
        return held_on(self.api, name)

    def annotation(self, name: str, key: str) -> str | None:
        return self.annotations(name).get(key)

    def annotations(self, name: str) -> dict[str, str]:
        return must(self.api.request("GET", f"/api/v1/nodes/{name}")).get("metadata.annotations", {})

    def wait_held(self, name: str, vcores: int, memory_mib: int, operator: Component) -> None:
        wanted = amounts(vcores, memory_mib)
        wait_for(lambda: self.held(name) == wanted, f"{wanted} held on {name}", operator)

    def right_again(self, fault: str, since: float) -> None:
        """Prints the duration of a fault's effect, in seconds. The waiting test asserts the end; docs/guide/yarn.md has the limits."""
        print(f"{fault}: right again after {time.monotonic() - since:.1f} s", file=sys.stderr)


def amounts(vcores: int, memory_mib: int) -> dict[str, str]:
    """As Koordinator writes them: quantities in their canonical form."""
    cpu = f"{vcores}k" if vcores else "0"
    memory = "0" if memory_mib == 0 else f"{memory_mib // 1024}Gi" if memory_mib % 1024 == 0 else f"{memory_mib}Mi"
    return {"kubernetes.io/batch-cpu": cpu, "kubernetes.io/batch-memory": memory}


def held_on(api, name: str) -> dict[str, str] | None:
    text = must(api.request("GET", f"/api/v1/nodes/{name}")).get("metadata.annotations", {}).get(THIRD)
    return None if text is None else {each["name"]: each["resources"] for each in json.loads(text)["allocations"]}["hadoop-yarn"]
