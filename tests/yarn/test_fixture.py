"""The fixture itself: processes that are killed, frozen and restarted, containers that survive that, and no residue."""

import unittest
from pathlib import Path

from support.yarn import Totals, Yarn, leftovers, until

SMOKE = True

TOTALS = [Totals(1024, 2), Totals(1536, 3)]


def asleep(folder: Path) -> list[int]:
    """The commands of a run's containers, after they have started."""
    return [pid for pid, line in leftovers.processes_of(folder).items() if line.strip() == "sleep 1000"]


class TwoNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn(TOTALS, site={"yarn.nm.liveness-monitor.expiry-interval-ms": "5000"}))

    def test_two_nodes_of_one_machine_differ_by_port(self):
        self.assertEqual([(each.memory_mib, each.vcores) for each in TOTALS], [node.total() for node in self.yarn.nodes])
        self.assertEqual(2, len({node.id for node in self.yarn.nodes}))

    def test_one_that_is_frozen_is_lost_after_a_while_and_comes_back(self):
        node = self.yarn.nodes[0]
        before = node.registrations()
        node.freeze()
        until("it is lost", lambda: node.seen().get("state") == "LOST")
        self.assertEqual("RUNNING", self.yarn.nodes[1].seen()["state"])
        node.resume()
        node.wait_registered(before)

    def test_a_resource_manager_that_is_frozen_does_not_answer_and_resumes(self):
        self.yarn.rm.freeze()
        self.addCleanup(self.yarn.rm.resume)
        with self.assertRaises(OSError):
            self.yarn.rm.ask("/ws/v1/cluster/info", limit_s=1)
        self.yarn.rm.resume()
        self.yarn.wait_registered()

    def test_a_node_that_is_killed_leaves_its_containers_running(self):
        job = self.yarn.submit("sleep 1000")
        until("a master and a container run", lambda: len([node for node in self.yarn.nodes for each in node.containers() if each["state"] == "RUNNING"]) == 2)
        sleeping = until("it sleeps", lambda: asleep(self.yarn.layout.folder))
        for node in self.yarn.nodes:
            node.kill()
        self.assertIn(sleeping[0], self.yarn.processes())
        for node in self.yarn.nodes:
            node.start()
        self.assertIn(sleeping[0], self.yarn.processes())  # not recovered: no recovery is configured
        job.end()


class Ending(unittest.TestCase):
    def test_a_stopped_run_leaves_nothing(self):
        with Yarn() as made:
            made.submit("sleep 1000")
            until("a master and a container run", lambda: sum(each["state"] == "RUNNING" for each in made.nodes[0].containers()) == 2)
            self.assertLess(4, len(made.processes()))
        self.assertEqual({}, made.processes())
        self.assertFalse(made.layout.folder.exists())


if __name__ == "__main__":
    unittest.main()
