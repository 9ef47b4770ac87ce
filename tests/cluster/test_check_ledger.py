"""`tidemark check ledger`, a process that uses only the API server: it detects an operator that oversells, and finds nothing wrong
with ours under constantly changing load. Only the first gives the second its value."""

import json
import os
import random
import subprocess
import threading
import time
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.naive_operator import FIELD_MANAGER, NaiveOperator
from cluster.test_manager import STATUS, WithApi
from cluster.tidemark_process import wait_for

THIRD_PARTY = "node.koordinator.sh/thirdPartyAllocations"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
LOAD_LIMIT_S = 600
ORIGIN_MILLI = 16000  # below the 17200 under the water line with `used(2, 4)`
STEP_MILLI = 250


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
    """As a writer other than our manager."""
    batch = {"kubernetes.io/batch-cpu": str(cpu_milli), "kubernetes.io/batch-memory": "1"}
    change = {"metadata": {"annotations": {colocation.ORIGIN: json.dumps({"resources": batch})}}, "status": {"capacity": batch, "allocatable": batch}}
    must(api.request("PATCH", f"/api/v1/nodes/{node}/status", change, content=MERGE, fieldManager=FIELD_MANAGER))


def zone(name: str, batch_milli: int) -> dict:
    amount = str(batch_milli)
    return {"name": name, "type": "Node", "resources": [{"name": "kubernetes.io/batch-cpu", "capacity": amount, "allocatable": amount, "available": amount}]}


