"""A NodeManager that gets no new containers from its ResourceManager while some run there, beside `tidemark yarn-operator`."""

import tempfile
import time
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.yarn import Yarn, until
from yarn.looks import Looks
from yarn.operating import NODE_ID, SITE, Operating, origin

GRACE_S = "600"  # longer than any test
HELD_S = 4  # of the five seconds of --lost-hold
LOOKED_AT_S = 8  # an operator sets a total again after three seconds


class NodeStates(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.excluded = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "exclude"
        cls.excluded.write_text("")
        cls.ill = cls.excluded.with_name("ill")
        script = cls.excluded.with_name("health")
        script.write_text(f"#!/bin/sh\n[ ! -e {cls.ill} ] || echo ERROR a test says so\n")
        script.chmod(0o755)
        cls.yarn = cls.enterClassContext(Yarn([SITE], site={
            "yarn.resourcemanager.nodes.exclude-path": str(cls.excluded), "yarn.nodemanager.health-checker.script.path": str(script),
            "yarn.nodemanager.health-checker.interval-ms": "500",
        }))
        cls.nms = cls.yarn.nodes

    def exclude(self, host: str) -> None:
        self.excluded.write_text(host)
        self.yarn.admin("-refreshNodes", "-g", GRACE_S, "-server")

    def begin_with_a_job(self, looks: Looks | None = None):
        nm = self.nms[0]
        self.put_node("yarn-0", {NODE_ID: nm.id, **origin(3500, 3072)})
        operator = self.begin(configuration=looks and looks.configuration)
        self.wait_total(0, 3072, 3, operator)
        job = self.yarn.submit("sleep 1000", memory_mib=256, master_memory_mib=256)
        self.addCleanup(job.end)
        job.wait_for_containers(2)
        used = nm.seen()["usedMemoryMB"], nm.seen()["usedVirtualCores"]
        self.wait_held("yarn-0", used[1], used[0], operator)
        return operator, job, used

    def test_usage_of_an_unhealthy_node_counts_for_a_while(self):
        """The ResourceManager reports at once that it uses nothing."""
        nm = self.nms[0]
        operator, _, _ = self.begin_with_a_job()
        held = self.held("yarn-0")
        self.addCleanup(self.ill.unlink, missing_ok=True)
        self.ill.touch()
        well_s = time.monotonic()  # the hold begins later

        def unhealthy() -> bool:
            nonlocal well_s
            asked_s = time.monotonic()
            if nm.seen()["state"] == "UNHEALTHY":
                return True
            well_s = asked_s
            return False

        until("it is unhealthy", unhealthy)
        self.assertEqual(0, nm.seen()["usedMemoryMB"])
        while True:
            found = self.held("yarn-0")
            if time.monotonic() > well_s + HELD_S:
                break
            self.assertEqual(held, found)
            time.sleep(0.1)
        self.wait_held("yarn-0", 0, 0, operator)
        self.ill.unlink()
        until("it is well again", lambda: nm.seen()["state"] == "RUNNING")
        self.wait_total(0, 3072, 3, operator)

    def test_the_total_of_a_decommissioning_node_is_set_by_its_resource_manager(self):
        nm = self.nms[0]
        looks = self.enterContext(Looks(self.yarn))
        operator, job, used = self.begin_with_a_job(looks)
        looks.wait_whole()  # a report has shown the total
        shown = operator.metrics()["tidemark_yarn_operator_updates_total"]

        self.addCleanup(self.exclude, "")
        self.exclude(nm.id.split(":")[0])
        until("it is being decommissioned", lambda: nm.seen()["state"] == "DECOMMISSIONING")
        until("its total is what its containers hold", lambda: nm.total() == used)
        end = time.monotonic() + LOOKED_AT_S
        while time.monotonic() < end:
            self.assertEqual(used, nm.total())
            time.sleep(0.1)
        self.assertEqual(shown, operator.metrics()["tidemark_yarn_operator_updates_total"])
        self.wait_held("yarn-0", used[1], used[0], operator)
        self.assertEqual("RUNNING", job.state)

        self.exclude("")
        until("it is in service again", lambda: nm.seen()["state"] == "RUNNING")
        self.wait_total(0, 3072, 3, operator)
        self.assertNotIn("TM-YARN-011", operator.log, "no other writer of totals")
        wait_for(lambda: operator.metrics()["tidemark_yarn_operator_clusters_closed"] == 0, "a node with capacity for a container", operator)


if __name__ == "__main__":
    unittest.main()
