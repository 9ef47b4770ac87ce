"""One real node that a kubelet and a NodeManager share: the agent sees, sets back and evicts YARN's containers as it does pods, by the copilot beside them."""

import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cluster.colocation import MERGE, NODESLOS, must
from cluster.tidemark_process import wait_for
from support.node import pods
from support.yarn import Totals, Yarn, groups
from yarn.over_socket import Copilot

if "TIDEMARK_KUBELET" not in os.environ:
    raise unittest.SkipTest("no node can be made here")
if groups.why_not():
    raise unittest.SkipTest(groups.why_not())

from node import test_eviction
from node.evicting import LIMIT_S, Evicting
from node.protecting import ROOM
from node.test_agent import API, tearDownModule  # noqa: F401

PLACE = "kubepods/besteffort/hadoop-yarn"
SITE = Totals(memory_mib=4096, vcores=8)
MASTER_MIB, TASK_MIB, HELD_MIB = 256, 1024, 700
HOLDS = f"(head -c {HELD_MIB}M /dev/zero; sleep 1000) | tail -c {HELD_MIB}M"  # in memory, and no processor after that


class SharedNode(Evicting):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 100)]

    @classmethod
    def launch(cls):
        """The agent of a node where a NodeManager and a copilot were first."""
        if not hasattr(cls, "yarn"):
            cls.yarn = cls.enterClassContext(Yarn([SITE], groups=PLACE, below=cls.node.cgroup))
            folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-"))
            cls.copilot = Copilot(folder, cls.yarn.nodes[0].ports.web, f"--yarn-container-cgroup-path={cls.yarn.groups.path}")
            cls.addClassCleanup(cls.copilot.stop)
        return super().launch()

    @classmethod
    def more_flags(cls) -> list[str]:
        return [f"--copilot={cls.copilot.socket}={cls.yarn.groups.path}"]

    def setUp(self):
        self.drawn = 0.0
        self.line(test_eviction.OFF)

    def line(self, percent: int) -> None:
        self.drawn = time.monotonic()
        self.say({"memoryEvictThresholdPercent": percent, "memoryEvictLowerPercent": percent - 1})

    def start_job(self, command: str, containers: int) -> tuple[str, list[str]]:
        job = self.yarn.submit(command, containers=containers, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        self.addCleanup(job.end)
        running = wait_for(lambda: len(found := self.copilot.running()) == containers + 1 and found, "a master and its containers", self.copilot)
        master = next(name for name, each in running.items() if each["master"])
        return master, sorted(set(running) - {master})

    def known(self) -> float:
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_tasks{") and "copilot" in name and "listed" in name)

    def group(self, controller: str, container: str) -> Path:
        return self.yarn.groups.folder(controller) / container

    def test_yarns_containers_are_reported_set_back_and_bounded_like_offline_pods(self):
        _, tasks = self.start_job("while :; do :; done", 2)
        wait_for(lambda: self.known() == 3, "an agent that knows of them", self.agent, LIMIT_S)
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
            wait_for(lambda: (self.group("cpu", task) / "cpu.idle").read_text().strip() == "0", f"{task} as it was", self.agent, LIMIT_S)

    def test_above_the_line_the_container_that_holds_most_goes_and_its_master_stays(self):
        master, tasks = self.start_job(HOLDS, 2)
        held = lambda name: int((self.group("memory", name) / "memory.usage_in_bytes").read_text())
        wait_for(lambda: all(held(name) >= HELD_MIB << 20 for name in tasks), "memory in use", self.copilot)
        wait_for(lambda: self.known() == 3, "an agent that knows of them", self.agent, LIMIT_S)
        begin = time.monotonic()

        def one_is_gone() -> bool:
            if set(tasks) - set(self.copilot.running()):
                return True
            if time.monotonic() - self.drawn > 3:
                self.line(test_eviction.memory_percent() - 1)
            return False

        wait_for(one_is_gone, "a container on its way", self.agent, LIMIT_S)
        self.line(test_eviction.OFF)
        print(f"memory above its line: a container is gone {time.monotonic() - begin:.1f} s after the line was first drawn, read by a test that looks every 50 ms", file=sys.stderr)
        self.all_have_ended()
        running = self.copilot.running()
        self.assertIn(master, running)
        gone = sorted(set(tasks) - set(running))
        self.assertEqual({"web"}, self.names())
        self.assertIn(f"a container was killed container={gone[0]}", self.copilot.log)
        asked = [each for each in self.audit() if each["object"]["kind"] == "CopilotTask"]
        self.assertEqual((gone[0], "TM-EVICT-001", "done"), (asked[0]["object"]["name"], asked[0]["reason"], asked[0]["outcome"]))
        losses = [json.loads(each) for each in (Path(self.state) / "learned/losses.jsonl").read_text().splitlines()]
        self.assertIn(gone[0], [each["name"] for each in losses])
        self.assertEqual(137, self.yarn.jobs[-1].wait_told(gone[0]).status)


if __name__ == "__main__":
    unittest.main()
