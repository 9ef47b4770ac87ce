"""The agent on a real node: offline work gives way and comes back, batch pods get their limits, an order takes everything back, and no kill leaves anything wrong."""

import json
import os
import random
import sys
import threading
import time
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from node.protecting import LIMIT_S, QUOTA_FLOOR_US, ROOM, Protecting
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

KILLS = 10
SURGE_MILLI = 700
ALL_CPUS = f"0-{os.cpu_count() - 1}"  # suppression leaves two at least, and the machines of the tests have no more
THEIRS = str(160 << 20)
REPAIRED, LEFT = DRIFT = ("TM-AGENT-009", "TM-AGENT-008")
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

    def test_what_somebody_else_changes_is_set_again_and_who_goes_on_is_left_alone(self):
        """A person, systemd or a kubelet once each; and one who does it ten times a second, against whom nobody wins."""
        self.want(enable=True, cpuSuppressPolicy="cpuset", cpuSuppressThresholdPercent=95, cpuSuppressMinPercent=90)
        container = next(each for each in self.pod_folder("cpu", "offline-1").iterdir() if each.is_dir() and self.reads(each / "cpu.shares") == "512")
        below = str(container.relative_to(self.folder("cpu")))
        ours = {container / "cpu.shares": "512", self.folder("memory", below) / "memory.limit_in_bytes": str(64 << 20), self.folder("cpuset", below) / "cpuset.cpus": ALL_CPUS}
        wait_for(lambda: self.in_force("cpuSuppress") and all(self.reads(file) == value for file, value in ours.items()), "what is ours", self.agent, LIMIT_S)
        contested = self.pod_folder("memory", "offline-2") / "memory.limit_in_bytes"
        wait_for(lambda: self.reads(contested) == str(128 << 20), "the limit of two containers", self.agent, LIMIT_S)

        over = threading.Event()
        writer = threading.Thread(target=lambda: [contested.write_text(THEIRS) for _ in iter(lambda: over.wait(0.1), True)])
        begin = time.monotonic()
        for file, value in zip(ours, ("700", str(96 << 20), "0"), strict=True):
            file.write_text(value)
        writer.start()
        self.addCleanup(writer.join)
        self.addCleanup(over.set)
        wait_for(lambda: all(self.reads(file) == value for file, value in ours.items()), "each file as it was wanted", self.agent, LIMIT_S)
        print(f"drift: three files repaired within {time.monotonic() - begin:.1f} s", file=sys.stderr)
        wait_for(lambda: self.agent.metrics()["tidemark_agent_files_left"] == 1, "one file left to the other writer", self.agent, LIMIT_S)
        print(f"war: left to the other writer after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        over.set()
        writer.join()

        self.assertEqual(THEIRS, self.reads(contested), "he has it")
        places = {(str(file.parent)[str(file.parent).index(self.node.cgroup) :], file.name) for file in (*ours, contested)}

        def told() -> list[tuple[str, str]]:
            lines = [json.loads(line) for line in (Path(self.state) / "learned/audit.jsonl").read_text().splitlines()]
            return sorted((each["object"]["part"], each["reason"]) for each in lines if (each["object"]["name"].strip("/"), each["object"].get("part")) in places and each["reason"] in DRIFT)

        wait_for(lambda: (contested.name, LEFT) in told(), "an audit that says so", self.agent, LIMIT_S)
        self.assertEqual(sorted([(file.name, REPAIRED) for file in ours] + [(contested.name, REPAIRED)] * 2 + [(contested.name, LEFT)]), told(), "twice set again, and no third time")
        self.assertEqual(1, self.says()["left"])
        done = self.tidemark("doctor", "node", "-o", "json", "--kubelet-endpoint", self.node.kubelet, "--kubelet-cgroup-root", f"/{self.node.cgroup}")
        files = [each for each in json.loads(done.stdout)["findings"] if each["what"] == "files"]
        self.assertIn(LEFT, json.dumps(files), done.stdout + done.stderr)

    @staticmethod
    def reads(file: Path) -> str:
        return file.read_text().strip()

    def test_killed_at_any_time_nothing_is_left_wrong(self):
        self.kill_at_any_time(KILLS, random.Random(os.environ.get("TIDEMARK_SEED", "1")))


if __name__ == "__main__":
    unittest.main()
