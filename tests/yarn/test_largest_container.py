"""An application that asks for more than any node of its partition has, after its totals got smaller or while another partition has more: it waits, YARN does not tell the user why, and
the operator reports it."""

import json
import os
import subprocess
import time
import unittest

from cluster.tidemark_process import Component, wait_for
from support.yarn import Yarn, until
from yarn.operating import NODE_ID, SITE, Operating, origin

LARGEST_MIB, SMALLER_MIB = 3072, 2048
WAITS_S = 4  # many heartbeats, and polls of the operator
CONFIGURED_S = 11  # after its start a ResourceManager uses the configured maximum (yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms: ten)
BOOK = "tidemark.io/yarn-book"
SMALL, IN_VAIN = "tidemark_yarn_operator_clusters_small", "tidemark_yarn_operator_clusters_waiting_in_vain"


class WithLargest(Operating):
    QUEUES: dict[str, str] = {}  # queues of the scheduler
    NODES = [SITE]
    LABELS: dict[str, str] = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        largest = {"yarn.scheduler.maximum-allocation-mb": str(LARGEST_MIB), "yarn.scheduler.maximum-allocation-vcores": "4"}
        cls.yarn = cls.enterClassContext(Yarn(cls.NODES, site={**largest, **cls.LABELS}, capacity=cls.QUEUES))
        cls.nms = cls.yarn.nodes
        cls.began = time.monotonic()

    def wait_figures(self, small: int, in_vain: int, operator: Component) -> None:
        wait_for(lambda: [operator.metrics()[each] for each in (SMALL, IN_VAIN)] == [small, in_vain], f"{SMALL} {small} and {IN_VAIN} {in_vain}", operator)

    def explain(self, node: str = "yarn-0") -> str:
        words = ["explain", "yarn", node, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration)]
        return subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout


class LargestContainer(WithLargest):
    def test_an_accepted_container_waits_until_a_node_is_large_enough(self):
        self.put_node("yarn-0", {NODE_ID: self.nms[0].id, **origin(4000, SITE.memory_mib)})
        operator = self.begin()
        self.wait_total(0, SITE.memory_mib, 4, operator)
        others = self.yarn.submit("sleep 1000", memory_mib=1024, master_memory_mib=256)
        self.addCleanup(others.end)
        others.wait_for_containers(2)
        large = self.yarn.submit_by_rest("sleep 1000", memory_mib=LARGEST_MIB)
        self.addCleanup(large.end)
        large.wait_for("ACCEPTED")
        end = time.monotonic() + WAITS_S
        while time.monotonic() < end:
            self.assertEqual([0, 0], [operator.metrics()[each] for each in (SMALL, IN_VAIN)], "it waits for the end of the others")
            time.sleep(0.5)

        self.annotate("yarn-0", origin(4000, SMALLER_MIB))
        self.wait_total(0, SMALLER_MIB, 4, operator)
        self.wait_figures(1, 1, operator)
        for words in ("no node could hold the largest container that may be asked for", "a container is waited for that no node can hold", f"{SMALLER_MIB} MiB, 4 vcores"):
            self.assertIn(words, operator.log)
        node = f"the largest node, {self.nms[0].id}, has {SMALLER_MIB} MiB and 4 vcores"
        self.assertIn(f"its cluster           a container may be asked for with up to {LARGEST_MIB} MiB and 4 vcores; {node}: no node could hold such a one\n", self.explain())
        time.sleep(max(0.0, self.began + CONFIGURED_S - time.monotonic()))
        with self.assertRaisesRegex(AssertionError, f"400 .*maximum allowed allocation=<memory:{SMALLER_MIB}, vCores:4>"):
            self.yarn.submit_by_rest("sleep 1000", memory_mib=LARGEST_MIB)
        others.end()
        until("the node is empty", lambda: self.nms[0].seen()["usedMemoryMB"] == 0)
        time.sleep(WAITS_S)
        self.assertEqual(("ACCEPTED", 0), (large.state, self.nms[0].seen()["usedMemoryMB"]), "the node is empty, and it waits")

        self.annotate("yarn-0", origin(4000, SITE.memory_mib))
        self.wait_figures(0, 0, operator)
        large.wait_for_containers(1)
        self.assertIn("a node could hold the largest container again", operator.log)
        self.assertTrue(self.explain().splitlines()[-1].endswith(f"has {SITE.memory_mib} MiB and 4 vcores"), self.explain())


