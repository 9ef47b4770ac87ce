"""Containers that never start their work on a real NodeManager: `tidemark yarn-copilot` counts each by the class in its application's tag."""

import os
import re
import tempfile
import unittest

from cluster.tidemark_process import wait_for
from support.yarn import Totals, Yarn, groups, until
from yarn.over_socket import Copilot

# One second, the default of a NodeManager: it lists an ended container for this long.
HEARTBEAT = {"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "1000"}


class Troubles(unittest.TestCase):
    PLACE: str | None = None  # parent of containers' groups

    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([Totals(2048, 8)], site=HEARTBEAT, groups=cls.PLACE))
        cls.node = cls.yarn.nodes[0]
        more = [f"--yarn-container-cgroup-path={cls.yarn.groups.path}"] if cls.PLACE else []
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-"))
        cls.copilot = Copilot(folder, cls.node.ports.web, f"--hadoop-conf-dir={cls.yarn.configuration}", "--list-age=500ms", *more)
        cls.addClassCleanup(cls.copilot.stop)

    def counted(self) -> dict[str, int]:
        begin = "tidemark_yarn_copilot_troubled_containers_total"
        return {line.split()[0].removeprefix(begin): int(line.split()[1]) for line in self.copilot.get("/metrics").splitlines() if line.startswith(begin)}

    def wait_counted(self, work_class: str, reason: str) -> None:
        wanted = f'{{class="{work_class}",reason="{reason}"}}'
        wait_for(lambda: self.counted().get(wanted) == 1, f"{wanted} counted", self.copilot)

    def test_a_missing_file(self):
        job = self.yarn.submit_by_rest("sleep 1000", tags=["tidemark-class:etl"], files={"missing": self.yarn.layout.folder / "nowhere"})
        report = job.wait_for("FAILED")
        self.assertIn("exitCode: -1000", report["diagnostics"])
        self.wait_counted("etl", "localization_failed")
        line = r"container did not start .*class=etl node_manager_says=.*nowhere does not exist"
        wait_for(lambda: re.search(line, self.copilot.log), "a line of the log", self.copilot)

    def test_a_stalled_file(self):
        pipe = self.yarn.layout.folder / "pipe"
        os.mkfifo(pipe)
        self.addCleanup(lambda: os.close(os.open(pipe, os.O_RDWR)))  # unblocks the reader
        job = self.yarn.submit_by_rest("sleep 1000", tags=["tidemark-class:transcode"], files={"hangs": pipe})
        until("it waits for its files", lambda: [each["state"] for each in self.node.containers()] == ["LOCALIZING"])
        wait_for(lambda: [each["state"] for each in self.copilot.seen().values()] == ["LOCALIZING"], "a copilot that knows it", self.copilot)
        job.end()
        self.wait_counted("transcode", "never_started")

    def test_running_containers_are_not_counted(self):
        before = self.counted()
        job = self.yarn.submit_by_rest("exit 7", tags=["tidemark-class:web"])
        job.wait_for("FAILED")
        job = self.yarn.submit_by_rest("sleep 1000", tags=["tidemark-class:web"])
        wait_for(self.copilot.running, "its process", self.copilot)
        job.end()
        until("nothing of it is listed", lambda: not self.node.containers())
        self.assertEqual(before, {name: count for name, count in self.counted().items() if "web" not in name or self.fail(f"{name}: {count}")})


@unittest.skipIf(groups.why_not(), groups.why_not())
class InGroups(Troubles):
    """With the LinuxContainerExecutor: a container that never started has no group."""

    PLACE = "kubepods/besteffort/hadoop-yarn"


if __name__ == "__main__":
    unittest.main()
