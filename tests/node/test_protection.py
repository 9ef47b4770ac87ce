"""The agent on a real node: batch pods get their limits, an order restores everything, and no kill leaves wrong values. Reaction times: test_reaction.py."""

import json
import os
import random
import sys
import threading
import time
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from node.protecting import HOLD_AFTER, LIMIT_S, QUOTA_FLOOR_US, ROOM, Protecting
from node.test_agent import tearDownModule  # noqa: F401

KILLS = 10
THEIRS = str(160 << 20)
REPAIRED, LEFT = DRIFT = ("TM-AGENT-009", "TM-AGENT-008")
OF_SYSTEMD = ("cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes")  # what systemd knows of a pod's slice and a container's scope, and writes again
STAYS_S = 3  # several passes of the agent


class Protection(Protecting):
    def test_batch_pods_have_their_limits(self):
        """Contract 7.8: 500 milli-cores are 512 shares and 50 ms of 100; the pod has the sums."""
        for name, containers in (("offline-1", 1), ("offline-2", 2)):
            memory, cpu = self.pod_folder("memory", name), self.pod_folder("cpu", name)
            wait_for(lambda: (cpu / "cpu.cfs_quota_us").read_text().strip() == str(50000 * containers), f"the quota of {name}", self.agent, LIMIT_S)
            self.assertEqual(str(containers * (64 << 20)), (memory / "memory.limit_in_bytes").read_text().strip())
            limited = [each for each in cpu.iterdir() if each.is_dir() and (each / "cpu.cfs_quota_us").read_text().strip() == "50000"]
            self.assertEqual(containers, len(limited), "each container except the pause container")
            self.assertEqual(["512"] * containers, [(each / "cpu.shares").read_text().strip() for each in limited])
        self.assertEqual("-1", (self.pod_folder("cpu", "plain") / "cpu.cfs_quota_us").read_text().strip())

    def test_offline_pods_are_idle_and_the_kubelet_still_writes_weights(self):
        if not (self.folder("cpu", "besteffort") / "cpu.idle").exists():
            self.skipTest("this kernel has no cpu.idle")
        for name in ("offline-1", "offline-2"):
            wait_for(lambda: (self.pod_folder("cpu", name) / "cpu.idle").read_text().strip() == "1", f"{name} set back", self.agent, LIMIT_S)
        for below in ("", "besteffort", "burstable"):
            self.assertEqual("0", (self.folder("cpu", below) / "cpu.idle").read_text().strip(), "the kubelet writes weights there")
        self.assertEqual("0", (self.pod_folder("cpu", "plain") / "cpu.idle").read_text().strip())

    def test_observing_shows_and_writes_nothing(self):
        self.want(**ROOM)
        wait_for(lambda: self.quota() > 0, "a quota for offline work", self.agent, LIMIT_S)
        self.order("observe")
        wait_for(lambda: self.quota() == -1 and self.in_force("batchLimits") == 0, "everything put back", self.agent, LIMIT_S)
        wait_for(lambda: self.condition().get("reason") == "Observing", "condition Observing", self.agent, LIMIT_S)

    def test_safe_start_in_observe_mode_writes_nothing(self):
        """Safe start tightens limits, but not in observe mode."""
        self.want(**ROOM)
        self.order("observe")
        wait_for(lambda: sum(self.in_force(each) for each in ("cpuSuppress", "batchLimits", "cpuPriority")) == 0, "everything put back", self.agent, LIMIT_S)
        before = self.everything()
        self.addCleanup(self.begins_anew)
        self.assertEqual(0, self.agent.stop())
        self.starts_again()
        for _ in range(HOLD_AFTER):
            self.agent.kill()
            self.starts_again()
        time.sleep(STAYS_S)
        self.assertTrue(self.says()["holding"])
        self.assertEqual({}, self.differences(before))

    def test_a_local_latch_works_without_a_server(self):
        self.want(**ROOM)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "a quota for offline work", self.agent, LIMIT_S)
        self.addCleanup(self.tidemark, "on", "--local", "--reason", "the test is over")
        done = self.tidemark("off", "--local", "--reason", "a test")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("the agent obeys", done.stdout)
        self.assertTrue(self.held())
        self.assertEqual(0, self.tidemark("on", "--local", "--reason", "a test").returncode)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the minimum", self.agent, LIMIT_S)
        self.agent.kill()
        try:
            alone = self.tidemark("off", "--local", "--reason", "a test", "-o", "json")
            self.assertEqual(0, alone.returncode, alone.stdout + alone.stderr)
            shown = json.loads(alone.stdout)
            self.assertFalse(shown["agentRuns"])
            self.assertTrue(self.held(), "pods run: limited to the minimum")
            self.assertTrue(any(each["group"].endswith("besteffort") for each in shown["left"]), shown)
        finally:
            self.tidemark("on", "--local", "--reason", "a test")
            type(self).agent = self.start()

    def test_repairs_foreign_changes_and_leaves_a_persistent_writer_alone(self):
        """A person changes a file once. `systemctl daemon-reload` with cgroups of systemd writes all values of their creation again, from the top down, at
        once; two reloads are repaired (systemd itself: tests/vm/test_systemd.py). And a writer that changes it ten times a second, which cannot be beaten."""
        self.order("observe")
        wait_for(lambda: sum(self.in_force(each) for each in ("cpuSuppress", "batchLimits", "cpuPriority")) == 0, "everything put back", self.agent, LIMIT_S)
        places = [*self.folder("cpu", "besteffort").rglob("cpu.*"), *self.folder("memory", "besteffort").rglob("memory.limit_in_bytes")]
        made = {file: self.reads(file) for file in sorted(places, key=lambda file: len(file.parts)) if file.name in OF_SYSTEMD}
        lives, heard = self.lives(), len(self.audit())
        self.order(None)
        self.want(enable=True, cpuSuppressPolicy="cpuset", cpuSuppressThresholdPercent=95, cpuSuppressMinPercent=90)
        wait_for(lambda: self.in_force("cpuSuppress") and all(self.limited(name, count) for name, count in (("offline-1", 1), ("offline-2", 2))), "what is ours", self.agent, LIMIT_S)
        contested = self.pod_folder("memory", "offline-2") / "memory.limit_in_bytes"
        # The kernel refuses shares of an idle cgroup, from any writer.
        idle = {file for file in made if file.name == "cpu.shares" and file.with_name("cpu.idle").exists() and self.reads(file.with_name("cpu.idle")) == "1"}
        of_systemd = [file for file in made if file not in idle | {contested}]
        ours = {file: self.reads(file) for file in of_systemd if self.reads(file) != made[file]}
        self.assertEqual(3 * 3 + 2 * 2 - 1, len(ours), "memory, quota and shares of three containers; memory and quota of two pods, except the contested one")
        container = next(file.parent for file in ours if file.name == "cpu.shares")
        processors = self.folder("cpuset", str(container.relative_to(self.folder("cpu")))) / "cpuset.cpus"
        wanted = {**ours, processors: self.reads(processors)}

        def reload() -> None:
            for file in of_systemd:
                file.write_text(made[file])

        def repaired() -> bool:
            return all(self.reads(file) == value for file, value in wanted.items())

        over = threading.Event()
        writer = threading.Thread(target=lambda: [contested.write_text(THEIRS) for _ in iter(lambda: over.wait(0.1), True)])
        begin = time.monotonic()
        self.addCleanup(self.begins_anew)
        processors.write_text("0")
        reload()
        writer.start()
        self.addCleanup(writer.join)
        self.addCleanup(over.set)
        for which in ("first", "second"):
            wait_for(repaired, "each wanted value", self.agent, LIMIT_S)
            print(f"{which} reload: {len(wanted)} files set again by {time.monotonic() - begin:.1f} s", file=sys.stderr)
            self.assertEqual([], [each for each in self.drift(ours, heard) if each[1] == LEFT])
            reload()
        wait_for(lambda: self.agent.metrics()["tidemark_agent_files_left"] == len(ours) + 1, "files left to the other writers", self.agent, LIMIT_S)
        print(f"war: left to the other writers after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        over.set()
        writer.join()
        end = time.monotonic() + STAYS_S
        while time.monotonic() < end:
            self.assertEqual({file: made[file] for file in ours} | {contested: THEIRS}, {file: self.reads(file) for file in (*ours, contested)}, "they have it")
            time.sleep(0.2)

        files = [*ours, contested]
        wait_for(lambda: len([each for each in self.drift(files, heard) if each[1] == LEFT]) == len(files), "it in the audit", self.agent, LIMIT_S)
        self.assertEqual(sorted([(file.name, REPAIRED) for file in files] * 2 + [(file.name, LEFT) for file in files]), self.drift(files, heard), "repaired twice, and not a third time")
        self.assertEqual([(processors.name, REPAIRED)], self.drift([processors], heard))
        self.assertEqual(len(files), self.says()["left"])
        done = self.tidemark("doctor", "node", "-o", "json", "--kubelet-endpoint", self.node.kubelet, "--kubelet-cgroup-root", f"/{self.node.cgroup}")
        files = [each for each in json.loads(done.stdout)["findings"] if each["what"] == "files"]
        self.assertIn(LEFT, json.dumps(files), done.stdout + done.stderr)
        self.assertEqual(lives, self.lives(), "no task ended")

    def audit(self) -> list[dict]:
        return [json.loads(line) for line in (Path(self.state) / "learned/audit.jsonl").read_text().splitlines()]

    def drift(self, files, heard: int) -> list[tuple[str, str]]:
        """The audit lines about these files since then."""
        places = {(str(file.parent)[str(file.parent).index(self.node.cgroup) :], file.name) for file in files}
        shown = [each for each in self.audit()[heard:] if each["reason"] in DRIFT]
        return sorted((each["object"]["part"], each["reason"]) for each in shown if (each["object"]["name"].strip("/"), each["object"].get("part")) in places)

    def limited(self, name: str, containers: int) -> bool:
        """The cgroups of the pod and of each container."""
        memory, cpu = self.pod_folder("memory", name), self.pod_folder("cpu", name)
        limits = [self.reads(each / "memory.limit_in_bytes") for each in memory.iterdir() if each.is_dir()]
        shares = [self.reads(each / "cpu.shares") for each in cpu.iterdir() if each.is_dir()]
        return self.reads(memory / "memory.limit_in_bytes") == str(containers * (64 << 20)) and limits.count(str(64 << 20)) == shares.count("512") == containers

    def begins_anew(self) -> None:
        """A new agent that remembers no other writer."""
        self.agent.stop()
        type(self).agent = self.start()

    @staticmethod
    def reads(file: Path) -> str:
        return file.read_text().strip()

    def test_killed_at_any_time_it_leaves_no_wrong_value(self):
        self.kill_at_any_time(KILLS, random.Random(os.environ.get("TIDEMARK_SEED", "1")))


if __name__ == "__main__":
    unittest.main()
