"""The agent on a real node: offline work gives way and comes back, batch pods get their limits, an order takes everything back, and no kill leaves anything wrong."""

import json
import os
import random
import sys
import time
import unittest

from cluster.tidemark_process import wait_for
from node.protecting import LIMIT_S, QUOTA_FLOOR_US, ROOM, Protecting
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

KILLS = 10
SURGE_MILLI = 700
SURGE_US = 40000  # so much of a period has to be there for offline work before a surge shows


class Protection(Protecting):
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
        self.kill_at_any_time(KILLS, random.Random(os.environ.get("TIDEMARK_SEED", "1")))


if __name__ == "__main__":
    unittest.main()
