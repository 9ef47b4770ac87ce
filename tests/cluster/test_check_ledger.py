"""`tidemark check ledger`, a process with nothing but the API server: it catches an operator that oversells, and finds nothing wrong
with ours under a load that changes all the time. Only the first makes the second worth anything."""

import json
import os
import random
import subprocess
import threading
import time
import unittest

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.naive_operator import FIELD_MANAGER, NaiveOperator
from cluster.test_manager import STATUS, WithApi
from cluster.tidemark_process import wait_for

THIRD_PARTY = "node.koordinator.sh/thirdPartyAllocations"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
LOAD_LIMIT_S = 240


def check(*more: str) -> tuple[int, dict]:
    done = subprocess.run(
        [os.environ["TIDEMARK_BINARY"], "check", "ledger", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "-o", "json", *more],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )
    if not done.stdout:
        raise AssertionError(f"check ledger answered nothing: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def used(cores: int, gib: int) -> dict:
    amount = {"resources": {"cpu": str(cores), "memory": f"{gib}Gi"}}
    return {**STATUS, "nodeMetric": {"nodeUsage": amount, "systemUsage": amount}}


class Load:
    """Reports and YARN's part that change several times a second, until the end of the block."""

    def __init__(self, nodes: list[str], seed: int):
        self._nodes = nodes
        self._random = random.Random(seed)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.changes = 0

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        api = colocation.client()
        while not self._ended.wait(0.2):
            node = self._random.choice(self._nodes)
            if self._random.random() < 0.5:
                colocation.put_metric(api, node, used(self._random.randint(1, 18), self._random.randint(2, 60)))
            else:
                batch = {"kubernetes.io/batch-cpu": str(self._random.randint(0, 9000)), "kubernetes.io/batch-memory": str(self._random.randint(0, 20) << 30)}
                text = json.dumps({"allocations": [{"name": "hadoop-yarn", "priority": "koord-batch", "resources": batch}]})
                must(api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {THIRD_PARTY: text}}}, content=MERGE))
            self.changes += 1
        api.close()


def write_offer(api, node: str, cpu_milli: int) -> None:
    """As somebody else than a manager of ours."""
    batch = {"kubernetes.io/batch-cpu": str(cpu_milli), "kubernetes.io/batch-memory": "1"}
    change = {"metadata": {"annotations": {colocation.ORIGIN: json.dumps({"resources": batch})}}, "status": {"capacity": batch, "allocatable": batch}}
    must(api.request("PATCH", f"/api/v1/nodes/{node}/status", change, content=MERGE, fieldManager=FIELD_MANAGER))


def zone(name: str, batch_milli: int) -> dict:
    amount = str(batch_milli)
    return {"name": name, "type": "Node", "resources": [{"name": "kubernetes.io/batch-cpu", "capacity": amount, "allocatable": amount, "available": amount}]}


class Growing:
    """An offer that grows by a core a second, until the end of the block."""

    def __init__(self, node: str):
        self._node = node
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Growing":
        api = colocation.client()
        write_offer(api, self._node, 1000)
        api.close()
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        api = colocation.client()
        cores = 1
        while not self._ended.wait(1):
            cores += 1
            write_offer(api, self._node, cores * 1000)
        api.close()