def batch(cpu_milli: int) -> dict[str, str]:
    """With one GiB of memory for each core."""
    return {"kubernetes.io/batch-cpu": str(cpu_milli), "kubernetes.io/batch-memory": str((cpu_milli << 30) // 1000)}


def write_both(api, node: str, kubernetes: int, yarn: int, generation: int = 1, confirmed: tuple[int, int] = (1, 0)) -> None:
    """Both sides' offers and YARN's ledger in one write, as a naive operator: milli-cores of ORIGIN_MILLI. `confirmed`: the offer that the ledger knows."""
    of, amount = confirmed
    annotations = {
        colocation.ORIGIN: {"resources": batch(ORIGIN_MILLI)},
        "tidemark.io/yarn-offer": {"schema": 1, "generation": generation, "resources": batch(yarn), "upTo": batch(max(yarn, amount))},
        "tidemark.io/yarn-book": {"schema": 1, "generation": of, "confirmed": batch(amount), "sold": []},
    }
    change = {
        "metadata": {"annotations": {key: json.dumps(value) for key, value in annotations.items()}},
        "status": {"capacity": batch(kubernetes), "allocatable": batch(kubernetes)},
    }
    must(api.request("PATCH", f"/api/v1/nodes/{node}/status", change, content=MERGE, fieldManager=FIELD_MANAGER))


class Again:
    """Does something once before the block and repeatedly until its end: deed(api, count), counted from 0."""

    def __init__(self, every_s: float, deed: Callable):
        self._every_s, self._deed = every_s, deed
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.count = 0

    def _once(self, api) -> None:
        self._deed(api, self.count)
        self.count += 1

    def __enter__(self) -> "Again":
        api = colocation.client()
        self._once(api)
        api.close()
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        api = colocation.client()
        while not self._ended.wait(self._every_s):
            self._once(api)
        api.close()


class CheckLedger(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True})

    def node(self, name: str, **more) -> str:
        """With a label, as every kubelet registers one: an API server keeps no managedFields of an object created with only a name, and its writer is then unknown."""
        return super().node(name, labels={"kubernetes.io/hostname": name}, **more)

    def causes(self, report: dict) -> set[str]:
        return {cause["id"] for cause in report["causes"] if cause["mistake"]}

    def test_every_mistake_of_a_naive_operator_is_found(self):
        nodes = [self.node(f"naive-{i}", status=used(2, 4)) for i in range(2)]
        stale = self.node("naive-stale", status=used(2, 4), age_s=3600)
        with NaiveOperator([*nodes, stale]), ThreadPoolExecutor() as both:
            wait_for(lambda: all(colocation.offered(self.api, node) for node in (*nodes, stale)), "an offer of the naive operator on each node")
            as_another = both.submit(check, "--for", "6s", "--lag", "2s", "--writer", "tidemark-manager")
            code, report = check("--for", "6s", "--lag", "2s", "--writer", FIELD_MANAGER)
        self.assertEqual(code, 1)
        self.assertFalse(report["clean"])
        self.assertEqual({"TM-AUDIT-002", "TM-AUDIT-003", "TM-AUDIT-005"}, self.causes(report), report)
        twice = next(cause for cause in report["causes"] if cause["id"] == "TM-AUDIT-003")
        self.assertEqual(twice["nodes"], 3)
        self.assertGreater(twice["cpuCoreSeconds"], 3 * 30 * 2, "30 cores of each, for some seconds")
        growing = {finding["node"] for finding in report["findings"] if finding["id"] == "TM-AUDIT-005"}
        self.assertEqual(growing, {stale})
        # A question about another writer's numbers gives the same answer and names that writer.
        code, report = as_another.result()
        self.assertEqual((1, {"TM-AUDIT-010"}), (code, self.causes(report)), report)
        self.assertEqual({*nodes, stale}, {finding["node"] for finding in report["findings"] if finding["id"] == "TM-AUDIT-010"})
        shown = next(finding["example"] for finding in report["findings"] if finding["id"] == "TM-AUDIT-010")
        self.assertRegex(shown, rf"^TM-AUDIT-00\d by {FIELD_MANAGER}: ")

    def test_the_api_server_refuses_negative_amounts(self):
        """TM-AUDIT-001 has no case here: a naive operator cannot write such a number."""
        node = self.node("negative-1", status=used(2, 4))
        change = {"status": {"capacity": {"kubernetes.io/batch-cpu": "-1"}, "allocatable": {"kubernetes.io/batch-cpu": "-1"}}}
        refused = self.api.request("PATCH", f"/api/v1/nodes/{node}/status", change, content=MERGE)
        self.assertEqual(422, refused.status, refused.body)
        self.assertIn("must be greater than or equal to 0", refused["message"])

    def test_offering_yarn_what_pods_hold_is_found(self):
        node = self.node("yarn-1", status=used(2, 4))
        pod = {"name": "yarn-1-pod", "prio": "koord-batch", "qos": "BE", "requests": batch(6000), "phase": "Running"}
        colocation.put_pod(self.api, node, pod)
        write_both(self.api, node, kubernetes=6000, yarn=ORIGIN_MILLI)
        code, report = check("--for", "4s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual((1, {"TM-AUDIT-013"}), (code, self.causes(report)), report)
        (found,) = (finding for finding in report["findings"] if finding["id"] == "TM-AUDIT-013")
        self.assertEqual((node, 6000, 6 << 30), (found["node"], found["worstCpuMilli"], found["worstMemoryBytes"]))
        write_both(self.api, node, kubernetes=6000, yarn=ORIGIN_MILLI - 6000)
        code, report = check("--for", "3s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual((0, set()), (code, self.causes(report)), report)

    def test_strict_ledger_reports_giving_before_the_other_side_confirmed(self):
        """The sum is never too large: the only fault is that it gives too early."""
        node = self.node("haste-1", status=used(2, 4))
        must(self.api.request("POST", colocation.SETTINGS, {
            "metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": "schema: 1\nmode: enforce\nledger: {mode: strict}\n"},
        }))

        def all_to_the_other_side(api, count: int) -> None:
            yarn = ORIGIN_MILLI if count % 2 else 0
            write_both(api, node, ORIGIN_MILLI - yarn, yarn, generation=1 + count)

        with Again(1, all_to_the_other_side):
            code, report = check("--for", "5s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual((1, {"TM-AUDIT-014"}), (code, self.causes(report)), report)
        (found,) = (finding for finding in report["findings"] if finding["id"] == "TM-AUDIT-014")
        self.assertEqual((node, ORIGIN_MILLI), (found["node"], found["worstCpuMilli"]))

        def step_by_step_and_confirmed(api, count: int) -> None:
            """From YARN to Kubernetes, three writes a step: cut, confirmed, given."""
            step, write = divmod(count, 3)
            generation, before = 1000 + step, ORIGIN_MILLI - step * STEP_MILLI
            after = before - STEP_MILLI
            confirmed = (generation - 1, before) if write == 0 else (generation, after)
            write_both(api, node, ORIGIN_MILLI - (after if write == 2 else before), after, generation, confirmed)

        write_both(self.api, node, 0, ORIGIN_MILLI, generation=999, confirmed=(999, ORIGIN_MILLI))
        seen = 0  # until the check has seen enough, as below
        with Again(0.25, step_by_step_and_confirmed) as moved:
            while seen <= 12:
                code, report = check("--for", "5s", "--lag", "1s", "--writer", FIELD_MANAGER)
                self.assertEqual((0, set()), (code, self.causes(report)), report)
                seen += report["changes"]
        self.assertLess(moved.count, ORIGIN_MILLI * 3 // STEP_MILLI, "nothing was left to move: the test proved too little")

    def test_known_deviations_are_reported_but_are_no_mistakes(self):
        """An excess younger than the lag, one too small for a write, tasks that outlive a cut, and unreadable values."""
        young, small, cut, garbled = (self.node(f"known-{what}", status=used(2, 4)) for what in ("young", "small", "cut", "garbled"))
        write_offer(self.api, young, 25000)  # 17200 are under the line
        write_offer(self.api, small, 17900)  # 4 % above the line; a write needs 10 %
        write_offer(self.api, cut, 3000)
        colocation.put_pod(self.api, cut, {"name": "known-cut-pod", "prio": "koord-batch", "qos": "BE", "requests": batch(5000), "phase": "Running"})
        write_offer(self.api, garbled, 3000)
        must(self.api.request("PATCH", f"/api/v1/nodes/{garbled}", {"metadata": {"annotations": {colocation.ORIGIN: "{"}}}, content=MERGE))
        code, report = check("--for", "3s", "--lag", "1h", "--writer", FIELD_MANAGER)
        self.assertEqual((0, True, set()), (code, report["clean"], self.causes(report)), report)
        shown = {(finding["node"], finding["id"]) for finding in report["findings"]}
        self.assertEqual({(young, "TM-AUDIT-007"), (small, "TM-AUDIT-008"), (cut, "TM-AUDIT-009"), (garbled, "TM-AUDIT-011")}, shown, report)

    def test_growth_without_reports_and_jumps_are_found(self):
        node = self.node("jump-1", status=used(20, 4), age_s=3600)
        must(self.api.request("POST", colocation.SETTINGS, {
            "metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": "schema: 1\nmode: enforce\nprofile: tidemark\n"},
        }))
        # It grows by a core a second during the whole check, whenever that begins.
        with Again(1, lambda api, count: write_offer(api, node, 1000 + count * 1000)):
            code, report = check("--for", "8s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual(code, 1)
        self.assertLessEqual({"TM-AUDIT-004", "TM-AUDIT-006"}, self.causes(report), report)

    def test_zones_above_their_node_are_found(self):
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

    def test_a_naive_operator_is_found_by_yarns_ledger_and_in_a_strict_ledger(self):
        shared = self.node("naive-book", status=used(2, 4))
        with NaiveOperator([shared], with_book=True):
            annotations = lambda: must(self.api.request("GET", f"/api/v1/nodes/{shared}")).get("metadata.annotations") or {}
            wait_for(lambda: "tidemark.io/yarn-book" in annotations(), "the naive operator's ledger")
            code, report = check("--for", "5s", "--lag", "1s", "--writer", FIELD_MANAGER)
            self.assertEqual(code, 1)
            self.assertIn("TM-AUDIT-003", self.causes(report), report)
            must(self.api.request("POST", colocation.SETTINGS, {
                "metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": "schema: 1\nmode: enforce\nledger: {mode: strict}\n"},
            }))
            code, report = check("--for", "5s", "--lag", "1s", "--writer", FIELD_MANAGER)
        self.assertEqual(code, 1)
        self.assertIn("TM-AUDIT-012", self.causes(report), report)

    def test_our_manager_is_clean_with_over_report_and_a_yarn_ledger(self):
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

    def test_our_manager_is_clean_under_constantly_changing_load(self):
        nodes = [self.node(f"ours-{i}", status=used(2 + i, 4)) for i in range(6)]
        component = self.run_manager("--leader-elect=false", "--kube-api-qps=100", "--kube-api-burst=100")
        for i, node in enumerate(nodes):
            self.wait_offered(node, str(19200 - 1000 * (2 + i)), component)

        def writes() -> float:
            return sum(value for name, value in component.metrics().items() if name.startswith("tidemark_manager_capacity_writes_total"))

        # Until the check has seen enough, however long that takes: changed reports, changes of YARN's part, and changed offers.
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
