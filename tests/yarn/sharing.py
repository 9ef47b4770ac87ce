"""A real node that a kubelet and a NodeManager share, with a copilot and an agent over both: shared by tests."""

import json
import os
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.node import pods
from support.yarn import Totals, Yarn, groups
from yarn.over_socket import Copilot

if "TIDEMARK_KUBELET" not in os.environ:
    raise unittest.SkipTest("cannot create a node here")
if groups.why_not():
    raise unittest.SkipTest(groups.why_not())

from node import test_eviction
from node.evicting import GRACE_S, LIMIT_S, Evicting, offline
from node.protecting import ROOM
from node.test_agent import API, tearDownModule

__all__ = ["API", "GRACE_S", "HELD_MIB", "KILLED", "LIMIT_S", "MASTER_MIB", "ROOM", "TASK_MIB", "TERMINATED", "OnASharedNode", "tearDownModule", "holds", "offline", "test_eviction"]  # tests import from here what needs a node

PLACE = "kubepods/besteffort/hadoop-yarn"
MASTER_MIB, TASK_MIB, HELD_MIB = 256, 1024, 700
KILLED, TERMINATED = 137, 143  # exit codes that a master sees


def holds(mib: int) -> str:
    """A command that fills this memory and then sleeps."""
    return f"(head -c {mib}M /dev/zero; sleep 1000) | tail -c {mib}M"


class OnASharedNode(Evicting):
    SITE = Totals(memory_mib=4096, vcores=8)
    OTHERS: list[Totals] = []  # other machines that only YARN has
    YARN_SITE: dict[str, str] = {}
    QUEUES: dict[str, str] = {}  # queues of the scheduler
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 100)]

    @classmethod
    def launch(cls):
        """The agent of a node on which a NodeManager and a copilot ran first."""
        if not hasattr(cls, "yarn"):
            cls.yarn = cls.enterClassContext(Yarn([cls.SITE], site=cls.YARN_SITE, capacity=cls.QUEUES, groups=PLACE, below=cls.node.cgroup, others=cls.OTHERS))
            folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-"))
            cls.copilot = Copilot(folder, cls.yarn.nodes[0].ports.web, f"--yarn-container-cgroup-path={cls.yarn.groups.path}", *cls.copilot_flags())
            cls.addClassCleanup(cls.copilot.stop)
        return super().launch()

    @classmethod
    def copilot_flags(cls) -> list[str]:
        return []

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

    def loss_of(self, task: str) -> dict:
        path = Path(self.state) / "learned/losses.jsonl"
        return wait_for(lambda: next((loss for each in path.read_text().splitlines() if (loss := json.loads(each))["name"] == task), None), "its loss", self.agent)

    def hold_memory(self, containers: int, command: str = holds(HELD_MIB)) -> tuple[str, list[str]]:
        """A job whose containers hold their full memory and are known to the agent."""
        master, tasks = self.start_job(command, containers)
        wait_for(lambda: all(self.held(name) >= HELD_MIB << 20 for name in tasks), "memory in use", self.copilot)
        wait_for(lambda: self.known() == 1 + containers, "an agent that knows them", self.agent, LIMIT_S)
        return master, tasks

    def held(self, container: str) -> int:
        return int((self.group("memory", container) / "memory.usage_in_bytes").read_text())

    def draw_until(self, gone: Callable[[], bool], what: str) -> float:
        """Sets the threshold just below the use, again when the use falls; returns since when."""
        begin = time.monotonic()

        def drawn_and_gone() -> bool:
            if gone():
                return True
            if time.monotonic() - self.drawn > 3:
                self.line(test_eviction.memory_percent() - 1)
            return False

        wait_for(drawn_and_gone, what, self.agent, LIMIT_S)
        self.line(test_eviction.OFF)
        return begin

    def draw_until_one_goes(self, tasks: list[str]) -> float:
        return self.draw_until(lambda: bool(set(tasks) - set(self.copilot.running())), "a container on its way")
