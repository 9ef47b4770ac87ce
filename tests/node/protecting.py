"""An agent that protects a real node: its settings, the state of cgroups, and its end, shared by tests."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from cluster import colocation
from cluster.colocation import NODESLOS
from cluster.tidemark_process import wait_for
from node.test_agent import API, OnARealNode
from support.node import cgroups, pods
from support.patience import PATIENCE_S as LIMIT_S

ROOM_S = 60  # if other work leaves no CPU until then, a test proves nothing and says so
QUOTA_FLOOR_US = 2000  # contract 7.3
HOLD_AFTER = 3  # unexpected ends within ten minutes
# On a machine that is busy with other work (which counts as system use), some CPU is left for offline work.
ROOM = {"enable": True, "cpuSuppressThresholdPercent": 80, "cpuSuppressMinPercent": 20}
BATCH = {"batch-cpu": 500, "batch-memory": 64 << 20}
OFFLINE = {"koordinator.sh/qosClass": "BE"}
# Every file that an agent may write in a cgroup. Shares of idle cgroups are compared too: an idle cgroup shows another weight.
FILES = ("cpu.cfs_quota_us", "cpu.shares", "cpu.idle", "cpu.bvt_warp_ns", "cpuset.cpus", "memory.limit_in_bytes", "cpu.max", "cpu.weight", "memory.max", "memory.low")


class Protecting(OnARealNode):
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
        """Sets the NodeSLO; CPU priority of offline work is always on."""
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

    def held(self) -> bool:
        """Offline work has its minimum: all of it together, or each pod alone if one of them is not offline (`plain`)."""
        among = [pod["metadata"] for pod in self.pods if pod["status"].get("qosClass") == "BestEffort"]
        offline = [each for each in among if (each.get("labels") or {}).items() >= OFFLINE.items()]
        if len(offline) == len(among):
            return self.quota() == QUOTA_FLOOR_US
        files = [self.folder("cpu", f"besteffort/pod{each['uid']}") / "cpu.cfs_quota_us" for each in offline]
        return {file.read_text().strip() for file in files if file.exists()} == {str(QUOTA_FLOOR_US)}

    def everything(self) -> dict[str, str]:
        """Each writable file of each cgroup of the node."""
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

    def lives(self) -> dict:
        """The running pods, their start times, and the restart count of each container."""
        return {
            pod["metadata"]["name"]: (pod["metadata"]["uid"], sorted((each["containerID"], each["restartCount"]) for each in pod["status"]["containerStatuses"]))
            for pod in self.node.pods()
        }

    def says(self) -> dict:
        """The state file of the agent on its machine."""
        file = Path(self.state) / "run/status.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def room_for(self, quota_us: int) -> bool:
        """Waits until offline work has more than this. False if other work uses the machine and offline work stays at its minimum: that is correct too."""
        try:
            return bool(wait_for(lambda: self.quota() > quota_us, "room for offline work", self.agent, ROOM_S))
        except AssertionError:
            says = next(each["says"] for each in json.loads((Path(self.state) / "run/status.json").read_text())["strategies"] if each["name"] == "cpuSuppress")
            self.assertIn("TM-SUPPRESS-003", says)
            print(f"this machine is too busy to show it: {says}", file=sys.stderr)
            return False

    def others_use(self) -> float:
        """CPUs that other work of this machine uses, over two seconds."""
        ticks_a_second = os.sysconf("SC_CLK_TCK")

        def used() -> tuple[float, float]:
            busy = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
            return time.monotonic(), (sum(busy[:3]) + sum(busy[5:8])) / ticks_a_second - int((self.folder("cpuacct") / "cpuacct.usage").read_text()) / 1e9

        (begin, before), _, (end, after) = used(), time.sleep(2), used()
        return (after - before) / (end - begin)

    def others_leave(self, cores: float) -> bool:
        """Waits until other work of this machine leaves room. False if it does not: a surge would take CPU from it, and the agent would see no change."""
        def enough() -> bool:
            self.others = self.others_use()
            return os.cpu_count() - self.others >= cores

        try:
            return bool(wait_for(enough, "CPU beside other work", self.agent, ROOM_S))
        except AssertionError:
            print(f"this machine is too busy to show it: {self.others:.1f} of {os.cpu_count()} processors are others'", file=sys.stderr)
            return False

    # -- kill -9

    def unended(self) -> int:
        """Starts without an orderly end, as recorded by the agents of this machine."""
        file = Path(self.state) / "run/starts"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def starts_again(self) -> None:
        """Safe start happens after three unexpected ends, and not earlier (docs/guide/protection.md)."""
        before = self.unended()
        holds = before >= HOLD_AFTER
        type(self).agent = self.start()
        wait_for(lambda: self.says().get("pid") == self.agent.process.pid, "how it stands", self.agent, LIMIT_S)
        self.assertGreater(self.unended(), min(before, HOLD_AFTER), "it recorded its start")
        self.assertEqual(holds, self.says()["holding"], self.agent.log[-2000:])
        self.assertEqual(int(holds), self.agent.metrics()["tidemark_agent_holds"])

    def kill_at_any_time(self, kills: int, chance: random.Random) -> None:
        """Kills the agent repeatedly, at any point of its work and of its start. The cgroups are recorded before its first write, and in the end every file
        is as with everything switched off."""
        self.order("observe")
        wait_for(lambda: self.in_force("batchLimits") == 0 and self.in_force("cpuPriority") == 0, "everything put back", self.agent, LIMIT_S)
        before, lives = self.everything(), self.lives()
        holding = 0
        for kill in range(kills):
            self.order(chance.choice([None, None, None, "off", "observe"]))
            self.want(enable=chance.random() < 0.9, cpuSuppressThresholdPercent=chance.randrange(20, 95), cpuSuppressPolicy=chance.choice(["cfsQuota", "cpuset"]))
            time.sleep(chance.random() * 1.5)  # kill it at a random point of its work
            self.agent.kill()
            if chance.random() < 0.3:
                type(self).agent = self.launch()
                time.sleep(chance.random() * 0.3)
                self.agent.kill()
            if chance.random() < 0.1:
                self.switch_off_without_it()
            holding += self.unended() >= HOLD_AFTER
            self.starts_again()
            if chance.random() < 0.15:
                self.assertEqual(0, self.agent.stop())
                self.assertEqual(0, self.unended(), "an orderly end resets the count")
                self.starts_again()
        self.assertGreater(holding, 0)
        self.assertEqual(0, self.agent.stop())
        self.starts_again()
        self.order("observe")
        wait_for(lambda: not self.differences(before), "all original values", self.agent, LIMIT_S)
        self.assertEqual(lives, self.lives(), "no task ended")

    def switch_off_without_it(self) -> None:
        """Offline work has its minimum, except where the last agent was not allowed to limit it."""
        may_hold = self.says().get("offlineGroup")
        done = self.tidemark("off", "--local", "--reason", "a test", "-o", "json")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        shown = json.loads(done.stdout)
        self.assertEqual(([], []), (shown["notHeld"], shown["notDone"]))
        held_by = {each["file"] for each in shown["left"] if each["group"].endswith("/besteffort")}
        if may_hold and "cpuset.cpus" not in held_by:  # the minimum is two CPUs, and this machine may have no more
            self.assertTrue(self.held(), shown)
        self.assertEqual(0, self.tidemark("on", "--local", "--reason", "a test").returncode)
