"""The agent on a real node: offline work gives way and comes back, batch pods get their limits, an order takes everything back, and no kill leaves anything wrong."""

import json
import os
import random
import subprocess
import sys
import time
import unittest
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.test_agent import API, OnARealNode
from node.test_agent import tearDownModule  # noqa: F401
from support.node import cgroups, pods

NODESLOS = "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
LIMIT_S = 60
KILLS = 10
QUOTA_FLOOR_US = 2000  # contract 7.3
# However busy this machine is with other work, which counts as the system's, something is left for offline work.
ROOM = {"enable": True, "cpuSuppressThresholdPercent": 80, "cpuSuppressMinPercent": 20}
SURGE_MILLI = 700
SURGE_US = 40000  # so much of a period has to be there for offline work before a surge shows
BATCH = {"batch-cpu": 500, "batch-memory": 64 << 20}
OFFLINE = {"koordinator.sh/qosClass": "BE"}
# Whatever an agent may write of a group. Shares beside idle ones are compared too: an idle group shows another weight.
FILES = ("cpu.cfs_quota_us", "cpu.shares", "cpu.idle", "cpu.bvt_warp_ns", "cpuset.cpus", "memory.limit_in_bytes", "cpu.max", "cpu.weight", "memory.max", "memory.low")


class Protection(OnARealNode):
    WORKS = [
        pods.Work("online", pods.BURSTABLE, 20, 6),
        pods.Work("plain", pods.BEST_EFFORT, 5, 6),
        pods.Work("offline-1", pods.BEST_EFFORT, 300, 6, labels=OFFLINE, batch=BATCH),
        pods.Work("offline-2", pods.BEST_EFFORT, 300, 6, containers=2, labels=OFFLINE, batch=BATCH),
    ]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(API.request, "DELETE", f"{NODESLOS}/{cls.node.name}")

    def setUp(self):
        self.want(enable=False)
        self.order(None)
        wait_for(lambda: self.in_force("cpuSuppress") == 0, "nothing suppressed at the beginning", self.agent, LIMIT_S)

    def want(self, **threshold) -> None:
        """What the NodeSLO says from now on; CPU priority of offline work is always on."""
        spec = {
            "resourceUsedThresholdWithBE": {"cpuSuppressPolicy": "cfsQuota", **threshold},
            "resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}},
        }
        patched = API.request("PATCH", f"{NODESLOS}/{self.node.name}", {"spec": spec}, content="application/merge-patch+json")
        if patched.status == 404:
            colocation.must(API.request("POST", NODESLOS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": spec}))
        else:
            colocation.must(patched)

    def order(self, state: str | None) -> None:
        body = {"metadata": {"labels": {"tidemark.io/state": state}}}
        colocation.must(API.request("PATCH", f"/api/v1/nodes/{self.node.name}", body, content="application/merge-patch+json"))

    def in_force(self, strategy: str) -> float:
        return self.agent.metrics().get(f'tidemark_agent_files_in_force{{component="{strategy}"}}', -1)

    def folder(self, controller: str, below: str = "") -> Path:
        places = {hierarchy.name: hierarchy for hierarchy in cgroups.hierarchies()}
        return places.get(controller, Path("/sys/fs/cgroup")) / self.node.cgroup / "kubepods" / below

    def pod_folder(self, controller: str, name: str) -> Path:
        uid = next(pod["metadata"]["uid"] for pod in self.pods if pod["metadata"]["name"] == name)
        return self.folder(controller, f"besteffort/pod{uid}")

    def quota(self) -> int:
        return int((self.folder("cpu", "besteffort") / "cpu.cfs_quota_us").read_text())

    def everything(self) -> dict[str, str]:
        """Each file that may be written, of each group of the node."""
        found = {}
        for hierarchy in cgroups.there(self.node.cgroup):
            for file in (each for name in FILES for each in hierarchy.rglob(name)):
                found[str(file)] = file.read_text().strip()
        return found

    def differences(self, before: dict[str, str]) -> dict[str, tuple[str, str]]:
        now = self.everything()
        return {file: (value, now[file]) for file, value in before.items() if file in now and now[file] != value}

    def condition(self) -> dict:
        conditions = API.get(f"/api/v1/nodes/{self.node.name}").get("status.conditions", [])
        return next((each for each in conditions if each["type"] == "TidemarkIsolation"), {})

    def tidemark(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([os.environ["TIDEMARK_BINARY"], *words, *self.machine()], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def room_for(self, quota_us: int) -> bool:
        """Waits until offline work has more than this. False where other work has the machine, and offline work therefore no more than its least: that is right too."""
        try:
            return bool(wait_for(lambda: self.quota() > quota_us, "room for offline work", self.agent, LIMIT_S))
        except AssertionError:
            says = next(each["says"] for each in json.loads((Path(self.state) / "run/status.json").read_text())["strategies"] if each["name"] == "cpuSuppress")
            self.assertIn("TM-SUPPRESS-003", says)
            print(f"this machine is too busy to show it: {says}", file=sys.stderr)
            return False

    def others_leave(self, cores: float) -> bool:
        """Waits until other work of this machine does. False where it does not: a surge would take from that, and what the agent sees would stay the same."""
        ticks_a_second = os.sysconf("SC_CLK_TCK")

        def used() -> tuple[float, float]:
            busy = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
            return time.monotonic(), (sum(busy[:3]) + sum(busy[5:8])) / ticks_a_second - int((self.folder("cpuacct") / "cpuacct.usage").read_text()) / 1e9

        def enough() -> bool:
            (begin, before), _, (end, after) = used(), time.sleep(2), used()
            self.others = (after - before) / (end - begin)
            return os.cpu_count() - self.others >= cores

        try:
            return bool(wait_for(enough, "room beside other work", self.agent, LIMIT_S))
        except AssertionError:
            print(f"this machine is too busy to show it: {self.others:.1f} of {os.cpu_count()} processors are others'", file=sys.stderr)
            return False

    def test_batch_pods_have_their_limits(self):
        """Contract 7.8: 500 milli-cores are 512 shares and 50 ms of 100; the pod has the sums."""
        for name, containers in (("offline-1", 1), ("offline-2", 2)):
            memory, cpu = self.pod_folder("memory", name), self.pod_folder("cpu", name)
            wait_for(lambda: (cpu / "cpu.cfs_quota_us").read_text().strip() == str(50000 * containers), f"the quota of {name}", self.agent, LIMIT_S)
            self.assertEqual(str(containers * (64 << 20)), (memory / "memory.limit_in_bytes").read_text().strip())
            limited = [each for each in cpu.iterdir() if each.is_dir() and (each / "cpu.cfs_quota_us").read_text().strip() == "50000"]
            self.assertEqual(containers, len(limited), "each container, and not the pause container")
            self.assertEqual(["512"] * containers, [(each / "cpu.shares").read_text().strip() for each in limited])
        self.assertEqual("-1", (self.pod_folder("cpu", "plain") / "cpu.cfs_quota_us").read_text().strip())

    def test_offline_pods_run_when_nobody_else_wants_to_and_the_kubelet_goes_on(self):
        if not (self.folder("cpu", "besteffort") / "cpu.idle").exists():
            self.skipTest("this kernel has no cpu.idle")
        for name in ("offline-1", "offline-2"):
            wait_for(lambda: (self.pod_folder("cpu", name) / "cpu.idle").read_text().strip() == "1", f"{name} set back", self.agent, LIMIT_S)
        for below in ("", "besteffort", "burstable"):
            self.assertEqual("0", (self.folder("cpu", below) / "cpu.idle").read_text().strip(), "the kubelet writes weights there")
        self.assertEqual("0", (self.pod_folder("cpu", "plain") / "cpu.idle").read_text().strip())

    def test_offline_work_gives_way_to_a_surge_and_comes_back(self):
        self.want(enable=True, cpuSuppressThresholdPercent=80)
        if not self.room_for(SURGE_US) or not self.others_leave(SURGE_MILLI / 1000 + 0.4):
            return
        self.assertEqual("-1", (self.pod_folder("cpu", "offline-1") / "cpu.cfs_quota_us").read_text().strip(), "one quota for all of it")
        calm = self.quota()
        begin = time.monotonic()
        self.node.run([pods.Work("surge", pods.BURSTABLE, SURGE_MILLI, 6)])
        self.addCleanup(lambda: self.node.end(["surge"]) if any(pod["metadata"]["name"] == "surge" for pod in self.node.pods()) else None)
        low = wait_for(lambda: self.quota() < calm - 20000 and self.quota(), f"less than {calm}", self.agent, LIMIT_S)
        print(f"surge: quota {calm} -> {low} within {time.monotonic() - begin:.1f} s of asking for the pod", file=sys.stderr)
        self.node.end(["surge"])
        if not self.room_for(low + 20000):
            return
        self.want(enable=False)
        wait_for(lambda: self.quota() == -1, "no quota at all", self.agent, LIMIT_S)

    def test_off_by_the_mark_holds_offline_work_to_its_least_and_on_gives_it_back(self):
        self.want(**ROOM)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "a quota for offline work", self.agent, LIMIT_S)
        begin = time.monotonic()
        self.order("off")
        wait_for(lambda: self.quota() == QUOTA_FLOOR_US, "the least", self.agent, LIMIT_S)
        print(f"off: the least {time.monotonic() - begin:.2f} s after the mark was written, read by a test that looks every 50 ms", file=sys.stderr)
        wait_for(lambda: self.condition().get("reason") == "Off", "a condition that says so", self.agent, LIMIT_S)
        self.order("on")
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the least", self.agent, LIMIT_S)

    def test_observing_shows_and_writes_nothing(self):
        self.want(**ROOM)
        wait_for(lambda: self.quota() > 0, "a quota for offline work", self.agent, LIMIT_S)
        self.order("observe")
        wait_for(lambda: self.quota() == -1 and self.in_force("batchLimits") == 0, "everything put back", self.agent, LIMIT_S)
        wait_for(lambda: self.condition().get("reason") == "Observing", "a condition that says so", self.agent, LIMIT_S)

    def test_a_switch_on_the_machine_needs_nobody(self):
        self.want(**ROOM)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "a quota for offline work", self.agent, LIMIT_S)
        self.addCleanup(self.tidemark, "on", "--local", "--reason", "the test is over")
        done = self.tidemark("off", "--local", "--reason", "a test")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("the agent obeys", done.stdout)
        self.assertEqual(QUOTA_FLOOR_US, self.quota())
        self.assertEqual(0, self.tidemark("on", "--local", "--reason", "a test").returncode)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the least", self.agent, LIMIT_S)
        self.agent.kill()
        try:
            alone = self.tidemark("off", "--local", "--reason", "a test", "-o", "json")
            self.assertEqual(0, alone.returncode, alone.stdout + alone.stderr)
            told = json.loads(alone.stdout)
            self.assertFalse(told["agentRuns"])
            self.assertEqual(QUOTA_FLOOR_US, self.quota(), "pods run in it: held to its least")
            self.assertTrue(any(each["group"].endswith("besteffort") for each in told["left"]), told)
        finally:
            self.tidemark("on", "--local", "--reason", "a test")
            type(self).agent = self.start()

    def test_killed_at_any_time_nothing_is_left_wrong(self):
        """The group is told apart before the agent ever wrote: what comes back is compared with what it is with everything switched off."""
        self.order("observe")
        wait_for(lambda: self.in_force("batchLimits") == 0 and self.in_force("cpuPriority") == 0, "everything put back", self.agent, LIMIT_S)
        before = self.everything()
        self.order(None)
        chance = random.Random(os.environ.get("TIDEMARK_TEST_SEED", "1"))
        for kill in range(KILLS):
            self.want(enable=True, cpuSuppressThresholdPercent=chance.randrange(20, 95), cpuSuppressPolicy=chance.choice(["cfsQuota", "cpuset"]))
            time.sleep(chance.random() * 1.5)  # where in its work it is killed is what is tried
            self.agent.kill()
            type(self).agent = self.start()
            if kill == 3:  # three unexpected ends came before this start
                self.assertEqual(1, self.agent.metrics()["tidemark_agent_holds"], self.agent.log[-2000:])
        self.agent.stop()  # an orderly end: it does not begin by holding any more
        type(self).agent = self.start()
        self.order("observe")
        wait_for(lambda: not self.differences(before), "every file as it was", self.agent, LIMIT_S)


if __name__ == "__main__":
    unittest.main()
