"""Two replicas of `tidemark yarn-operator` on a real API server and a real ResourceManager: one sets totals, and the other takes over however the first one ends."""

import signal
import tempfile
import time
import unittest
from pathlib import Path

from cluster.colocation import must
from cluster.tidemark_process import Component, wait_for
from support.yarn import Yarn
from yarn.doors import Doors
from yarn.operating import ELECTION, LEASE, NODE_ID, POLL_S, SITE, Operating, origin

UPDATES = "tidemark_yarn_operator_updates_total"


class Replicas(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE]))
        cls.nms = cls.yarn.nodes

    def setUp(self):
        super().setUp()
        self.addCleanup(self.api.request, "DELETE", LEASE)
        self.put_node("yarn-0", {NODE_ID: self.nms[0].id, **origin(3500, 3072)})
        self.first = self.begin(*ELECTION)
        self.wait_total(0, 3072, 3, self.first)
        self.second = self.begin(*ELECTION)
        wait_for(self.second.ready, "a ready second one", self.second)
        self.tell(2000, 1024, self.first)
        self.assertEqual(0, self.second.metrics()[UPDATES])

    def tell(self, cpu_milli: int, memory_mib: int, by: Component) -> None:
        self.annotate("yarn-0", origin(cpu_milli, memory_mib))
        self.wait_total(0, memory_mib, cpu_milli // 1000, by)

    def holder(self) -> str:
        return must(self.api.request("GET", LEASE)).get("spec.holderIdentity")

    def test_a_stopped_leader_hands_over_at_once(self):
        self.assertTrue(self.holder())
        self.assertEqual(0, self.first.stop())
        stopped = time.monotonic()
        self.tell(3000, 2048, self.second)
        self.right_again("the operator that leads is stopped, another replica beside it", stopped)

    def test_a_killed_leader_is_replaced_after_its_lease(self):
        self.first.kill()
        killed = time.monotonic()
        self.tell(3000, 2048, self.second)
        self.right_again("the operator that leads is killed, another replica beside it", killed)
        self.assertEqual(1, self.second.metrics()[UPDATES], "a right total is not set again")

    def test_a_frozen_leader_is_replaced_and_restores_no_old_total(self):
        """Its knowledge of the node is older than the ResourceManager's total."""
        self.first.process.send_signal(signal.SIGSTOP)
        frozen = time.monotonic()
        self.tell(3000, 2048, self.second)
        self.right_again("the operator that leads is frozen, another replica beside it", frozen)
        leads = self.holder()
        doors = Doors(self.yarn.rm, Path(self.enterContext(tempfile.TemporaryDirectory())))
        self.first.process.send_signal(signal.SIGCONT)
        time.sleep(3 * POLL_S)
        self.tell(1000, 512, self.second)
        time.sleep(3 * POLL_S)
        self.assertEqual([(512, 1)], doors.changes())
        self.assertEqual((leads, True), (self.holder(), self.first.ready()))


if __name__ == "__main__":
    unittest.main()