class OfQueues(WithLargest):
    """With limits in capacity-scheduler.xml: one of the queue itself, and one inherited from its parent, as one value. A third queue is for the nodes of one label, where only
    its own limit and the unlabeled default apply."""

    ROOT, LABEL = "yarn.scheduler.capacity.root", "volatile"
    QUEUES = {
        f"{ROOT}.queues": "default,etl,labelled", f"{ROOT}.default.capacity": "50", f"{ROOT}.default.maximum-allocation-mb": str(SMALLER_MIB),
        f"{ROOT}.etl.capacity": "25", f"{ROOT}.etl.maximum-allocation": "memory-mb=1g,vcores=2", f"{ROOT}.etl.queues": "night", f"{ROOT}.etl.night.capacity": "100",
        f"{ROOT}.labelled.capacity": "25", f"{ROOT}.labelled.maximum-allocation-mb": str(SMALLER_MIB), f"{ROOT}.labelled.default-node-label-expression": LABEL,
        f"{ROOT}.labelled.accessible-node-labels": LABEL, f"{ROOT}.accessible-node-labels.{LABEL}.capacity": "100", f"{ROOT}.labelled.accessible-node-labels.{LABEL}.capacity": "100",
        f"{ROOT}.default.accessible-node-labels": " ", f"{ROOT}.etl.accessible-node-labels": " ",
    }
    NODES = [SITE, SITE]
    LABELS = {"yarn.node-labels.enabled": "true"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        labels = {"nodeLabelInfo": [{"name": cls.LABEL, "exclusivity": True}]}
        for door, words in (("add-node-labels", labels), (f"nodes/{cls.nms[1].id}/replace-labels?labels={cls.LABEL}", {})):
            answer = cls.yarn.rm.ask(f"/ws/v1/cluster/{door}", "POST", words)
            if answer.status != 200:
                raise AssertionError(f"{door}: {answer.status} {answer.text[:400]}")

    def test_the_largest_limit_of_all_queues_is_the_largest_container(self):
        for queue, most, vcores in (("default", SMALLER_MIB, 4), ("night", 1024, 2)):
            with self.assertRaisesRegex(AssertionError, f"400 .*maximum allowed allocation=<memory:{most}, vCores:{vcores}>"):
                self.yarn.submit_by_rest("sleep 1000", memory_mib=most + 128, queue=queue)
        self.put_node("yarn-0", {NODE_ID: self.nms[0].id, **origin(4000, SMALLER_MIB)})
        operator = self.begin()
        self.wait_total(0, SMALLER_MIB, 4, operator)
        self.wait_figures(0, 0, operator)
        self.assertIn(f"a container may be asked for with up to {SMALLER_MIB} MiB and 4 vcores", self.explain())
        self.annotate("yarn-0", origin(4000, SMALLER_MIB - 128))
        self.wait_total(0, SMALLER_MIB - 128, 4, operator)
        self.wait_figures(1, 0, operator)

    def test_waits_if_no_node_of_its_partition_is_large_enough(self):
        for number, memory_mib in ((0, SITE.memory_mib), (1, SMALLER_MIB - 128)):
            self.put_node(f"yarn-{number}", {NODE_ID: self.nms[number].id, **origin(4000, memory_mib)})
        operator = self.begin()
        self.wait_total(1, SMALLER_MIB - 128, 4, operator)
        self.wait_figures(1, 0, operator)
        job = self.yarn.submit_by_rest("sleep 1000", memory_mib=SMALLER_MIB, queue="labelled", label=self.LABEL)
        self.addCleanup(job.end)
        job.wait_for("ACCEPTED")
        self.wait_figures(1, 1, operator)
        self.assertIn(f"partition={self.LABEL}", operator.log)
        self.assertIn(f"the largest node of its partition, {self.LABEL}, {self.nms[1].id}, has {SMALLER_MIB - 128} MiB and 4 vcores: no node could hold such a one", self.explain("yarn-1"))
        self.assertNotIn("could hold", self.explain())
        self.assertEqual(0, self.yarn.rm.get("/ws/v1/cluster/metrics")["clusterMetrics"]["containersPending"], "the ResourceManager's own sum covers only nodes without a label")
        wait_for(lambda: "waiting" in json.loads(self.annotation("yarn-1", BOOK) or "{}"), "the ledger shows the waiting container", operator)
        end = time.monotonic() + WAITS_S
        while time.monotonic() < end:
            self.assertNotIn("waiting", json.loads(self.annotation("yarn-0", BOOK)))
            time.sleep(0.5)

        self.annotate("yarn-1", origin(4000, SITE.memory_mib))
        self.wait_figures(0, 0, operator)
        job.wait_for_containers(1)


if __name__ == "__main__":
    unittest.main()
