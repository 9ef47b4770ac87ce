"""Off until the end: while offline work runs it has its minimum, and afterwards every file is as before the agent's first write."""

import unittest

from cluster.tidemark_process import wait_for
from node.protecting import LIMIT_S, OFFLINE, BATCH, ROOM, Protecting
from node.test_agent import API, tearDownModule  # noqa: F401
from support.node import pods


class OffLeavesNothing(Protecting):
    WORKS = [
        pods.Work("online", pods.BURSTABLE, 20, 6),
        pods.Work("offline-1", pods.BEST_EFFORT, 100, 6, labels=OFFLINE, batch=BATCH),
        pods.Work("offline-2", pods.BEST_EFFORT, 100, 6, containers=2, labels=OFFLINE, batch=BATCH),
    ]

    def test_after_offline_work_ended_every_file_has_its_original_value(self):
        self.order("observe")
        wait_for(lambda: sum(self.files().values()) == 0, "everything put back", self.agent, LIMIT_S)
        before = self.everything()
        self.order(None)
        self.want(**ROOM)
        wait_for(lambda: self.files()["cpuSuppress"] and self.files()["batchLimits"], "written files", self.agent, LIMIT_S)
        self.assertNotEqual({}, self.differences(before))

        self.order("off")
        wait_for(self.held, "the least", self.agent, LIMIT_S)
        wait_for(lambda: self.condition().get("reason") == "Off", "condition Off", self.agent, LIMIT_S)
        self.assertNotEqual({}, self.differences(before), "running offline work stays limited")
        self.node.end(["offline-1", "offline-2"])
        wait_for(lambda: not self.differences(before), "all original values", self.agent, LIMIT_S)
        wait_for(lambda: sum(self.files().values()) == 0, "an empty restore journal", self.agent, LIMIT_S)
        self.assertIn("nothing of ours is left in the kernel's files", self.tidemark("off", "--local", "--reason", "a test").stdout)
        self.addCleanup(self.tidemark, "on", "--local", "--reason", "the test is over")
        # Only the state file of the running agent is left. An uninstall removes it (docs/guide/upgrade-and-remove.md).
        node = API.get(f"/api/v1/nodes/{self.node.name}")
        self.assertEqual([], [key for key in node.get("metadata.annotations", {}) or {} if "tidemark.io" in key])
        self.assertEqual(["off"], [value for key, value in node.get("metadata.labels").items() if "tidemark.io" in key], "by the test")

    def files(self) -> dict[str, float]:
        """Number of files in force, by strategy."""
        return {each["name"]: each["inForce"] for each in self.says()["strategies"]}


if __name__ == "__main__":
    unittest.main()