class CheckLedger(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True})

    def causes(self, report: dict) -> set[str]:
        return {cause["id"] for cause in report["causes"] if cause["mistake"]}

    def test_a_naive_operator_is_caught_at_every_one_of_its_mistakes(self):
        nodes = [self.node(f"naive-{i}", status=used(2, 4)) for i in range(2)]
        stale = self.node("naive-stale", status=used(2, 4), age_s=3600)
        with NaiveOperator([*nodes, stale]):
            time.sleep(1)
            code, report = check("--for", "6s", "--lag", "2s", "--writer", FIELD_MANAGER)
        self.assertEqual(code, 1)
        self.assertFalse(report["clean"])
        self.assertEqual({"TM-AUDIT-002", "TM-AUDIT-003", "TM-AUDIT-005"}, self.causes(report), report)
        twice = next(cause for cause in report["causes"] if cause["id"] == "TM-AUDIT-003")
        self.assertEqual(twice["nodes"], 3)
        self.assertGreater(twice["cpuCoreSeconds"], 3 * 30 * 2, "30 cores of each, for some seconds")
        growing = {finding["node"] for finding in report["findings"] if finding["id"] == "TM-AUDIT-005"}
        self.assertEqual(growing, {stale})

    def test_growth_without_reports_and_growth_that_jumps_are_caught(self):
        node = self.node("jump-1", status=used(20, 4), age_s=3600)
        must(self.api.request("POST", colocation.SETTINGS, {
            "metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": "schema: 1\nmode: enforce\nprofile: tidemark\n"},
        }))
        # It grows by a core a second for as long as somebody looks, whenever that begins.
        with Growing(node):
            code, report = check("--for", "8s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual(code, 1)
        self.assertLessEqual({"TM-AUDIT-004", "TM-AUDIT-006"}, self.causes(report), report)

    def test_zones_that_carry_more_than_their_node_are_caught(self):
        node = self.node("zones-1", status=used(2, 4))
        must(self.api.request("POST", colocation.SETTINGS, {
            "metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": "schema: 1\nmode: enforce\nprofile: tidemark\n"},
        }))
        write_offer(self.api, node, 8000)
        zones = [zone("node-0", 4500), zone("node-1", 4500)]
        topology = {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": node}, "topologyPolicies": ["None"], "zones": zones}
        must(self.api.request("POST", TOPOLOGIES, topology, fieldManager=FIELD_MANAGER))
        self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/{node}")
        code, report = check("--for", "4s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual((1, {"TM-AUDIT-015"}), (code, self.causes(report)), report)
        change = {"zones": [zone("node-0", 3500), zone("node-1", 4500)]}
        must(self.api.request("PATCH", f"{TOPOLOGIES}/{node}", change, content=MERGE, fieldManager=FIELD_MANAGER))
        code, report = check("--for", "4s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual((0, set()), (code, self.causes(report)), report)

    def test_a_naive_operator_is_caught_by_yarns_book_and_in_a_strict_ledger(self):
        shared = self.node("naive-book", status=used(2, 4))
        with NaiveOperator([shared], with_book=True):
            annotations = lambda: must(self.api.request("GET", f"/api/v1/nodes/{shared}")).get("metadata.annotations") or {}
            wait_for(lambda: "tidemark.io/yarn-book" in annotations(), "the naive operator's book", limit_s=60)
            code, report = check("--for", "5s", "--lag", "1s", "--writer", FIELD_MANAGER)
            self.assertEqual(code, 1)
            self.assertIn("TM-AUDIT-003", self.causes(report), report)
            must(self.api.request("POST", colocation.SETTINGS, {
                "metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": "schema: 1\nmode: enforce\nledger: {mode: strict}\n"},
            }))
            code, report = check("--for", "5s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual(code, 1)
        self.assertIn("TM-AUDIT-012", self.causes(report), report)

    def test_our_manager_is_clean_where_the_pool_over_reports_and_yarn_keeps_a_book(self):
        settings = "schema: 1\nmode: enforce\nledger: {kubernetes: {overReport: {cpuPercent: 150}}, yarn: {overReport: {cpuPercent: 120}}}\n"
        must(self.api.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": settings}}))
        node = self.node("over-1", status=used(2, 4))
        sold = {"kubernetes.io/batch-cpu": "6000", "kubernetes.io/batch-memory": "0"}
        book = json.dumps({"schema": 1, "generation": 0, "confirmed": sold, "sold": [{"class": "", "resources": sold}]})
        must(self.api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"tidemark.io/yarn-book": book}}}, content=MERGE))
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, str((17200 - 6000 * 100 // 120) * 150 // 100), component)
        code, report = check("--for", "4s", "--lag", "1s")
        self.assertEqual((code, report["clean"], self.causes(report)), (0, True, set()), report)

    def test_our_manager_is_clean_under_a_load_that_changes_all_the_time(self):
        nodes = [self.node(f"ours-{i}", status=used(2 + i, 4)) for i in range(6)]
        component = self.run_manager("--leader-elect=false", "--kube-api-qps=100", "--kube-api-burst=100")
        for i, node in enumerate(nodes):
            self.wait_offered(node, str(19200 - 1000 * (2 + i)), component)

        def writes() -> float:
            return sum(value for name, value in component.metrics().items() if name.startswith("tidemark_manager_capacity_writes_total"))

        # Until enough has happened before its eye, however long that takes: reports and YARN's part moved, and offers with them.
        begun, seen = writes(), 0
        deadline = time.monotonic() + LOAD_LIMIT_S
        with Load(nodes, seed=4) as load:
            while load.changes < 60 or seen < 60 or writes() - begun < 20:
                self.assertLess(time.monotonic(), deadline, f"{load.changes} changes, {seen} of them seen, {writes() - begun} writes")
                code, report = check("--for", "20s", "--lag", "10s")
                self.assertEqual((code, report["clean"], self.causes(report)), (0, True, set()), report)
                seen += report["changes"]


if __name__ == "__main__":
    unittest.main()
