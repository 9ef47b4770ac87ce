"""One ledger for both sides: our manager and our YARN operator between a real API server and a real ResourceManager. The sum of Kubernetes' offer
and YARN's total on a node never exceeds what exists, at any sample, whatever changes."""

import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.manager_case import WithManager
from cluster.tidemark_process import Component, wait_for
from support.patience import PATIENCE_S as LIMIT_S
from support.yarn import Totals, Yarn, until
from yarn.doors import Doors
from yarn.looking_on import LookingOn

NODE = "shared"
NODE_PATH = f"/api/v1/nodes/{NODE}"
CAPACITY = {"cpu": "16", "memory": "16Gi", "pods": "110"}
AMOUNT = {"resources": {"cpu": "1", "memory": "1Gi"}}
# 60 % of 16 cores and of 16 GiB, less the use of the system.
ORIGIN_MILLI, ORIGIN_BYTES = 8600, int((16 * 0.6 - 1) * 2**30)
STATUS = {"nodeMetric": {"nodeUsage": AMOUNT, "systemUsage": AMOUNT}, "podsMetric": [], "prodReclaimableMetric": {"resource": {"resources": {}}}}
CONFIG = {
    "schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"},
    "ledger": {"mode": "strict", "classAware": True, "kubernetes": {"minPercent": 20}, "yarn": {"minPercent": 20}},
    "classes": [{"name": "etl", "order": 1}, {"name": "spark", "order": 3}],
    "drain": {"yarn": "end"},
    "evictions": {"perPoolHour": 40, "grants": True},  # a pod here needs more than a node without a grant gives in an hour
}
CLASS = {"tidemark.class": "etl"}  # the class of all of YARN's work
SITE = Totals(memory_mib=2048, vcores=2)
BOOK, OFFER = "tidemark.io/yarn-book", "tidemark.io/yarn-offer"
BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
DRAIN_S = 12  # how long a running job may continue
HEARTBEATS_S = 3  # of a master, which has no open request by then: a request while no node has anything would end it


def bytes_of(text: str) -> int:
    for unit, scale in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("k", 10**3), ("M", 10**6), ("G", 10**9)):
        if text.endswith(unit):
            return int(text[: -len(unit)]) * scale
    return int(text)


class Looking(threading.Thread):
    """Samples both sides all the time. It takes the smaller Kubernetes offer of before and after, because a sample is not one moment."""

    def __init__(self, nm):
        super().__init__(daemon=True)
        self.nm, self.looks, self.worst, self.ended = nm, 0, [], threading.Event()

    def run(self) -> None:
        api = colocation.client()
        before = self.kubernetes(api)
        while not self.ended.wait(0.05):
            memory_mib, vcores = self.nm.total()
            after = self.kubernetes(api)
            both = (min(before[0], after[0]) + vcores * 1000, min(before[1], after[1]) + memory_mib * 2**20)
            self.looks += 1
            if both[0] > ORIGIN_MILLI or both[1] > ORIGIN_BYTES:
                self.worst.append((both, before, after, (memory_mib, vcores)))
            before = after
        api.close()

    @staticmethod
    def kubernetes(api) -> tuple[int, int]:
        offered = colocation.offered(api, NODE)
        return bytes_of(offered.get(BATCH_CPU, "0")), bytes_of(offered.get(BATCH_MEMORY, "0"))


