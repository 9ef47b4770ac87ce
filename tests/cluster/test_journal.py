"""The manager's decisions on a real API server, read later from its journal: `explain --at` and `replay`."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from cluster.test_manager import STATUS, WithApi


def tidemark(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_BINARY"], *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


def used(cores: str) -> dict:
    amount = {"resources": {"cpu": cores, "memory": "4Gi"}}
    return {**STATUS, "nodeMetric": {"nodeUsage": amount, "systemUsage": amount}}


class Journal(WithApi):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="tidemark-journal-")) / "made" / "here"
        self.addCleanup(shutil.rmtree, self.directory.parents[1], True)
        colocation.put_settings(self.api, {"enable": True})

    def start_with_journal(self, *more: str):
        return self.run_manager("--leader-elect=false", "--journal-dir", str(self.directory), *more)

    def at(self, node: str, moment: str, *more: str) -> subprocess.CompletedProcess:
        return tidemark("explain", "node", node, "--at", moment, "--journal-dir", str(self.directory), *more)

    def told_at(self, node: str, moment: str) -> dict:
        done = self.at(node, moment, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def replay(self, *more: str) -> subprocess.CompletedProcess:
        return tidemark("replay", "--journal-dir", str(self.directory), *more)

    def wait_kept(self, component, count: int) -> None:
        wait_for(lambda: component.metrics().get("tidemark_journal_records_total", 0) >= count, f"{count} records", component)

    def test_explain_at_shows_the_past_decision_from_the_journal(self):
        node = self.node("then-1", status=used("2"))
        component = self.start_with_journal()
        self.wait_offered(node, "17200", component)
        time.sleep(1)  # --at has whole seconds
        then = colocation.time_stamp()
        time.sleep(1)
        colocation.put_metric(self.api, node, used("10"))
        self.wait_offered(node, "9200", component)
        self.wait_kept(component, 2)

        now = self.told_at(node, "0s")
        before = self.told_at(node, then)
        self.assertEqual(now["kubernetes.io/batch-cpu"]["published"], 9200)
        self.assertEqual(before["kubernetes.io/batch-cpu"]["published"], 17200)
        self.assertIn("written [TM-WRITE-", before["notes"][0])
        text = self.at(node, then)
        self.assertIn("policy ", text.stdout)
        self.assertEqual(text.returncode, 0)

        live = tidemark("explain", "node", node, "-o", "json", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"])
        told_live = json.loads(live.stdout)["kubernetes.io/batch-cpu"]
        self.assertEqual({**told_live, "onNode": 17200}, now["kubernetes.io/batch-cpu"], "except for what the node carried then")

        early = self.at(node, "2020-01-01T00:00:00Z")
        self.assertEqual(early.returncode, 1)
        self.assertIn("it begins at ", early.stderr)
        unknown = self.at("nobody", "0s")
        self.assertEqual(unknown.returncode, 1)
        self.assertIn('no decision about node "nobody"', unknown.stderr)
        self.assertEqual(self.at(node, "yesterday").returncode, 2)

    def test_replay_of_all_decisions_is_exact(self):
        nodes = [self.node(f"replay-{i}", status=used(str(i + 1))) for i in range(5)]
        component = self.start_with_journal()
        for round_ in range(3):
            for i, node in enumerate(nodes):
                colocation.put_metric(self.api, node, used(str(3 * round_ + i + 1)))
            for i, node in enumerate(nodes):
                self.wait_offered(node, str(19200 - 1000 * (3 * round_ + i + 1)), component)
        self.wait_kept(component, 11)
        self.assertEqual(component.stop(), 0)
        done = self.replay("-o", "json")
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["differ"], report["unreadable"]), (0, 0, 0), done.stdout)
        self.assertGreaterEqual(report["decisions"], 11)
        one = json.loads(self.replay("-o", "json", "--node", nodes[0]).stdout)
        self.assertLess(one["decisions"], report["decisions"])
        self.assertEqual(self.replay("--node", "nobody").returncode, 1)
        self.assertEqual(self.replay("--since", "soon").returncode, 2)

    def test_a_journal_that_ends_in_half_a_record_is_read(self):
        node = self.node("killed-1", status=used("2"))
        component = self.start_with_journal()
        self.wait_offered(node, "17200", component)
        self.wait_kept(component, 1)
        component.kill()
        # As if the kill had come between two pages of the disk.
        [segment] = self.directory.glob("*.tmj")
        segment.write_bytes(segment.read_bytes()[:-7])
        component = self.start_with_journal()
        colocation.put_metric(self.api, node, used("10"))
        self.wait_offered(node, "9200", component)
        self.wait_kept(component, 2)
        self.assertEqual(self.told_at(node, "0s")["kubernetes.io/batch-cpu"]["published"], 9200)
        done = self.replay()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("of a record that was cut off", done.stdout)

    def test_a_former_leader_is_marked_in_its_journal(self):
        """Two replicas with a journal each. The leader is frozen and resumes behind its successor."""
        elected = ("--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=300ms")
        node = self.node("led-1", status=used("2"))
        first = self.run_manager("--journal-dir", str(self.directory), *elected)
        self.wait_offered(node, "17200", first)
        second = self.run_manager("--journal-dir", str(self.directory) + "-of-the-second", *elected)
        first.process.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: second.metrics()["tidemark_leader"] == 1, "the second manager to lead", second)
            colocation.put_metric(self.api, node, used("10"))
            self.wait_offered(node, "9200", second)
        finally:
            first.process.send_signal(signal.SIGCONT)
        wait_for(lambda: any("no longer led from " in note for note in self.told_at(node, "0s")["notes"]), "a note in the first one's journal", first)
        self.assertEqual(17200, self.told_at(node, "0s")["kubernetes.io/batch-cpu"]["published"], "what it knew")
        self.directory = Path(str(self.directory) + "-of-the-second")
        shown = self.told_at(node, "0s")
        self.assertEqual(9200, shown["kubernetes.io/batch-cpu"]["published"])
        self.assertFalse([note for note in shown["notes"] if "longer led" in note], shown["notes"])

    def test_an_unwritable_disk_stops_nothing(self):
        self.directory.parent.mkdir(parents=True)
        self.directory.write_text("a file instead of the directory")
        node = self.node("no-disk-1", status=used("2"))
        component = self.start_with_journal()
        self.wait_offered(node, "17200", component)
        self.assertIn("all else goes on", component.log)
        self.assertEqual(component.metrics()["tidemark_journal_working"], 0)
        self.assertEqual(component.stop(), 0)


if __name__ == "__main__":
    unittest.main()
