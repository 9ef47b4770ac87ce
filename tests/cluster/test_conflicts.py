"""409 storms on the real API server: another writer that changes every node all the time, and an API server that answers most writes with
409. The manager converges, keeps its budget, writes nothing twice, and is quiet afterwards."""

import json
import os
import threading
import time
import urllib.parse
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, NODESLOS, SETTINGS, must
from cluster.reading_proxy import Conflicts, ReadingProxy, Request
from cluster.test_manager import WithApi
from cluster.tidemark_process import Component, wait_for
from support.patience import PATIENCE_S as LIMIT_S

BUDGET = {"--kube-api-qps": 20, "--kube-api-burst": 20}
AHEAD = {"rate": 10, "burst": 50}  # budget of repairs, beside the normal one (kube/client.h)
PAUSE_S = 0.1
LEASE = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager"


class ForeignWriter:
    """Writes status and annotations of every node repeatedly: more often than the manager's requests wait in its budget queue."""

    def __init__(self, nodes: list[str]):
        self._nodes = nodes
        self._stop = threading.Event()
        self.writes = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        api = colocation.client()
        while not self._stop.wait(PAUSE_S):
            for node in self._nodes:
                self.writes += 1
                body = {"metadata": {"annotations": {"example.org/beat": str(self.writes)}}, "status": {"conditions": [
                    {"type": "Ready", "status": "True", "reason": "Beat", "message": str(self.writes), "lastHeartbeatTime": colocation.time_stamp(), "lastTransitionTime": colocation.time_stamp()},
                ]}}
                api.request("PATCH", f"/api/v1/nodes/{node}/status", body, content="application/strategic-merge-patch+json")
        api.close()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(60)


class Conflict(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True})
        self.use = {}
        for i in range(6):
            self.report(self.node(f"conflict-{i}"), 2)
        self.proxy = ReadingProxy()
        self.addCleanup(self.proxy.close)

    def start_behind_proxy(self, *more: str) -> Component:
        budget = [f"{flag}={amount}" for flag, amount in BUDGET.items()]
        return self.start_manager(*budget, *more, kubeconfig=str(self.proxy.kubeconfig(Path(os.environ["TMPDIR"]))))

    def report(self, node: str, cores: int) -> None:
        used = {"resources": {"cpu": str(cores), "memory": "4Gi"}}
        colocation.put_metric(self.api, node, {"nodeMetric": {"nodeUsage": used, "systemUsage": used}, "podsMetric": []})
        self.use[node] = cores

    def report_all(self, cores: int) -> None:
        for i, node in enumerate(self.nodes):
            self.report(node, cores + i)

    def wait_right(self, component: Component, percent: int = 60) -> None:
        def right() -> bool:
            return all(colocation.offered(self.api, node).get("kubernetes.io/batch-cpu") == str(320 * percent - cores * 1000) for node, cores in self.use.items())

        wait_for(right, f"the rest beside {self.use}", component, LIMIT_S)

    def writes(self) -> list[Request]:
        return [each for each in list(self.proxy.requests) if each.method != "GET" and "/leases/" not in each.path and "/events" not in each.path]

    def assert_within_budget(self) -> None:
        requests = [each for each in list(self.proxy.requests) if "watch=" not in each.path]
        seconds = requests[-1].at - requests[0].at
        most = (BUDGET["--kube-api-qps"] + AHEAD["rate"]) * seconds + BUDGET["--kube-api-burst"] + AHEAD["burst"]
        self.assertLessEqual(len(requests), most, f"in {seconds:.1f} s")

    def assert_nothing_twice(self) -> None:
        last: dict[str, dict] = {}
        for each in self.writes():
            path = urllib.parse.urlsplit(each.path).path
            if each.method != "PATCH" or each.status != 200 or not path.startswith("/api/v1/nodes/"):
                continue
            body = json.loads(each.body)
            if isinstance(body, dict):
                body.get("metadata", {}).pop("resourceVersion", None)
                self.assertNotEqual(last.get(path), body, f"written twice: {path}")
                last[path] = body

    def assert_quiet(self, component: Component) -> None:
        """A report of one node causes writes of that node only."""
        wait_for(lambda: component.metrics()['tidemark_work_queue_depth{component="overcommit"}'] == 0, "an empty queue", component)
        before = len(self.writes())
        self.report(self.nodes[0], 11)
        self.wait_right(component)
        others = [each.path for each in self.writes()[before:] if f"/{self.nodes[0]}" not in each.path]
        self.assertEqual([], others)

    def test_a_writer_of_every_node_stops_nothing(self):
        component = self.start_behind_proxy("--leader-elect=false")
        self.wait_right(component)
        writer = ForeignWriter(self.nodes)
        self.addCleanup(writer.stop)
        for cores in (8, 3, 9):
            self.report_all(cores)
            self.wait_right(component)
        wait_for(lambda: [each for each in self.writes() if each.status == 409] or self.report_all(15 - self.use[self.nodes[0]]), "a conflict", component, LIMIT_S)
        self.wait_right(component)
        writer.stop()
        self.assertEqual(0, component.metrics()['tidemark_manager_contested_nodes{component="amounts"}'], "a writer of other fields is no second writer")
        self.assert_within_budget()
        self.assert_nothing_twice()
        self.assert_quiet(component)

    def test_most_writes_are_answered_with_409(self):
        """Writes of nodes, NodeSLOs, NodeMetrics, stored settings, and the lease."""
        colocation.put_data(self.api, {"resource-threshold-config": json.dumps({"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 60}})})
        self.proxy.refuse = conflicts = Conflicts(share=0.6, seed=11)
        elect = ("--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=300ms")
        component = self.start_behind_proxy(*elect)
        self.wait_right(component)
        for cores in (8, 3):
            self.report_all(cores)
            self.wait_right(component)
        colocation.put_data(self.api, {
            "colocation-config": json.dumps({"enable": True, "cpuReclaimThresholdPercent": 70}),
            "resource-threshold-config": json.dumps({"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 66}}),
        })
        self.wait_right(component, 70)

        def shown() -> bool:
            specs = [self.api.request("GET", f"{NODESLOS}/{node}").get("spec", {}) for node in self.nodes]
            return all(spec.get("resourceUsedThresholdWithBE", {}).get("cpuSuppressThresholdPercent") == 66 for spec in specs)

        wait_for(shown, "the edit in every NodeSLO", component, LIMIT_S)
        stored = f"{SETTINGS}/{colocation.REVISIONS}"
        wait_for(lambda: "70" in self.api.request("GET", stored).get("data", {}).get("revision-2", ""), "the edit to be stored", component, LIMIT_S)
        for kind in ("nodes", "nodeslos", "configmaps", "leases"):
            self.assertGreater(conflicts.happened.get(kind, 0), 0, kind)
        conflicts.calm = True
        wait_for(lambda: component.metrics()["tidemark_leader"] == 1, "a leader", component, LIMIT_S)
        self.assertIsNone(component.process.poll())
        self.assert_within_budget()
        self.assert_nothing_twice()
        kept = self.api.request("GET", stored).get("data")
        self.assertEqual({"revision-1", "revision-2", "state"}, set(kept), "no revision was stored twice")


if __name__ == "__main__":
    unittest.main()
