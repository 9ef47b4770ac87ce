"""Greedy YARN containers on a real node whose kubelet has reachable thresholds: one uses more and more memory, one fills the NodeManager's local directory. The agent evicts
the greedy one before the kubelet acts; its neighbours run on, and the node recovers. The last case shows what the kubelet does without the agent."""

import os
import sys
import time
import unittest
import unittest.mock
from pathlib import Path

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from cluster.colocation import must
from cluster.tidemark_process import wait_for
from node import test_eviction
from support import small_disk
from support.node import node, pods
from support.yarn import Totals, leftovers
from yarn.sharing import API, MASTER_MIB, TERMINATED, OnASharedNode, holds, tearDownModule  # noqa: F401

if small_disk.why_not():
    raise unittest.SkipTest(small_disk.why_not())

DISK_MIB, DISK_LINE, FREE_PERCENT = 4096, 40, 55
FIRST_MIB = 330  # at once more than a tenth of the short resource
KUBELETS = {"nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%"}  # its defaults
MODEST_MIB = 200
LIMIT_S = 180


def mebibytes(field: str) -> int:
    return next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith(field)) >> 10


# The kubelet evicts when two fifths of the current free space are left; our threshold is half way.
ROOM_MIB = mebibytes("MemAvailable:") * 2 // 5
EATS = f"while :; do head -c 32M /dev/zero; sleep 0.2; done | tail -c {2 * ROOM_MIB}M"
FILLS = f"""dd if=/dev/zero of=first bs=1M count={FIRST_MIB} status=none
while :; do dd if=/dev/zero of=more bs=1M count=4 oflag=append conv=notrunc status=none; sleep 0.5; done"""


