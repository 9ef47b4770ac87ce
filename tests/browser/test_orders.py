"""Orders by the page of the console, on a real API server: off with proof, a viewer, a console that is killed. A thread of the test is the kubelet of all nodes; no manager and no agent runs."""

import json
import os
import tempfile
import threading
import time
import unittest
from pathlib import Path

from browser import cluster_data
from browser.people import NAMESPACE as JOBS
from browser.people import READ, REVIEW, SETTINGS, WRITE, RealApi, WithPeople

SMOKE = True
HERE = Path(__file__).parent
LIMIT_S = 600
NODES = {f"browser-web-{i}": "web" for i in range(1, 9)} | {f"browser-database-{i}": "database" for i in range(1, 5)}
NODE_OF_AGENT = "browser-web-3"  # in the case of a dead agent
CONFIG = """schema: 1
mode: enforce
pools:
- name: night
  nodeSelector: {matchLabels: {tidemark.io/pool: night}}
- name: web
  nodeSelector: {matchLabels: {role: web}}
- name: database
  nodeSelector: {matchLabels: {role: database}}
classes:
- {name: spark, order: 30}
"""
SELLS = {"cpu": "32", "memory": "128Gi", "pods": "110", "kubernetes.io/batch-cpu": "12000", "kubernetes.io/batch-memory": "48Gi"}
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SETTINGS}/leases/koordinator-manager"
MERGE = "application/merge-patch+json"


class Kubelets(threading.Thread):
    """Ends pods that are asked to leave, a second later, unless it is held."""

    def __init__(self, api: RealApi):
        super().__init__(daemon=True)
        self.api, self.held, self.over = api, False, threading.Event()

    def run(self) -> None:
        asked: dict[str, float] = {}
        while not self.over.wait(0.2):
            try:
                for pod in self.api.call("GET", f"/api/v1/namespaces/{JOBS}/pods", {})["items"]:
                    name = pod["metadata"]["name"]
                    if "deletionTimestamp" not in pod["metadata"] or self.held:
                        continue
                    if time.monotonic() - asked.setdefault(pod["metadata"]["uid"], time.monotonic()) > 1:
                        self.api.drop(f"/api/v1/namespaces/{JOBS}/pods/{name}", {"gracePeriodSeconds": 0})
            except OSError:
                continue


