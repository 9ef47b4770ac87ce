"""The manager beside a real kubelet: what the kubelet does to batch resources in its node's status, and how soon lost ones are repaired.

A loss lasts as long as the API server's watch shows the node without its numbers (cluster/node_states.py). All cases run while a queue of other writes waits
for the manager's budget.
"""

import json
import sys
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.manager_case import WithManager
from cluster.node_states import NodeStates
from cluster.tidemark_process import Component, wait_for
from node.test_node import API, new_node, tearDownModule  # noqa: F401
from support.node import pods
from support.patience import PATIENCE_S as LIMIT_S

ALONE = "measures how soon a lost value is repaired"

BATCH = ("kubernetes.io/batch-cpu", "kubernetes.io/batch-memory")
WORK = pods.Work("batch", pods.BEST_EFFORT, 5, 6, batch={"batch-cpu": 200, "batch-memory": 32 << 20})
USED = {"resources": {"cpu": "100m", "memory": "1Gi"}}
STATUS = {"nodeMetric": {"nodeUsage": USED, "systemUsage": USED}, "podsMetric": [], "prodReclaimableMetric": {"resource": {"resources": {}}}}
OTHERS = 60
OTHERS_CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}
SLOW = ("--kube-api-qps=2", "--kube-api-burst=2")  # the writes of other nodes, several each, take minutes
WITHIN_S = 1.0


def numbers(node: dict) -> tuple:
    """The manager's fields on a node: both parts of the status, and the origin."""
    status, annotations = node.get("status", {}), node["metadata"].get("annotations", {})
    return (*(status.get(side, {}).get(name) for side in ("capacity", "allocatable") for name in BATCH), annotations.get(colocation.ORIGIN))


