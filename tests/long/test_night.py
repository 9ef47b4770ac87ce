"""A night of one real node: an online pod, a batch pod, a MapReduce and a Spark job share it; a surge suppresses offline work, a memory shortage evicts the right
task, and in the morning all values are restored. A checker of the ledger watches from outside all the time."""

import json
import os
import sys
import time
import unittest
from pathlib import Path

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from cluster.tidemark_process import wait_for
from node.evicting import offline
from support.node import pods
from support.yarn import ENDED, Totals, frameworks, until
from yarn.looking_on import LookingOn
from yarn.preempting import WithOperator
from yarn.sharing import LIMIT_S, tearDownModule, test_eviction  # noqa: F401

MAPS, TASKS = 40, 300
KILLED = ("TM-EVICT-015", "TM-EVICT-018")
EVICTIONS = 3
JOBS_LIMIT_S = 600
SURGE_MILLI, SURGE_US = 800, 40000  # its use, and the quota that offline work needs before a surge is visible
LAG_S = 3  # of the checker: a total later than this is a mistake


class Night(WithOperator):
    SITE = Totals(memory_mib=8192, vcores=12)
    VCORE_MILLI = 150  # small, so that all vcores fit on a machine with two CPUs
    YARN_SITE = frameworks.SHUFFLE
    WORKS = [pods.Work("web", pods.BURSTABLE, 20, 100), offline("transcode", "transcode", test_eviction.POD_MIB)]

    @classmethod
    def copilot_flags(cls) -> list[str]:
        return [f"--hadoop-conf-dir={cls.yarn.configuration}", "--queue-class=root.default=spark"]

    @classmethod
    def more_flags(cls) -> list[str]:
        return [*super().more_flags(), "--yarn-hold-back=0s"]

    def say(self, threshold: dict, mode: str = "enforce", modes: dict | None = None, **evict: int) -> None:
        suppress = {"cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 80, "cpuSuppressMinPercent": 5}
        super().say({**suppress, **threshold}, mode, {"default": "enforce"}, **evict)

    def setUp(self):
        super().setUp()
        self.looking = LookingOn(self.yarn.configuration, self.VCORE_MILLI, LAG_S)
        self.addCleanup(self.looking.end)

    def quota(self) -> int:
        """The quota over offline pods and YARN's containers."""
        return int((self.yarn.groups.folder("cpu").parent / "cpu.cfs_quota_us").read_text())

    def web(self) -> list:
        return [(pod["metadata"]["uid"], [each["restartCount"] for each in pod["status"]["containerStatuses"]]) for pod in self.node.pods() if pod["metadata"]["name"] == "web"]

    def a_surge(self) -> bool:
        """Whether the quota was large enough to be cut; the cut itself is asserted."""
        try:
            wait_for(lambda: self.quota() > SURGE_US, "room for offline work", self.agent, LIMIT_S)
        except AssertionError:
            return False
        calm, begin = self.quota(), time.monotonic()
        self.node.run([pods.Work("surge", pods.BURSTABLE, SURGE_MILLI, 6)])
        low = wait_for(lambda: self.quota() < calm - 20000 and self.quota(), f"less than {calm}", self.agent, LIMIT_S)
        print(f"surge: quota {calm} -> {low} within {time.monotonic() - begin:.1f} s of asking for the pod", file=sys.stderr)
        self.node.end(["surge"])
        return True

    def test_all_workloads_survive_the_night(self):
        before = self.web()
        jobs = [frameworks.map_reduce(self.yarn, MAPS, 4, map_memory_mib=384), frameworks.spark(self.yarn, TASKS, 1, executors=4)]
        wait_for(lambda: len(self.copilot.running()) >= 6, "both at work", self.copilot, LIMIT_S)
        surged = self.a_surge()
        # Transcode is less timely than all of YARN's work here, and goes before any of it.
        self.draw_until(lambda: "transcode" not in self.names(), "transcode on its way")
        self.assertEqual(0, self.evictions("TM-EVICT-022"), "no YARN container yet")
        self.all_have_ended()
        self.assertGreaterEqual(self.evict_some(EVICTIONS, lambda: all(job.state in ENDED for job in jobs), JOBS_LIMIT_S), EVICTIONS)
        for job in jobs:
            self.assertEqual("SUCCEEDED", job.wait_for("FINISHED", JOBS_LIMIT_S)["finalStatus"], job.tail())
            self.assertEqual(1, len(job.attempts()))
        # Two jobs are in Spark's queue, so at least this many evictions are repeated ones.
        self.assertGreaterEqual(self.agent.metrics().get('tidemark_agent_evicted_again_total{class="spark"}', 0), EVICTIONS - len(jobs))
        self.assertEqual(MAPS, jobs[0].sum())
        self.assertEqual(set(), jobs[1].failed())
        losses = [json.loads(each) for each in (Path(self.state) / "learned/losses.jsonl").read_text().splitlines()]
        ends = {each["name"]: each["ended"] for each in losses}
        self.assertIn("transcode", ends)
        self.assertEqual([], [name for name, end in ends.items() if name.startswith("container_") and end in KILLED], f"no YARN container was killed: {ends}")
        self.assertEqual(({"web"}, before), (self.names(), self.web()), "the online pod was not affected")
        # The kubelet had no reason to act.
        self.assertEqual([], [pod["metadata"]["name"] for pod in self.node.pods() if pod["status"].get("reason") == "Evicted"])
        # The programs of YARN may have used all CPU while both ran; now none runs.
        self.assertTrue(surged or self.a_surge(), f"a night without a surge: offline work never had more than {SURGE_US} us of a period, also when the jobs had ended")
        self.say({"enable": False})
        wait_for(lambda: self.quota() == -1, "no quota", self.agent, LIMIT_S)
        until("the whole total is handed out again", lambda: self.nm.total() == (self.SITE.memory_mib, self.SITE.vcores), 90)
        seen = self.looking.assert_clean(self)
        self.doors.assert_operators_alone(self, self.operator)
        print(f"the checker saw {seen['changes']} changes, and no mistake; {self.evictions('TM-EVICT-022'):.0f} containers pre-empted", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
