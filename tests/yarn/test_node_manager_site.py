"""NodeManagers with the file that `tidemark generate yarn-site` makes, at a real ResourceManager: their initial total, and that masters avoid nodes
whose work may be evicted."""

import tempfile
import unittest

from support.yarn import Yarn, until
from support.yarn.settings import NodePorts
from support.yarn.yarn import NodeManager
from yarn.generated import SITE, generate

SMOKE = True

MASTER_MIB, TASK_MIB = 256, 128
LEAST = (128, 1)  # the fixture's yarn.scheduler.minimum-allocation-*
QUEUE = "yarn.scheduler.capacity.root"
# docs/guide/yarn.md, "Masters on other nodes".
LABELS = {
    "yarn.node-labels.enabled": "true", "yarn.node-labels.configuration-type": "distributed",
    "yarn.resourcemanager.node-labels.am.default-node-label-expression": "stable",
}
QUEUES = {
    **{f"{QUEUE}.accessible-node-labels.{label}.capacity": "100" for label in ("stable", "volatile")},
    **{f"{QUEUE}.default.accessible-node-labels.{label}.capacity": "100" for label in ("stable", "volatile")},
    f"{QUEUE}.default.accessible-node-labels": "stable,volatile", f"{QUEUE}.default.default-node-label-expression": "volatile",
    f"{QUEUE}.default.accessible-node-labels.stable.maximum-am-resource-percent": "1",
}


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        labels = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-labels-"))
        site = {**SITE, **LABELS, "yarn.node-labels.fs-store.root-dir": f"file://{labels}"}
        cls.yarn = cls.enterClassContext(Yarn([], site=site, capacity=QUEUES))
        words = {"nodeLabelInfo": [{"name": name, "exclusivity": True} for name in ("stable", "volatile")]}
        if cls.yarn.rm.ask("/ws/v1/cluster/add-node-labels", "POST", words).status != 200:
            raise AssertionError("the ResourceManager refuses the labels")

    def node(self, name: str, *flags: str, replace: tuple[str, str] = ("", "")) -> NodeManager:
        ports = NodePorts.free()
        return self.yarn.node_from(name, ports, generate(self.yarn, name, ports, "--executor=default", *flags).replace(*replace))

    def test_it_registers_with_the_minimum_and_masters_stay_on_stable_nodes(self):
        stable, volatile = self.node("stable", "--partition=stable"), self.node("volatile", "--partition=volatile")
        for node, label in ((stable, "stable"), (volatile, "volatile")):
            node.launch()
            node.wait_registered()
            self.assertEqual((LEAST, LEAST, [label]), (node.total(), node.own_total(), node.seen()["nodeLabels"]))
            self.yarn.rm.update_total(node.id, 1024, 4)  # as an operator does
            until("its total", lambda node=node: node.total() == (1024, 4))
        job = self.yarn.submit("sleep 1000", containers=2, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        job.wait_for_containers(3)

        def running(node: NodeManager) -> set[str]:
            return {each["id"][-6:] for each in node.containers() if each["state"] == "RUNNING"}

        until("two containers run", lambda: len(running(volatile)) == 2)
        self.assertEqual(({"000001"}, {"000002", "000003"}), (running(stable), running(volatile)))
        job.end()

    def test_less_than_the_smallest_container_is_rejected(self):
        """The reason why the file has no 0, although a total of 0 is accepted later."""
        node = self.node("small", replace=(f"<value>{LEAST[0]}</value>", "<value>0</value>"))
        node.launch()
        until("it has ended", lambda: not node.alive)
        self.assertIn("doesn't satisfy minimum allocations", node.said())


if __name__ == "__main__":
    unittest.main()
