"""`helm uninstall` with agents: it switches off first, waits until no limit is in force on any node, and stops if one stays.

No controller of Jobs runs here. A stand-in does the work of the Job: the real program with the real rights of its account on the real API server,
and its end becomes the Job's status. On a real node the same pod runs in tests/node/test_daemonset.py."""

import json
import os
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import CHART, NAMESPACE, RELEASE, helm, kubectl, must
from cluster.chart_roles import asked_by, grants_of
from cluster.test_manager import CAPACITY
from cluster.tidemark_process import wait_for
from contract.client import MERGE, STRATEGIC

ORDER = "tidemark-agent-off"
JOB = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{ORDER}"
STATE = f"{colocation.SETTINGS}/tidemark-state"
NODE = "/api/v1/nodes/leaves"
WAIT_S = 10
VALUES = {"agent": {"enabled": True, "uninstall": {"waitSeconds": WAIT_S}}, "settings": {"create": False}}
OURS = "app.kubernetes.io/instance=tidemark"
OVERSOLD = [{"key": "tidemark.io/oversold", "effect": "NoSchedule"}]


@chart.needs_helm
class Uninstalling(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.api = colocation.client()
        self.addCleanup(self.api.close)
        chart.ensure_namespace(self.api)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        for leftover in (STATE, JOB):
            self.api.request("DELETE", leftover)
        self.addCleanup(self.api.request, "DELETE", STATE)
        self.addCleanup(helm, "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--no-hooks")
        for name in ("leaves", "never-had-one"):
            colocation.put_node(self.api, name, capacity={**CAPACITY, "kubernetes.io/batch-cpu": "8000"})
            self.addCleanup(colocation.delete, self.api, name)
        self.tells("Enforcing", "batchLimits: enforce (2 files)")
        self.since = Path(os.environ["TIDEMARK_TEST_AUDIT_LOG"]).stat().st_size
        must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE, values=VALUES))
        probe = {"metadata": {"name": f"{ORDER}-first"}}
        wait_for(lambda: self.api.request("POST", colocation.SETTINGS, probe, dryRun="All").status == 422, "the policy in force")

    def tells(self, reason: str, message: str, api=None) -> None:
        """Writes the condition of the node's agent. `api`: for another thread, since a client is one connection."""
        condition = {"type": "TidemarkIsolation", "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        colocation.must((api or self.api).request("PATCH", f"{NODE}/status", {"status": {"conditions": [condition]}}, content=STRATEGIC))

    def obeys(self, strategies: str, api) -> str:
        """The message of an agent that read the node's mark."""
        mark = json.loads((api or self.api).request("GET", NODE).get("metadata.annotations")["tidemark.io/state-detail"])
        return f"{strategies}; mark {mark['generation']}"

    def uninstall(self, meanwhile=lambda api: None):
        """The answer of helm, and the output of the Job's program. `meanwhile` is called when the node has its mark."""
        over = threading.Event()
        with ThreadPoolExecutor(2) as runs:
            answer = runs.submit(helm, "uninstall", RELEASE, "--namespace", NAMESPACE)
            marked = runs.submit(self.when_marked, meanwhile, over)
            try:
                job = wait_for(lambda: answer.done() or self.new_job(), "the Job, or an answer")
                done = self.carry_out(job) if isinstance(job, dict) else None
                return answer.result(), done
            finally:
                over.set()
                marked.result()

    def new_job(self) -> dict | None:
        found = self.api.request("GET", JOB)
        return found.json if found.status == 200 and not found.get("status.conditions") else None

    def when_marked(self, then, over: threading.Event) -> None:
        api = colocation.client()
        while not over.wait(0.1):
            if api.request("GET", NODE).get("metadata.labels", {}).get("tidemark.io/state") == "off":
                then(api)
                break
        api.close()

    def carry_out(self, job: dict):
        """As a controller and a kubelet would."""
        spec = job["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        began = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        kubeconfig = chart.kubeconfig_of(spec["serviceAccountName"], self.folder)
        done = chart.run([os.environ["TIDEMARK_BINARY"], *container["command"][1:], *container["args"], "--kubeconfig", kubeconfig])
        ended = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if done.returncode == 0:
            status = {"succeeded": 1, "completionTime": ended, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}
        else:
            why = {"status": "True", "reason": "BackoffLimitExceeded"}
            status = {"failed": 1, "conditions": [{"type": "FailureTarget", **why}, {"type": "Failed", **why}]}
        colocation.must(self.api.request("PATCH", f"{JOB}/status", {"status": {"startTime": began, **status}}, content=MERGE))
        return done

    def stays(self, answer, done, *words: str) -> None:
        """Helm stopped, the program gave the reason, and everything still exists."""
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotEqual(0, answer.returncode)
        self.assertIn(f"job {ORDER} failed: BackoffLimitExceeded", answer.stderr)
        must(kubectl("-n", NAMESPACE, "get", "daemonset/tidemark-agent", "deployment/tidemark-manager", f"job/{ORDER}"))
        must(helm("rollback", RELEASE, "1", "--namespace", NAMESPACE))  # the release stays

    def on_again(self) -> None:
        must(chart.run([os.environ["TIDEMARK_BINARY"], "on", "cluster", "--yes", "--reason=test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]))

    def test_switches_off_first_and_uninstalls_when_nothing_is_in_force(self):
        answer, done = self.uninstall()
        self.stays(answer, done, f"not done after {WAIT_S}s", "1 lack the agent's confirmation", "leaves")
        self.assertEqual("0", colocation.offered(self.api, "leaves").get("kubernetes.io/batch-cpu", "0"), "off: nothing is sold")

        answer, done = self.uninstall(lambda api: self.tells("Off", self.obeys("batchLimits: off (2 files)", api), api))
        self.stays(answer, done, "kernel files are still in force on leaves (batchLimits: off (2 files); mark ", "Delete the offline pods")

        self.on_again()
        self.tells("Enforcing", "batchLimits: enforce (2 files)")
        self.api.request("PATCH", NODE, {"spec": {"taints": OVERSOLD}}, content=MERGE)
        answer, done = self.uninstall(lambda api: self.tells("Off", self.obeys("batchLimits: off", api), api))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        must(answer)
        self.assertEqual("helm uninstall tidemark", self.order_in_force()["why"])
        kinds = "daemonset,deployment,job,serviceaccount,clusterrole,clusterrolebinding,role,rolebinding,configmap,validatingadmissionpolicy,validatingadmissionpolicybinding"
        self.assertEqual("", must(kubectl("get", kinds, "-A", "-l", OURS, "-o", "name")))

        given = grants_of(chart.objects(chart.template(VALUES)), ORDER)
        asked, forbidden = asked_by(ORDER, self.since)
        self.assertEqual([], forbidden)
        self.assertEqual([], sorted(str(grant) for grant in given if not any(grant.covers(request) for request in asked)), "granted and not needed")

    def order_in_force(self) -> dict:
        mark = json.loads(self.api.request("GET", NODE).get("metadata.annotations")["tidemark.io/state-detail"])
        return mark["cluster"]["orders"][0]

    def test_without_limits_in_force_nothing_is_ordered(self):
        """An agent that only observed, or that runs beside Koordinator's: its numbers stay on sale."""
        self.tells("PeerPresent", "batchLimits: restore")
        answer, done = self.uninstall()
        self.assertIn("no agent has a kernel file in force; nothing was ordered", done.stdout)
        must(answer)
        self.assertEqual(404, self.api.request("GET", STATE).status)
        self.assertEqual("8k", colocation.offered(self.api, "leaves")["kubernetes.io/batch-cpu"])

    def test_the_uninstall_order_can_be_disabled(self):
        must(helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values={**VALUES, "agent": {"enabled": True, "uninstall": {"runOff": False}}}))
        answer, done = self.uninstall()
        self.assertIsNone(done, "no Job")
        self.assertIn("the agent of node leaves may have files of the kernel in force", answer.stderr)


if __name__ == "__main__":
    unittest.main()
