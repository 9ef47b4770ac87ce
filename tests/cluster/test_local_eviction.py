"""The online side needs the memory of the machine: the agent of `tidemark up` asks batch work to end, which is queued again and later runs to its end."""

import json
import unittest

from cluster.local_case import LocalCase, batch_job
from cluster.tidemark_process import wait_for

JOBS = 3  # more than an agent that is granted nothing may evict in an hour on a node of a cluster
WAITS = {"Waiting", "Requeued"}
SETTINGS = ("configmap", "slo-controller-config", "-n", "koordinator-system")
# Writes down what it is told, and ends for it; once it may, by itself.
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
        """An edit of the defaults; None takes it back."""
        lines = json.loads(self.defaults)
        if percent is not None:
            lines["clusterStrategy"] |= {"memoryEvictThresholdPercent": percent, "memoryEvictLowerPercent": percent - 1}
        edit = json.dumps({"data": {"resource-threshold-config": json.dumps(lines)}})
        done = self.kubectl("patch", *SETTINGS, "--type=merge", "-p", edit)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_batch_work_is_asked_to_end_waits_and_runs_again_to_its_end(self):
        wait_for(lambda: "kubernetes.io/batch-memory" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        self.defaults = self.get(*SETTINGS)["data"]["resource-threshold-config"]
        lines = self.get("nodeslo", "here")["spec"]["resourceUsedThresholdWithBE"]
        self.assertEqual((90, 30), (lines["memoryEvictThresholdPercent"], lines["cpuEvictBESatisfactionLowerPercent"]), "what the defaults draw reaches the agent")
        names = [f"job-{i}" for i in range(JOBS)]
        self.apply(*[batch_job(name, ["sh", "-c", COMMAND.format(words=self.folder / name, go=self.folder / "go")], "32Mi") for name in names])
        wait_for(lambda: all(self.words(name) == ["begun"] for name in names), "all of them run", self.component)

        self.memory_line(2)  # more than that is used by whatever runs here
        wait_for(lambda: all(self.words(name) == ["begun", "told to end"] for name in names), "all of them are asked to end", self.component)
        wait_for(lambda: self.states() <= WAITS, "all of them are in the queue again", self.component)
        told = json.loads(self.local("top", "--once", "-o", "json").stdout)["evicted"]
        self.assertEqual(JOBS, len([each for each in told if each["name"].startswith("default/job-")]), told)

        self.memory_line(None)
        (self.folder / "go").touch()
        wait_for(lambda: self.states() == {"Succeeded"}, "all of them have come to their end", self.component)
        for name in names:
            self.assertEqual(["begun", "told to end", "begun", "done"], self.words(name))
            status = self.get("job", name)["status"]
            self.assertEqual((1, 0), (status.get("succeeded"), status.get("failed", 0)), status)


if __name__ == "__main__":
    unittest.main()