class Orders(WithPeople, unittest.TestCase):
    def setUp(self):
        self.api = self.people_api = RealApi()
        for name in (JOBS, SETTINGS):
            self.api.make("/api/v1/namespaces", {"metadata": {"name": name}})
        self.api.make(f"/api/v1/namespaces/{JOBS}/serviceaccounts", {"metadata": {"name": "default"}})
        self.addCleanup(self._clear)
        self._clear()
        self.api.call("POST", f"/api/v1/namespaces/{SETTINGS}/configmaps", {"metadata": {"name": "tidemark-config"}, "data": {"config.yaml": CONFIG}})
        for name, role in NODES.items():
            self.api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"role": role}}})
        self.kubelets = Kubelets(self.api)
        self.kubelets.start()
        self.addCleanup(self.kubelets.over.set)
        self.reset()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.console, self.url = self.start_console(os.environ["TIDEMARK_TEST_KUBECONFIG"], "--write")
        self.tokens = {"viewer": self.account("viewer", READ), "operator": self.account("operator", READ + WRITE)}
        _, self.viewer_url = self.start_console(self.kubeconfig("viewer", self.tokens["viewer"]), "--write")
        own = self.kubeconfig("console", self.account("console", READ + REVIEW))
        self.in_cluster, self.cluster_url = self.start_console(own, *self.certificate())

    def _clear(self) -> None:
        for name in NODES:
            self.api.drop(f"/api/v1/nodes/{name}")
        for name in ("tidemark-config", "tidemark-off", "tidemark-state"):
            self.api.drop(f"/api/v1/namespaces/{SETTINGS}/configmaps/{name}")
        self._end_pods()
        self.remove_people("viewer", "operator", "console")

    def _end_pods(self) -> None:
        for pod in self.api.call("GET", f"/api/v1/namespaces/{JOBS}/pods", {})["items"]:
            self.api.drop(f"/api/v1/namespaces/{JOBS}/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})

    def reset(self) -> None:
        """Every node is on, sells, and runs one offline pod."""
        self.kubelets.held = False
        self.api.drop(LEASE)
        for name in ("tidemark-off", "tidemark-state"):
            self.api.drop(f"/api/v1/namespaces/{SETTINGS}/configmaps/{name}")
        self._end_pods()
        for name in NODES:
            marks = {"labels": {"tidemark.io/state": None, "tidemark.io/pool": None}, "annotations": {"tidemark.io/state-detail": None}}
            self.api.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": marks}, MERGE)
            ready = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": cluster_data.now()}]
            self.api.status(f"/api/v1/nodes/{name}", {"capacity": SELLS, "allocatable": SELLS, "conditions": ready})
            amounts = {"kubernetes.io/batch-cpu": "4000", "kubernetes.io/batch-memory": "8Gi"}
            spec = {"nodeName": name, "terminationGracePeriodSeconds": 20, "containers": [{"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]}
            labels = {"koordinator.sh/qosClass": "BE", "tidemark.io/class": "spark"}
            self.api.call("POST", f"/api/v1/namespaces/{JOBS}/pods", {"metadata": {"name": f"task-{name}", "labels": labels}, "spec": spec})
            self.api.status(f"/api/v1/namespaces/{JOBS}/pods/task-{name}", {"phase": "Running", "startTime": cluster_data.now()})

    def condition(self, name: str, reason: str, message: str) -> None:
        """As the agent of the node reports it; no agent runs here."""
        written = {"type": "TidemarkIsolation", "status": "True", "reason": reason, "message": message, "lastTransitionTime": cluster_data.now()}
        self.api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [written]}}, "application/strategic-merge-patch+json")

    def control(self, what: str) -> None:
        if what == "reset":
            self.reset()
        elif what == "hold":
            self.kubelets.held = True
        elif what == "release":
            self.kubelets.held = False
        elif what == "agent-dies":
            self.condition(NODE_OF_AGENT, "Enforcing", "batchLimits: enforce (2 files)")
        elif what == "agent-starts":
            detail = json.loads(self.api.call("GET", f"/api/v1/nodes/{NODE_OF_AGENT}", {})["metadata"]["annotations"]["tidemark.io/state-detail"])
            self.condition(NODE_OF_AGENT, "Off", f"batchLimits: off; mark {detail['generation']}")
        elif what == "stopped-earlier":
            count = dict.fromkeys(("offersAtZero", "podsLeft", "nodesWithYarn", "filesRestored", "silent", "evicted", "refused", "done"), 0)
            progress = {"schema": 1, "scope": "node browser-web-2", "by": "ann", "why": "disk change", "began": cluster_data.now(), "updated": "2026-01-01T00:00:00Z", "running": False}
            progress |= {"finished": False, "counts": {**count, "nodes": 1, "marked": 1, "podsLeft": 1}, "nodesLeft": []}
            data = {"node_browser-web-2.json": json.dumps(progress)}
            self.api.call("POST", f"/api/v1/namespaces/{SETTINGS}/configmaps", {"metadata": {"name": "tidemark-off"}, "data": data})
        elif what == "forget":
            self.api.drop(f"/api/v1/namespaces/{SETTINGS}/configmaps/tidemark-off")
        elif what in ("manager-stops", "manager-runs"):
            self.api.drop(LEASE)
            renewed = "2026-01-01T00:00:00.000000Z" if what == "manager-stops" else cluster_data.now().replace("Z", ".000000Z")
            spec = {"holderIdentity": "manager-1", "leaseDurationSeconds": 15 if what == "manager-stops" else 900, "renewTime": renewed}
            self.api.call("POST", LEASE.rpartition("/")[0], {"metadata": {"name": "koordinator-manager"}, "spec": spec})
        elif what == "kill":
            self.console.kill()
        elif what == "start":
            self.console, _ = self.start_console(os.environ["TIDEMARK_TEST_KUBECONFIG"], "--write", listen=self.url.removeprefix("http://").rstrip("/"))

    def test_orders(self):
        self.run_in_browser(
            HERE / "orders.test.mjs", LIMIT_S, self.console, self.in_cluster, TIDEMARK_CONSOLE_URL=self.url, TIDEMARK_VIEWER_URL=self.viewer_url,
            TIDEMARK_CLUSTER_URL=self.cluster_url, TIDEMARK_TOKENS=json.dumps(self.tokens), TIDEMARK_CONTROL_URL=self.control_server(self.control),
        )
        for token in self.tokens.values():
            self.assertNotIn(token, self.in_cluster.log)
        self._assert_author()

    def _assert_author(self) -> None:
        """The API server saw the person, not the console's own account."""
        with open(os.environ["TIDEMARK_TEST_AUDIT_LOG"], encoding="utf-8") as log:
            events = [json.loads(line) for line in log if "browser-database-2" in line]
        writers = {event["user"]["username"] for event in events if event["verb"] == "patch" and event.get("userAgent", "").startswith("tidemark-console")}
        self.assertIn(f"system:serviceaccount:{JOBS}:operator", writers)
        self.assertNotIn(f"system:serviceaccount:{JOBS}:console", writers)


if __name__ == "__main__":
    unittest.main()
