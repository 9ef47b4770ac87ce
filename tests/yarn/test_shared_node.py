"""One real node that a kubelet and a NodeManager share: the agent reports, limits and evicts YARN's containers like pods, through the copilot."""

import os
import sys
import time
import unittest

from cluster.colocation import MERGE, NODESLOS, must
from cluster.tidemark_process import wait_for
from yarn.sharing import API, GRACE_S, KILLED, LIMIT_S, MASTER_MIB, ROOM, TASK_MIB, TERMINATED, OnASharedNode, holds, offline, tearDownModule  # noqa: F401

ALONE = "evicts by the memory in use on the machine, which must be steady"

DEAF = f"trap '' TERM; {holds(900)}"  # its children ignore it too
BUSY = "while :; do :; done"
A_CORE = {"batch-cpu": 1000, "batch-memory": 64 << 20}
PAUSE_S = 20  # between two CPU evictions
CLASSES = ("spark", "transcode")
# All three may use everything.
CAPACITY = "yarn.scheduler.capacity.root"
QUEUES = {
    f"{CAPACITY}.queues": ",".join(("default", *CLASSES)), f"{CAPACITY}.default.capacity": "60", **{f"{CAPACITY}.{name}.capacity": "20" for name in CLASSES},
    **{f"{CAPACITY}.{name}.user-limit-factor": "5" for name in ("default", *CLASSES)},
}
# On a machine with any other load, offline work has exactly this share of it.
FIFTH = {"cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 1, "cpuSuppressMinPercent": 20}


class SharedNode(OnASharedNode):
    QUEUES = QUEUES
    LATER = [offline(f"{name}-pod", name, 16, A_CORE) for name in CLASSES]

    @classmethod
    def copilot_flags(cls) -> list[str]:
        return [f"--hadoop-conf-dir={cls.yarn.configuration}", *(f"--queue-class={name}={name}" for name in CLASSES)]

    def test_yarns_containers_are_reported_suppressed_and_limited_like_offline_pods(self):
        _, tasks = self.start_job(BUSY, 2)
        wait_for(lambda: self.known() == 3, "an agent that knows them", self.agent, LIMIT_S)
        found = self.report(lambda status: any(each["name"] == "yarn" for each in status.get("hostApplicationMetric", [])), "a report with YARN in it")
        yarn = next(each for each in found["hostApplicationMetric"] if each["name"] == "yarn")
        self.assertIn("cpu", yarn["usage"]["resources"])
        qos = {"spec": {"resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}}}}
        must(API.request("PATCH", f"{NODESLOS}/{self.node.name}", qos, content=MERGE))
        self.say({**ROOM, "cpuSuppressPolicy": "cfsQuota"}, modes={"default": "enforce"})
        for task in tasks:
            wait_for(lambda: (self.group("cpu", task) / "cpu.idle").read_text().strip() == "1", f"{task} set back", self.agent, LIMIT_S)
        quota = self.yarn.groups.folder("cpu").parent / "cpu.cfs_quota_us"
        wait_for(lambda: int(quota.read_text()) > 0, "a quota over pods and containers", self.agent, LIMIT_S)
        self.assertEqual(str(TASK_MIB << 20), (self.group("memory", tasks[0]) / "memory.limit_in_bytes").read_text().strip(), "its NodeManager's")
        self.say({"enable": False})
        wait_for(lambda: int(quota.read_text()) == -1, "no quota", self.agent, LIMIT_S)
        for task in tasks:
            wait_for(lambda: (self.group("cpu", task) / "cpu.idle").read_text().strip() == "0", f"the original value of {task}", self.agent, LIMIT_S)

    def test_above_the_line_the_largest_container_goes_and_its_master_stays(self):
        master, tasks = self.hold_memory(2)
        begin = self.draw_until_one_goes(tasks)
        print(f"memory above its line: a container is gone {time.monotonic() - begin:.1f} s after the line was first drawn, read by a test that looks every 50 ms", file=sys.stderr)
        self.all_have_ended()
        running = self.copilot.running()
        self.assertIn(master, running)
        gone = sorted(set(tasks) - set(running))
        self.assertEqual({"web"}, self.names())
        self.assertIn(f"a container was asked to end container={gone[0]} reason=TM-EVICT-001", self.copilot.log)
        self.assertNotIn("a container was killed", self.copilot.log)
        self.assertEqual([("stop", "TM-EVICT-001", "done")], self.asked(gone[0]))
        self.assertEqual("TM-EVICT-015", self.loss_of(gone[0])["ended"])
        self.assertEqual(TERMINATED, self.yarn.jobs[-1].wait_told(gone[0]).status)

    def test_a_container_that_ignores_sigterm_is_killed_at_its_deadline(self):
        master, tasks = self.hold_memory(1, DEAF)
        begin = self.draw_until_one_goes(tasks)
        self.assertGreater(time.monotonic() - begin, GRACE_S)
        self.all_have_ended()
        self.assertEqual([("stop", "TM-EVICT-001", "done")], self.asked(tasks[0]))
        self.assertEqual([], self.asked(master), "the memory of the other one is being released")
        loss = self.loss_of(tasks[0])
        self.assertEqual("TM-EVICT-018", loss["ended"])
        self.assertGreaterEqual(loss["ending_ms"], 1000 * GRACE_S)
        self.assertEqual(KILLED, self.yarn.jobs[-1].wait_told(tasks[0]).status)

    def test_when_satisfaction_is_low_transcode_goes_first_and_spark_runs_on(self):
        """One pod and one container of each class, each requesting a core; with two masters these are six cores, and a fifth of the machine is available."""
        containers = {name: self.start_in_queue(name) for name in CLASSES}
        self.node.run(self.LATER)
        self.addCleanup(lambda: self.node.end([work.name for work in self.LATER]))
        wait_for(lambda: all(self.used_by_yarn(name) > 0.1 for name in CLASSES), "an agent that knows the classes", self.agent, LIMIT_S)
        # Low for six and for five of them, but not for four: both of a class go, and that is enough.
        there = 10 * os.cpu_count() * FIFTH["cpuSuppressMinPercent"]
        line = {"cpuEvictBESatisfactionLowerPercent": 100 * there // 5000, "cpuEvictBESatisfactionUpperPercent": 100 * (there + 1500) // 6000, "cpuEvictTimeWindowSeconds": 5}
        self.addCleanup(self.say, {"enable": False, **dict.fromkeys((*FIFTH, *line))})
        self.say({**FIFTH, **line}, modes={"default": "enforce"})
        wait_for(lambda: len(self.evicted()) >= 2, "two evictions", self.agent, LIMIT_S)
        self.all_have_ended()
        begin, worked = time.monotonic(), self.worked(containers["spark"])
        while time.monotonic() - begin < PAUSE_S + 2:
            self.assertEqual({"transcode-pod", containers["transcode"]}, self.evicted(), "the rest is satisfied")
            time.sleep(0.5)
        self.assertEqual({"web", "spark-pod"}, self.names())
        self.assertGreater(self.worked(containers["spark"]), worked)
        print(f"satisfaction by class: {self.of_class('satisfaction_ratio')}", file=sys.stderr)

    def start_in_queue(self, name: str) -> str:
        """The container of a job of that class, by its queue."""
        job = self.yarn.submit(BUSY, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB, queue=name)
        self.addCleanup(job.end)
        its = lambda: [container for container, each in self.copilot.running().items() if each["application"] == job.id and not each["master"]]
        return wait_for(its, f"a container in the queue {name}", self.copilot)[0]

    def used_by_yarn(self, name: str) -> float:
        return self.agent.metrics().get(f'tidemark_offline_used_cpu_cores{{class="{name}",side="yarn"}}', 0)

    def of_class(self, what: str) -> dict[str, float]:
        found = self.agent.metrics()
        return {name: found[key] for name in CLASSES if (key := f'tidemark_agent_class_{what}{{class="{name}"}}') in found}

    def evicted(self) -> set[str]:
        return {each["object"]["name"] for each in self.audit() if each["reason"] == "TM-EVICT-003" and each["outcome"] == "done"}

    def worked(self, container: str) -> int:
        return int((self.group("cpuacct", container) / "cpuacct.usage").read_text())

    def asked(self, container: str) -> list[tuple[str, str, str]]:
        """The state of its copilot, the reason, and the result."""
        return [(each["verb"], each["reason"], each["outcome"]) for each in self.audit() if each["object"]["kind"] == "CopilotTask" and each["object"]["name"] == container]


if __name__ == "__main__":
    unittest.main()
