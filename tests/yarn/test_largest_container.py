"""An application that asks for more than any node has, after the totals got smaller: it waits, YARN does not tell the user why, and the operator reports it."""

import time
import unittest

from cluster.tidemark_process import Component, wait_for
from support.yarn import Yarn, until
from yarn.operating import NODE_ID, SITE, Operating, origin

LARGEST_MIB, SMALLER_MIB = 3072, 2048
WAITS_S = 4  # many heartbeats, and polls of the operator
CONFIGURED_S = 11  # after its start a ResourceManager uses the configured maximum (yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms: ten)
IN_VAIN = "tidemark_yarn_operator_clusters_waiting_in_vain"


class LargestContainer(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        largest = {"yarn.scheduler.maximum-allocation-mb": str(LARGEST_MIB), "yarn.scheduler.maximum-allocation-vcores": "4"}
        cls.yarn = cls.enterClassContext(Yarn([SITE], site=largest))
        cls.nms = cls.yarn.nodes
        cls.began = time.monotonic()

    def wait_in_vain(self, clusters: int, operator: Component) -> None:
        wait_for(lambda: operator.metrics()[IN_VAIN] == clusters, f"{IN_VAIN} {clusters}", operator)

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
            self.assertEqual(0, operator.metrics()[IN_VAIN], "it waits for the end of the others")
            time.sleep(0.5)

        self.annotate("yarn-0", origin(4000, SMALLER_MIB))
        self.wait_total(0, SMALLER_MIB, 4, operator)
        self.wait_in_vain(1, operator)
        for words in ("a container waits that fits on no node", f"{SMALLER_MIB} MiB, 4 vcores"):
            self.assertIn(words, operator.log)
        time.sleep(max(0.0, self.began + CONFIGURED_S - time.monotonic()))
        with self.assertRaisesRegex(AssertionError, f"400 .*maximum allowed allocation=<memory:{SMALLER_MIB}, vCores:4>"):
            self.yarn.submit_by_rest("sleep 1000", memory_mib=LARGEST_MIB)
        others.end()
        until("the node is empty", lambda: self.nms[0].seen()["usedMemoryMB"] == 0)
        time.sleep(WAITS_S)
        self.assertEqual(("ACCEPTED", 0), (large.state, self.nms[0].seen()["usedMemoryMB"]), "the node is empty, and it waits")

        self.annotate("yarn-0", origin(4000, SITE.memory_mib))
        self.wait_in_vain(0, operator)
        large.wait_for_containers(1)


if __name__ == "__main__":
    unittest.main()