class Ledger(WithManager):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE], site=CLASS))
        cls.nm = cls.yarn.nodes[0]

    def setUp(self):
        self.nodes = [NODE]
        colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 60, "memoryReclaimThresholdPercent": 60})
        made = {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(CONFIG)}}
        must(self.api.request("POST", colocation.SETTINGS, made), 201)
        colocation.put_node(self.api, NODE, capacity=CAPACITY, annotations={"yarn.hadoop.apache.org/node-id": self.nm.id})
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}]}}
        must(self.api.request("PATCH", f"{NODE_PATH}/status", ready, content=MERGE))
        colocation.put_metric(self.api, NODE, STATUS)
        self.manager = self.run_manager("--leader-elect=false")
        self.doors = Doors(self.yarn.rm, Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-audit-"))))
        self.operator = self.begin(*self.doors.flags)
        # The sum counts from here on. Before, each side had all of it, so the first offer to YARN is 0 until Kubernetes' cut is
        # confirmed.
        self.wait(lambda: self.in_force() and self.yarn_total()[0] > 0, "an offer that came into force")

    def in_force(self) -> bool:
        return "generation" in self.annotation(OFFER) and self.book().get("generation") == self.annotation(OFFER)["generation"]

    def begin(self, *more: str) -> Component:
        operator = Component(
            "yarn-operator", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration), "--leader-elect=false",
            "--poll=500ms", "--metrics-addr=127.0.0.1:0", *more,
        )
        self.addCleanup(operator.stop)
        return operator

    def wait(self, condition, what: str):
        return wait_for(condition, what, self.operator, limit_s=LIMIT_S)

    def annotation(self, key: str) -> dict:
        return json.loads(must(self.api.request("GET", NODE_PATH)).get("metadata.annotations", {}).get(key, "{}"))

    def book(self) -> dict:
        return self.annotation(BOOK)

    def yarn_total(self) -> tuple[int, int]:
        return self.nm.total()

    def kubernetes_milli(self) -> int:
        return Looking.kubernetes(self.api)[0]

    def look(self) -> Looking:
        looking = Looking(self.nm)
        looking.start()

        def end():
            looking.ended.set()
            looking.join(30)

        self.addCleanup(end)
        return looking

    def held_by_yarn(self) -> int:
        """Bytes that its class holds, from the ledger."""
        return sum(bytes_of(each["resources"][BATCH_MEMORY]) for each in self.book().get("sold", []) if each["class"] == "etl")

    def test_capacity_goes_to_the_waiting_side_and_the_sum_never_exceeds_the_origin(self):
        looking, checking = self.look(), LookingOn(self.yarn.configuration, 1000, lag_s=10)
        self.addCleanup(checking.end)
        offer = self.annotation(OFFER)
        self.assertEqual(bytes_of(offer["resources"][BATCH_CPU]) // 1000, self.yarn_total()[1])
        self.assertEqual(bytes_of(offer["resources"][BATCH_MEMORY]) // 2**20, self.yarn_total()[0])

        # A job asks for more than YARN has: it gets what Kubernetes does not need, less Kubernetes' share.
        job = self.yarn.submit("sleep 1000", containers=6, memory_mib=1024, master_memory_mib=256)
        self.addCleanup(job.end)
        before = self.yarn_total()
        self.wait(lambda: "waiting" in self.book(), "waiting work in YARN")
        self.wait(lambda: self.yarn_total()[0] > before[0], "more for YARN")
        self.wait(lambda: self.held_by_yarn() >= 5120 * 2**20, "containers in the capacity that YARN got")

        # A pod of a more timely class waits: YARN reclaims exactly what the pod lacks.
        requests = {BATCH_CPU: "1500", BATCH_MEMORY: "5Gi"}
        waiting = {"metadata": {"name": "waits", "labels": {"koordinator.sh/priority-class": "koord-batch", "koordinator.sh/qosClass": "BE", "tidemark.io/class": "spark"}},
                   "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}]}}
        must(self.api.request("POST", "/api/v1/namespaces/default/pods", waiting))
        self.addCleanup(self.api.request, "DELETE", "/api/v1/namespaces/default/pods/waits", gracePeriodSeconds=0)
        self.wait(lambda: Looking.kubernetes(self.api)[1] >= 5 * 2**30, "capacity for the pod, reclaimed from containers")
        self.assertGreaterEqual(self.held_by_yarn(), ORIGIN_BYTES - (5 + 1) * 2**30, "at most one container more than needed")
        self.assertEqual("RUNNING", job.state)
        self.assertGreaterEqual(self.operator.metrics()["tidemark_yarn_operator_reclaimed_nodes_total"], 1)
        job.end()
        held = self.kubernetes_milli()
        self.wait(lambda: self.kubernetes_milli() > held, "the capacity from YARN, for Kubernetes")
        self.wait(self.in_force, "the last offer in force")

        checking.assert_clean(self)
        self.doors.assert_operators_alone(self, self.operator)
        self.assertGreater(looking.looks, 100)
        self.assertEqual([], looking.worst[:3])

    def test_off_with_a_drain_lets_running_work_continue_and_then_preempts_it(self):
        looking, checking = self.look(), LookingOn(self.yarn.configuration, 1000, lag_s=10)
        self.addCleanup(checking.end)
        job = self.yarn.submit("sleep 1000", containers=2, memory_mib=256, master_memory_mib=256)
        self.addCleanup(job.end)
        until("both work", lambda: sum(each["state"] == "RUNNING" for each in self.nm.containers()) == 3)
        time.sleep(HEARTBEATS_S)
        ordered = time.time()
        words = ["off", "node", NODE, f"--drain={DRAIN_S}s", "--reason=a test", "--yes", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)
        self.wait(lambda: self.yarn_total() == (0, 0), "a total of 0")
        running = job.report()["runningContainers"]
        if time.time() < ordered + DRAIN_S:  # the machine may be slow
            self.assertEqual(3, running)
        self.wait(lambda: self.nm.seen()["usedMemoryMB"] == 0, "an empty node")
        self.assertGreaterEqual(time.time(), ordered + DRAIN_S)
        report = job.report()
        self.assertEqual((2, 1), (report["numNonAMContainerPreempted"], report["numAMContainerPreempted"]))
        self.assertEqual(1, self.operator.metrics()["tidemark_yarn_operator_drained_nodes_total"])
        self.wait(lambda: self.held_by_yarn() == 0, "0 in the ledger")
        checking.assert_clean(self)
        self.doors.assert_operators_alone(self, self.operator)
        self.assertEqual([], looking.worst[:3])

    def test_a_resource_manager_outage_gives_nothing_away_and_a_dead_operator_confirms_nothing(self):
        looking = self.look()
        self.yarn.rm.freeze()
        self.addCleanup(self.yarn.rm.resume)
        total = self.yarn_total_when_away()
        self.wait(lambda: "sold" not in self.book(), "a ledger without YARN's held amount")
        # The system uses half of the machine: everything is cut, and Kubernetes gets nothing of what YARN may still hand out.
        busy = {"resources": {"cpu": "5", "memory": "5Gi"}}
        colocation.put_metric(self.api, NODE, {**STATUS, "nodeMetric": {"nodeUsage": busy, "systemUsage": busy}})
        self.wait(lambda: colocation.origin(self.api, NODE)[BATCH_CPU] == "4600", "the cut")
        self.wait(lambda: self.kubernetes_milli() + total <= 4600, "an offer to Kubernetes below what YARN leaves")
        looking.ended.set()  # the sum was for the larger node
        looking.join(30)
        self.yarn.rm.resume()
        self.wait(lambda: self.in_force() and "sold" in self.book(), "the cut in force")
        self.assertLessEqual(self.kubernetes_milli() + self.yarn_total()[1] * 1000, 4600)

        self.operator.kill()
        generation = self.book()["generation"]
        colocation.put_metric(self.api, NODE, STATUS)
        wait_for(lambda: self.annotation(OFFER)["generation"] > generation, "another offer", limit_s=LIMIT_S)
        time.sleep(2)
        self.assertEqual(generation, self.book()["generation"])
        self.operator = self.begin()
        self.wait(self.in_force, "the offer in force")

    def yarn_total_when_away(self) -> int:
        """In milli-cores, from the ledger, since the ResourceManager does not answer."""
        return bytes_of(self.book()["confirmed"][BATCH_CPU])
