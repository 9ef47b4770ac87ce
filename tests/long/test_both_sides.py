"""Less timely work is reclaimed on both sides of one node, one after the other, with a real manager, YARN operator, agent, kubelet and NodeManager.
Transcode pods make room for Spark on YARN, and Spark for a pod that is even more timely; a checker of the ledger watches from outside all the time."""

import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.manager_case import manager
from cluster.tidemark_process import Component, wait_for
from node.evicting import offline
from support.node import pods
from yarn.doors import Doors
from yarn.looking_on import LookingOn
from yarn.operating import NODE_ID
from yarn.sharing import API, MASTER_MIB, TASK_MIB, OnASharedNode, tearDownModule  # noqa: F401

BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
BOOK, OFFER = "tidemark.io/yarn-book", "tidemark.io/yarn-offer"
PODS = "/api/v1/namespaces/default/pods"
CONFIG = {
    "schema": 1, "rollout": {"pace": "at-once"}, "mode": {"capacity": "enforce", "nodeSlo": "enforce", "agent": {"default": "observe", "eviction": "enforce"}},
    "ledger": {"mode": "strict", "classAware": True}, "evictions": {"perPoolHour": 40, "grants": True},
    "classes": [{"name": "transcode", "order": 10}, {"name": "spark", "order": 30}, {"name": "stream", "order": 50}],
}
LINE = {"enable": True, "cpuReclaimThresholdPercent": 100, "memoryReclaimThresholdPercent": 60}
MIB = 1 << 20
THERE_MIB = 6200  # for offline work; only memory is short here, never CPU
TRANSCODE = [f"transcode-{i}" for i in range(3)]
POD_MIB, SLEEPERS, WAITS_MIB = 1024, 4, 3584  # a transcode pod, Spark's containers, and the pod that waits for some of their memory
CORE_PART = 100  # of each of them, in milli-cores
LIMIT_S = 120


