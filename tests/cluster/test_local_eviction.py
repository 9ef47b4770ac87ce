"""Online work needs the memory of the machine: the agent of `tidemark up` evicts batch jobs, which are requeued and later run to their end."""

import json
import unittest

from cluster.local_case import LocalCase, batch_job
from cluster.tidemark_process import wait_for

JOBS = 3  # more than an agent without a grant may evict in an hour on a cluster node
WAITS = {"Waiting", "Requeued"}
SETTINGS = ("configmap", "slo-controller-config", "-n", "koordinator-system")
# Writes down each signal and ends on it; ends normally once the file exists.
COMMAND = """
echo begun >>{words}
trap 'echo told to end >>{words}; exit 143' TERM
until [ -e {go} ]; do sleep 0.1; done
echo done >>{words}
"""


class LocalEviction(LocalCase):
    def words(self, name: str) -> list[str]:
        return (self.folder / name).read_text().splitlines() if (self.folder / name).exists() else []

    def states(self) -> set[str]:
        return {each["state"] for each in self.tasks().values()}

    def memory_line(self, percent: int | None) -> None:
        """An edit of the defaults; None reverts it."""
        lines = json.loads(self.defaults)
        if percent is not None:
            lines["clusterStrategy"] |= {"memoryEvictThresholdPercent": percent, "memoryEvictLowerPercent": percent - 1}
        edit = json.dumps({"data": {"resource-threshold-config": json.dumps(lines)}})
        done = self.kubectl("patch", *SETTINGS, "--type=merge", "-p", edit)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_batch_jobs_are_evicted_wait_and_run_again_to_their_end(self):
        wait_for(lambda: "kubernetes.io/batch-memory" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        self.defaults = self.get(*SETTINGS)["data"]["resource-threshold-config"]
        lines = self.get("nodeslo", "here")["spec"]["resourceUsedThresholdWithBE"]
        self.assertEqual((90, 30), (lines["memoryEvictThresholdPercent"], lines["cpuEvictBESatisfactionLowerPercent"]), "the default thresholds reach the agent")
        names = [f"job-{i}" for i in range(JOBS)]
        self.apply(*[batch_job(name, ["sh", "-c", COMMAND.format(words=self.folder / name, go=self.folder / "go")], "32Mi") for name in names])
        wait_for(lambda: all(self.words(name) == ["begun"] for name in names), "all jobs to run", self.component)

        self.memory_line(2)  # this machine always uses more
        wait_for(lambda: all(self.words(name) == ["begun", "told to end"] for name in names), "all jobs to get SIGTERM", self.component)
        wait_for(lambda: self.states() <= WAITS, "all jobs in the queue again", self.component)
        told = json.loads(self.local("top", "--once", "-o", "json").stdout)["evicted"]
        self.assertEqual(JOBS, len([each for each in told if each["name"].startswith("default/job-")]), told)

        self.memory_line(None)
        (self.folder / "go").touch()
        wait_for(lambda: self.states() == {"Succeeded"}, "all jobs to succeed", self.component)
        for name in names:
            self.assertEqual(["begun", "told to end", "begun", "done"], self.words(name))
            status = self.get("job", name)["status"]
            self.assertEqual((1, 0), (status.get("succeeded"), status.get("failed", 0)), status)


if __name__ == "__main__":
    unittest.main()
