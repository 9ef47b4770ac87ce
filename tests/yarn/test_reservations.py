"""Reservations of YARN's scheduler for a container that does not fit yet are not visible to the ledger."""

import unittest

from support.yarn import Totals, Yarn, until

SMOKE = True

SITE = Totals(memory_mib=2048, vcores=4)
MASTER_MIB, TASK_MIB = 256, 1152  # one task fits on each node, and a third one into the sum of both rests


class Reservations(unittest.TestCase):
    def test_reservations_are_in_no_node_report(self):
        with Yarn([SITE, SITE]) as yarn:
            job = yarn.submit("sleep 1000", containers=3, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
            until("a container is reserved", lambda: job.report()["reservedMB"] == TASK_MIB)
            seen = [nm.seen() for nm in yarn.nodes]
            self.assertEqual(MASTER_MIB + 2 * TASK_MIB, sum(each["usedMemoryMB"] for each in seen))
            self.assertEqual([], [key for each in seen for key in each if "reserv" in key.lower()])


if __name__ == "__main__":
    unittest.main()