class BothSides(OnASharedNode):
    YARN_SITE = {"tidemark.class": "spark"}  # the class of all of YARN's work
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 6), *(offline(name, "transcode", 6, {"batch-cpu": CORE_PART, "batch-memory": POD_MIB * MIB}) for name in TRANSCODE)]
    STREAM = offline("stream", "stream", 6, {"batch-cpu": CORE_PART, "batch-memory": WAITS_MIB * MIB})

    @classmethod
    def more_flags(cls) -> list[str]:
        return [*super().more_flags(), "--enable-node-metric-report=false"]  # the use of this machine is not part of the test

    def setUp(self):
        self.nm = self.yarn.nodes[0]
        self.path = f"/api/v1/nodes/{self.node.name}"
        capacity = self.bytes_of(must(API.get(self.path))["status.capacity"]["memory"])
        used = {"resources": {"cpu": "100m", "memory": str(capacity * 60 // 100 - THERE_MIB * MIB)}}
        must(API.request("PATCH", self.path, {"metadata": {"annotations": {NODE_ID: self.nm.id}}}, content=MERGE))
        colocation.put_settings(API, LINE)
        self.addCleanup(colocation.delete_settings, API)
        must(API.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(CONFIG)}}), 201)
        colocation.put_metric(API, self.node.name, {"nodeMetric": {"nodeUsage": used, "systemUsage": used}, "podsMetric": [], "prodReclaimableMetric": {"resource": {"resources": {}}}})
        self.manager = manager("--leader-elect=false")
        self.addCleanup(self.manager.stop)
        self.doors = Doors(self.yarn.rm, Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-audit-"))))
        self.operator = Component(
            "yarn-operator", *self.doors.flags, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration), "--leader-elect=false",
            "--poll=500ms", "--metrics-addr=127.0.0.1:0", f"--millicores-per-vcore={CORE_PART}",
        )
        self.addCleanup(self.operator.stop)
        self.wait(lambda: self.in_force() and self.nm.total()[0] > 0, "an offer that came into force")

    # -- observations

    @staticmethod
    def bytes_of(text: str) -> int:
        for unit, scale in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("k", 10**3), ("M", 10**6), ("G", 10**9)):
            if text.endswith(unit):
                return int(text[: -len(unit)]) * scale
        return int(text)

    def wait(self, condition, what: str):
        try:
            return wait_for(condition, what, self.operator, LIMIT_S)
        except AssertionError as error:
            annotations = {key: text for key, text in must(API.get(self.path))["metadata.annotations"].items() if "tidemark.io" in key}
            raise AssertionError(f"{error}\n{json.dumps(annotations, indent=1)}\n{self.manager.log[-3000:]}\n{self.agent.log[-3000:]}")

    def annotation(self, key: str) -> dict:
        return json.loads(must(API.get(self.path))["metadata.annotations"].get(key, "{}"))

    def in_force(self) -> bool:
        return "generation" in (offer := self.annotation(OFFER)) and self.annotation(BOOK).get("generation") == offer["generation"]

    def pods_have_mib(self) -> int:
        """Memory of pods admitted by the kubelet, by their requests."""
        held = [each["resources"].get("requests", {}).get(BATCH_MEMORY, "0") for pod in self.node.pods() if pod["status"].get("phase") == "Running" for each in pod["spec"]["containers"]]
        return sum(map(self.bytes_of, held)) // MIB

    def yarn_has_mib(self) -> int:
        """Memory of running containers, by the ResourceManager."""
        return self.nm.seen()["usedMemoryMB"]

    def there_mib(self) -> int:
        return self.bytes_of(colocation.origin(API, self.node.name)[BATCH_MEMORY]) // MIB

    def offered_mib(self) -> int:
        return self.bytes_of(colocation.offered(API, self.node.name)[BATCH_MEMORY]) // MIB

    # -- the two directions

    def pods_are_reclaimed_for_spark(self) -> None:
        """Spark lacks a part of two of three pods, beyond the idle memory."""
        begin = time.monotonic()
        wanted = MASTER_MIB + SLEEPERS * TASK_MIB
        self.assertEqual(len(TRANSCODE) * POD_MIB, self.pods_have_mib())
        short = wanted - (self.there_mib() - self.pods_have_mib())
        self.assertTrue(POD_MIB < short < 2 * POD_MIB, f"{short} MiB")
        self.job = self.yarn.submit("sleep 1000", containers=SLEEPERS, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        self.addCleanup(self.job.end)
        self.wait(lambda: len(self.names() & set(TRANSCODE)) < len(TRANSCODE), "a pod on its way")
        asked = time.monotonic()
        self.wait(lambda: self.yarn_has_mib() == wanted, "all of Spark, in the memory reclaimed from pods")
        self.all_have_ended()
        self.assertEqual(len(TRANSCODE) - 2, len(left := self.names() & set(TRANSCODE)), "no more than Spark lacked")
        self.assertEqual(POD_MIB, self.pods_have_mib())
        self.assertLessEqual(self.pods_have_mib() + self.yarn_has_mib(), self.there_mib())
        done = [each["object"]["name"] for each in self.audit() if each["reason"] == "TM-LEDGER-009" and each["outcome"] == "done"]
        self.assertEqual(set(TRANSCODE) - left, set(done))
        print(f"pods: the first on its way {asked - begin:.1f} s after a job was submitted, all of the job at work after {time.monotonic() - begin:.1f} s", file=sys.stderr)

    def spark_gives_way_to_a_pod(self) -> None:
        """An unbound pod lacks a part of two containers, beyond the idle memory."""
        held = self.yarn_has_mib()
        short = WAITS_MIB - (self.there_mib() - held)
        self.assertTrue(TASK_MIB < short < 2 * TASK_MIB, f"{short} MiB")
        manifest = pods.manifest(self.STREAM, self.node.name, "default")
        del manifest["spec"]["nodeName"]
        begin = time.monotonic()
        must(API.request("POST", PODS, manifest), 201)
        self.addCleanup(API.request, "DELETE", f"{PODS}/stream", gracePeriodSeconds=0)
        self.wait(lambda: self.offered_mib() >= WAITS_MIB, "an offer for it, reclaimed from containers")
        room = time.monotonic()
        self.assertEqual(held - 2 * TASK_MIB, self.yarn_has_mib(), "no more than the pod lacked")
        # As a scheduler that sees the offer.
        must(API.request("POST", f"{PODS}/stream/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "stream"}, "target": {"kind": "Node", "name": self.node.name}}), 201)
        self.wait(lambda: self.pods_have_mib() == WAITS_MIB, "the pod admitted by its kubelet")
        self.assertGreaterEqual(self.operator.metrics()["tidemark_yarn_operator_reclaimed_nodes_total"], 1)
        self.assertIn("TM-YARN-018", self.operator.log)
        self.assertEqual("RUNNING", self.job.state)
        print(f"YARN: room for a pod {room - begin:.1f} s after it was made, at work after {time.monotonic() - begin:.1f} s", file=sys.stderr)

    def test_each_side_is_reclaimed_for_more_timely_work_of_the_other(self):
        looking = LookingOn(self.yarn.configuration, CORE_PART, lag_s=10)
        self.addCleanup(looking.end)
        self.pods_are_reclaimed_for_spark()
        self.node.end(sorted(self.names() & set(TRANSCODE)))  # the last one is complete
        self.spark_gives_way_to_a_pod()
        # Spark wants its containers back, but no task is less timely: it waits, and nothing moves.
        end = time.monotonic() + 15
        while time.monotonic() < end:
            self.assertEqual({"web", "stream"}, self.names())
            self.assertLessEqual(self.pods_have_mib() + self.yarn_has_mib(), self.there_mib())
            time.sleep(0.5)
        self.assertIn("waiting", self.annotation(BOOK))
        seen = looking.assert_clean(self)
        self.doors.assert_operators_alone(self, self.operator)
        print(f"the checker saw {seen['changes']} changes, and no mistake", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