class BesideAKubelet(WithManager):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.node = cls.enterClassContext(new_node())

    def setUp(self):
        self.path = f"/api/v1/nodes/{self.node.name}"
        self.before = must(API.get(self.path)).json  # without a manager
        colocation.put_settings(self.api, {"enable": True})
        colocation.put_metric(self.api, self.node.name, STATUS)
        self.addCleanup(self.api.request, "DELETE", f"{colocation.NODEMETRICS}/{self.node.name}")
        self.nodes: list[str] = []
        self.manager = self.run_manager("--leader-elect=false", *SLOW)
        wait_for(lambda: colocation.CONFIG_HASH in self.read()["metadata"].get("annotations", {}), "all fields on its node", self.manager, LIMIT_S)
        self.others_wait()
        self.whole = numbers(self.read())
        self.assertNotIn(None, self.whole)
        self.run_work()

    def run_work(self) -> None:
        self.node.run([WORK])
        self.work, self.may_be_rejected = self.containers(), False

    def read(self) -> dict:
        return must(self.api.get(self.path)).json

    def others_wait(self) -> None:
        """A queue of other writes; adds nodes if it has become short."""
        if self.waiting() > OTHERS / 2:
            return
        more = [f"other-{i}" for i in range(len(self.nodes), len(self.nodes) + OTHERS)]
        self.nodes += more
        for other in more:
            colocation.put_node(self.api, other, capacity=OTHERS_CAPACITY)
            colocation.put_metric(self.api, other, STATUS)
        wait_for(lambda: self.waiting() > OTHERS / 2, "a queue of waiting writes", self.manager, LIMIT_S)

    def waiting(self) -> float:
        return self.manager.metrics()['tidemark_work_queue_depth{component="overcommit"}']

    def containers(self) -> list[str]:
        return [f"{pod['status']['phase']} {each['containerID']}" for pod in self.node.pods() for each in pod["status"].get("containerStatuses", [])]

    def write_status(self, **sides) -> None:
        must(self.api.request("PATCH", f"{self.path}/status", {"status": sides}, content=MERGE))

    def restart_kubelet(self) -> None:
        """Until the new kubelet has written its own status."""
        def shown() -> str:
            read = self.api.get(self.path)
            conditions = read.get("status.conditions", []) if read.status == 200 else []
            return next((each["lastHeartbeatTime"] for each in conditions if each["type"] == "Ready" and each["status"] == "True"), "")

        self.node.kill_kubelet()
        since = colocation.time_stamp()
        wait_for(lambda: shown() > since, "a status of the new kubelet", limit_s=LIMIT_S)

    def after(self, what: str, event) -> list[float]:
        """The duration of each loss that the event caused."""
        self.others_wait()
        with NodeStates(self.node.name, lambda node: not {None, "0"} & set(numbers(node))) as states:
            event()
            version = self.read()["metadata"]["resourceVersion"]
            wait_for(lambda: states.reach(version), f"the watch to deliver: {what}", self.manager, LIMIT_S)
            wait_for(lambda: all(end for _, end in states.losses()), f"the end of each loss after: {what}", self.manager, LIMIT_S)
        self.assertGreater(len(states.seen), 0, f"nothing was written: {what}")
        self.assertGreater(self.waiting(), 20, f"the queue was empty before: {what}: this proves nothing")
        self.work_runs_on(what)
        took = [end - begin for begin, end in states.losses()]
        print(f"{what}: " + (", ".join(f"back after {seconds * 1000:.0f} ms" for seconds in took) or "nothing lost"), file=sys.stderr)
        return took

    def work_runs_on(self, what: str) -> None:
        """A kubelet that starts admits running pods anew. It ends a pod if the Node lacks the pod's batch resources at that moment."""
        found = self.containers()
        if found != self.work and self.may_be_rejected:
            events = self.api.request("GET", "/api/v1/namespaces/default/events", fieldSelector=f"involvedObject.name={WORK.name}").get("items")
            self.assertTrue({f"OutOf{name}" for name in BATCH} & {each["reason"] for each in events}, found)
            print(f"{what}: the kubelet rejected the pod", file=sys.stderr)
            self.node.end([WORK.name])
            self.run_work()
        self.assertEqual(self.work, self.containers(), f"pods with batch resources run on: {what}")

    def keeps(self, what: str, event) -> None:
        with self.subTest(what):
            self.assertEqual([], self.after(what, event))

    def loses_and_has_them_back(self, what: str, event) -> None:
        with self.subTest(what):
            took = self.after(what, event)
            self.assertNotEqual([], took, "nothing was lost: this proves nothing")
            self.assertLess(max(took), WITHIN_S)
            self.assertEqual(self.whole, numbers(self.read()))

    def test_losses_are_repaired_and_other_events_lose_nothing(self):
        self.keeps("the kubelet is killed and started again", self.restart_kubelet)
        self.loses_and_has_them_back("the Node is deleted and the kubelet registers it anew", self.registers_anew)
        self.loses_and_has_them_back("another writer removes them from capacity and allocatable", self.taken_away)
        self.loses_and_has_them_back("another writer restores an older status", self.older_status)
        # Last: all later decisions use another capacity.
        self.keeps("the machine has fewer processors and less memory when the kubelet starts", self.on_a_smaller_machine)

    # -- the events

    def on_a_smaller_machine(self) -> None:
        self.may_be_rejected = False  # the Node has its numbers
        lines = [line.split() for line in Path("/proc/meminfo").read_text().splitlines()]
        memory_kib, cpus = int(lines[0][1]) - (64 << 10), max(int(self.read()["status"]["capacity"]["cpu"]) // 2, 1)
        self.node.show("/proc/meminfo", "".join(f"{name} {memory_kib if name == 'MemTotal:' else value} {' '.join(unit)}\n" for name, value, *unit in lines))
        self.node.show("/sys/devices/system/cpu/online", f"0-{cpus - 1}\n" if cpus > 1 else "0\n")
        self.restart_kubelet()
        capacity = self.read()["status"]["capacity"]
        self.assertEqual((str(cpus), f"{memory_kib}Ki"), (capacity["cpu"], capacity["memory"]))

    def registers_anew(self) -> None:
        self.may_be_rejected = True
        must(self.api.request("DELETE", self.path))
        self.restart_kubelet()

    def taken_away(self) -> None:
        self.write_status(capacity=dict.fromkeys(BATCH), allocatable=dict.fromkeys(BATCH))

    def older_status(self) -> None:
        """As `kubectl replace --subresource=status` of a file does."""
        old = {**self.read(), "status": self.before["status"]}
        old["metadata"].pop("resourceVersion")
        must(self.api.put(f"{self.path}/status", old))


if __name__ == "__main__":
    unittest.main()
