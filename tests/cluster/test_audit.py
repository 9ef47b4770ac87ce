"""The audit on the real API server: one line for each write that a process sends; the server's own audit log agrees."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import must
from cluster.reading_proxy import ReadingProxy
from cluster.test_manager import LEFT, SETTINGS
from cluster.test_state import STATE_MAP, WithState
from cluster.tidemark_process import Component, wait_for


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Audit(WithState):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_managers_write_is_logged_with_its_reason_and_the_servers_id(self):
        node = self.node("audit-a")
        component = self.run_manager("--leader-elect=false", f"--journal-dir={self.folder / 'journal'}")
        self.wait_offered(node, LEFT, component)
        wait_for(lambda: colocation.CONFIG_HASH in must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.annotations", {}), "the hash", component)
        component.stop()  # the audit is on disk after an orderly end
        file = self.folder / "journal" / "audit.jsonl"
        lines = lines_of(file)
        shown = next(line for line in lines if line["object"] == {"kind": "Node", "name": node, "part": "status"} and "batch-cpu" in json.dumps(line["new"]))
        found = must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.annotations", {})
        self.assertEqual("patch", shown["verb"])
        self.assertEqual("done", shown["outcome"])
        self.assertTrue(shown["actor"].startswith("manager "), shown["actor"])
        self.assertRegex(shown["reason"], r"^TM-WRITE-\d{3}$")
        self.assertEqual(found[colocation.CONFIG_HASH], shown["config"], "the hash of the settings of the decision")
        self.assertEqual({}, shown["old"])
        self.assertEqual(LEFT, shown["new"]["status"]["allocatable"]["kubernetes.io/batch-cpu"])
        for kind in ("NodeSLO", "NodeMetric"):
            self.assertTrue([line for line in lines if line["object"] == {"kind": kind, "name": node}], f"no line of {kind}: {lines}")
        self.assertFalse([line for line in lines if line["object"]["kind"] in ("Event", "Lease")])
        self.assertEqual(0o600, file.stat().st_mode & 0o777)
        log = os.environ.get("TIDEMARK_TEST_AUDIT_LOG")
        if log is None:
            self.skipTest("TIDEMARK_TEST_AUDIT_LOG: this API server keeps no audit log")
        wait_for(lambda: shown["trace"] in Path(log).read_text(errors="replace"), f"the request {shown['trace']} in the server's own audit log")

    def test_an_order_is_logged_if_a_file_is_given(self):
        node = self.node("audit-b")
        file = self.folder / "orders.jsonl"
        arguments = ["off", "node", node, "--now", "--reason", "a test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        command = [os.environ["TIDEMARK_BINARY"], *arguments]
        subprocess.run([*command, "--dry-run"], stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=120, env={**os.environ, "TIDEMARK_AUDIT_FILE": str(file)})
        self.assertFalse(file.exists(), "a dry run changes nothing, so nothing is logged")
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=120, env={**os.environ, "TIDEMARK_AUDIT_FILE": str(file)})
        (shown,) = (line for line in lines_of(file) if line["outcome"] == "done")
        self.assertEqual({"kind": "Node", "name": node, "part": "status"}, shown["object"])
        self.assertEqual("TM-WRITE-013", shown["reason"])
        self.assertIn("@", shown["actor"])
        self.assertIn("a test", json.dumps(shown["new"]), "the reason that the person gave")
        subprocess.run([os.environ["TIDEMARK_BINARY"], "off", "cluster", "--yes", *arguments[3:], "--audit-file", str(file)], stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=120)
        self.assertIn(("ConfigMap", STATE_MAP), {(line["object"]["kind"], line["object"]["name"]) for line in lines_of(file)})

    def test_an_aborted_command_is_logged_as_unknown(self):
        node = self.node("audit-c")
        proxy = ReadingProxy()
        self.addCleanup(proxy.close)
        proxy.hold_next(lambda request: request.method == "PATCH" and f"/nodes/{node}/" in request.path)
        file = self.folder / "given-up.jsonl"
        kubeconfig = proxy.kubeconfig(Path(os.environ["TMPDIR"]))
        child = subprocess.Popen(
            [os.environ["TIDEMARK_BINARY"], "off", "node", node, "--now", "--reason", "a test", "--kubeconfig", str(kubeconfig), "--audit-file", str(file)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        proxy.held(120)
        self.assertEqual([], lines_of(file), "no result yet")
        child.send_signal(signal.SIGINT)
        self.assertEqual(128 + signal.SIGINT, child.wait(120))
        (shown,) = lines_of(file)
        self.assertEqual({"kind": "Node", "name": node, "part": "status"}, shown["object"])
        self.assertEqual("unknown", shown["outcome"])

    def test_tidemark_up_keeps_an_audit_in_its_data_directory(self):
        component = Component("up", "--pods=false", "--data-dir", str(self.folder / "up"), "--listen", "127.0.0.1:0")
        self.addCleanup(component.stop)
        file = self.folder / "up" / "audit.jsonl"
        wait_for(lambda: file.exists() and '"kind":"Namespace"' in file.read_text(), "the settings' namespace in the audit", component)
        self.assertEqual(0, component.stop())
        lines = lines_of(file)
        self.assertEqual({"manager embedded"}, {line["actor"] for line in lines})
        self.assertIn("CustomResourceDefinition", {line["object"]["kind"] for line in lines})


if __name__ == "__main__":
    unittest.main()