class GreedyTasks(OnASharedNode):
    SITE = Totals(memory_mib=ROOM_MIB + 4096, vcores=8)
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 50), pods.Work("batch", pods.BEST_EFFORT, 5, 50, labels={"koordinator.sh/qosClass": "BE"})]

    @classmethod
    def setUpClass(cls):
        cls.disk = cls.enterClassContext(small_disk.mounted(DISK_MIB))
        for module in (node, leftovers):
            cls.enterClassContext(unittest.mock.patch.object(module, "PLACE", cls.disk))
        super().setUpClass()
        cls.filler = cls.disk / "filler"

    @classmethod
    def node_options(cls) -> dict:
        return {"evicts": {**KUBELETS, "memory.available": f"{mebibytes('MemAvailable:') - ROOM_MIB}Mi"}}

    @classmethod
    def copilot_flags(cls) -> list[str]:
        return [f"--nm-local-dirs={cls.yarn.nodes[0].local}"]

    @classmethod
    def machine(cls) -> list[str]:
        return [*super().machine(), "--kubelet-dir", f"{cls.node.layout.kubelet}/root", "--runtime-dir", str(cls.node.layout.containerd)]

    def setUp(self):
        self.memory_line = test_eviction.memory_percent() + 100 * ROOM_MIB // 2 // mebibytes("MemTotal:")
        self.before, self.conditions = self.lives(), self.pressures()
        self.say({"memoryEvictThresholdPercent": self.memory_line, "memoryEvictLowerPercent": self.memory_line - 1}, diskFreePercent=DISK_LINE)

    # -- observations

    def lives(self) -> dict:
        """The running pods, their start times, and the restart count of each container."""
        return {pod["metadata"]["name"]: (pod["metadata"]["uid"], [each["restartCount"] for each in pod["status"]["containerStatuses"]]) for pod in self.node.pods()}

    def pressures(self) -> dict:
        """The conditions of the kubelet's node, and their times."""
        said = must(API.get(f"/api/v1/nodes/{self.node.name}"))["status.conditions"]
        return {each["type"]: (each["status"], each["lastTransitionTime"]) for each in said if each["type"] in ("MemoryPressure", "DiskPressure")}

    def kubelets_words(self) -> list[str]:
        """Events of evictions: of the node by its name, of pods by theirs."""
        events = API.get("/api/v1/namespaces/default/events").get("items", [])
        ours = {self.node.name, *(uid for uid, _ in self.lives().values())}
        return [f"{each['reason']}: {each['message']}" for each in events if each["reason"] in ("Evicted", "EvictionThresholdMet") and ours & {each["involvedObject"].get("name"), each["involvedObject"].get("uid")}]

    def free_to(self, percent: float) -> None:
        """A neutral file takes the rest."""
        self.addCleanup(self.filler.unlink, missing_ok=True)
        found = os.statvfs(self.disk)
        with self.filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, int((small_disk.free_percent(self.disk) - percent) / 100 * found.f_blocks * found.f_frsize))

    def one_beside(self) -> str:
        """A container of another job, which uses little."""
        job = self.yarn.submit(holds(MODEST_MIB), memory_mib=2 * MODEST_MIB, master_memory_mib=MASTER_MIB)
        self.addCleanup(job.end)
        return self.container_of(job)

    def container_of(self, job) -> str:
        its = lambda: [name for name, each in self.copilot.running().items() if each["application"] == job.id and not each["master"]]
        return wait_for(its, f"the container of {job.id}", self.copilot)[0]

    def ends(self, command: str, memory_mib: int, reason: str) -> float:
        """Only the greedy one is evicted; returns the time since its start."""
        modest = self.one_beside()
        job = self.yarn.submit(command, memory_mib=memory_mib, master_memory_mib=MASTER_MIB)
        self.addCleanup(job.end)
        greedy, begin = self.container_of(job), time.monotonic()
        wait_for(lambda: greedy not in self.copilot.running(), "the greedy one on its way", self.agent, LIMIT_S)
        after = time.monotonic() - begin
        self.all_have_ended()
        self.assertIn(modest, self.copilot.running())
        self.assertEqual([greedy], [each["object"]["name"] for each in self.audit() if each["reason"] == reason and each["outcome"] == "done"])
        self.assertEqual(TERMINATED, job.wait_told(greedy).status)
        self.untouched()
        return after

    def untouched(self) -> None:
        self.assertEqual(self.before, self.lives())
        self.assertEqual(self.conditions, self.pressures())
        self.assertEqual([], self.kubelets_words())

    # -- the cases

    def test_a_memory_eater_is_evicted_before_the_kubelet_acts(self):
        there = mebibytes("MemAvailable:")
        after = self.ends(EATS, ROOM_MIB + 1024, "TM-EVICT-001")
        wait_for(lambda: mebibytes("MemAvailable:") > there - ROOM_MIB // 4, "its released memory", self.agent)
        self.untouched()
        print(f"a container that ate memory ended {after:.0f} s after it began", file=sys.stderr)

    def test_a_task_that_fills_local_dirs_is_evicted_before_the_kubelet_acts(self):
        self.free_to(FREE_PERCENT)
        lowest = small_disk.free_percent(self.disk)
        wait_for(lambda: self.agent.metrics().get('tidemark_agent_disk_free_ratio{component="kubelet"}'), "the disk in the agent's metrics", self.agent, LIMIT_S)
        after = self.ends(FILLS, MASTER_MIB, "TM-EVICT-007")
        back = wait_for(lambda: (now := small_disk.free_percent(self.disk)) > lowest - 2 and now, "its files to be removed", self.agent, LIMIT_S)
        self.untouched()
        print(f"a container that filled the disk ended {after:.0f} s after it began; {lowest:.0f} % were free before, {back:.0f} % are after", file=sys.stderr)

    def test_without_the_agent_the_kubelet_evicts_for_that_disk(self):
        """Proves that its thresholds are reachable. The evicted pods stay Failed, so this comes last."""
        self.say({"memoryEvictThresholdPercent": test_eviction.OFF}, mode="observe", diskFreePercent=DISK_LINE)
        self.free_to(8)
        wait_for(lambda: self.pressures()["DiskPressure"][0] == "True", "disk pressure of the kubelet", self.agent, LIMIT_S)
        self.assertIn("EvictionThresholdMet", " ".join(self.kubelets_words()))


if __name__ == "__main__":
    unittest.main()
