"""The part of the totals that all masters together may use by default, one tenth, while totals change."""

import time
import unittest

from support.yarn import Totals, Yarn, until

SITE = Totals(memory_mib=2048, vcores=4)
MASTER_MIB = 256  # more than a tenth of SITE, which is rounded up to one master; two exceed it
ROOM_FOR_TWO = (6144, 16)  # a tenth of both, rounded up
WAITS_S = 5  # many heartbeats


class Masters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([SITE], capacity={"yarn.scheduler.capacity.maximum-am-resource-percent": "0.1"}))
        cls.nm = cls.yarn.nodes[0]

    def setUp(self):
        self.addCleanup(self.set_total, SITE.memory_mib, SITE.vcores)

    def set_total(self, memory_mib: int, vcores: int) -> None:
        self.assertEqual(200, self.yarn.rm.update_total(self.nm.id, memory_mib, vcores, over_commit_ms=2**31 - 1).status)
        until(f"the total is {memory_mib} MiB", lambda: self.nm.total() == (memory_mib, vcores))

    def submit(self, **more):
        job = self.yarn.submit("sleep 1000", master_memory_mib=MASTER_MIB, **more)
        self.addCleanup(job.end)
        return job

    def test_one_master_always_runs_and_the_next_waits_for_its_part_of_the_total(self):
        first = self.submit()
        first.wait_for_containers(2)
        second = self.submit()
        second.wait_for("ACCEPTED")
        end = time.monotonic() + WAITS_S
        while time.monotonic() < end:
            self.assertEqual("ACCEPTED", second.state)
            time.sleep(0.2)
        self.assertGreater(self.nm.seen()["availMemoryMB"], 2 * MASTER_MIB, "there is room")
        self.set_total(*ROOM_FOR_TWO)
        second.wait_for_containers(2)
        # A cut ends no master. After an end, one master may always run.
        self.set_total(MASTER_MIB, 1)
        third = self.submit()
        third.wait_for("ACCEPTED")
        time.sleep(WAITS_S)
        self.assertEqual(["RUNNING", "RUNNING", "ACCEPTED"], [job.state for job in (first, second, third)])
        first.end()
        second.end()
        third.wait_for("RUNNING")


if __name__ == "__main__":
    unittest.main()
