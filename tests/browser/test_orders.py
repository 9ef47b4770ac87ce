"""Orders by the page of the console, on a real API server: off with proof, a viewer, a console that is killed. A thread of the test is the kubelet of all nodes; no manager and no agent runs."""

import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from browser import cluster_data
from cluster.tidemark_process import Component, wait_for

SMOKE = True
HERE = Path(__file__).parent
LIMIT_S = 600
JOBS = "browser-jobs"
SETTINGS = "koordinator-system"
NODES = {f"browser-web-{i}": "web" for i in range(1, 9)} | {f"browser-database-{i}": "database" for i in range(1, 5)}
CONFIG = """schema: 1
mode: enforce
pools:
- name: web
  nodeSelector: {matchLabels: {role: web}}
- name: database
  nodeSelector: {matchLabels: {role: database}}
"""
SELLS = {"cpu": "32", "memory": "128Gi", "pods": "110", "kubernetes.io/batch-cpu": "12000", "kubernetes.io/batch-memory": "48Gi"}
READ = [
    {"apiGroups": [""], "resources": ["nodes", "pods", "configmaps", "events"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["slo.koordinator.sh"], "resources": ["nodemetrics"], "verbs": ["get", "list", "watch"]},
]
MERGE = "application/merge-patch+json"


class RealApi(cluster_data.Api):
    def __init__(self):
        self.server = os.environ["TIDEMARK_TEST_SERVER"]
        self.token = Path(os.environ["TIDEMARK_TEST_TOKEN_FILE"]).read_text().strip()
        self.context = ssl.create_default_context(cafile=os.environ["TIDEMARK_TEST_CA_FILE"])

    def drop(self, path: str, body: dict | None = None) -> None:
        try:
            self.call("DELETE", path, body or {})
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def make(self, path: str, body: dict) -> None:
        try:
            self.call("POST", path, body)
        except urllib.error.HTTPError as error:
            if error.code != 409:
                raise


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


class Orders(unittest.TestCase):
    def setUp(self):
        self.api = RealApi()
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
        self.console, self.url = self._console(os.environ["TIDEMARK_TEST_KUBECONFIG"], "127.0.0.1:0")
        _, self.viewer_url = self._console(self._viewer(), "127.0.0.1:0")

    def _clear(self) -> None:
        for name in NODES:
            self.api.drop(f"/api/v1/nodes/{name}")
        for name in ("tidemark-config", "tidemark-off", "tidemark-state"):
            self.api.drop(f"/api/v1/namespaces/{SETTINGS}/configmaps/{name}")
        self._end_pods()
        self.api.drop(f"/api/v1/namespaces/{JOBS}/serviceaccounts/viewer")
        for kind in ("clusterrolebindings", "clusterroles"):
            self.api.drop(f"/apis/rbac.authorization.k8s.io/v1/{kind}/browser-viewer")

    def _end_pods(self) -> None:
        for pod in self.api.call("GET", f"/api/v1/namespaces/{JOBS}/pods", {})["items"]:
            self.api.drop(f"/api/v1/namespaces/{JOBS}/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})

    def reset(self) -> None:
        """Every node is on, sells, and runs one offline pod."""
        self.kubelets.held = False
        for name in ("tidemark-off", "tidemark-state"):
            self.api.drop(f"/api/v1/namespaces/{SETTINGS}/configmaps/{name}")
        self._end_pods()
        for name in NODES:
            marks = {"labels": {"tidemark.io/state": None}, "annotations": {"tidemark.io/state-detail": None}}
            self.api.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": marks}, MERGE)
            ready = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": cluster_data.now()}]
            self.api.status(f"/api/v1/nodes/{name}", {"capacity": SELLS, "allocatable": SELLS, "conditions": ready})
            amounts = {"kubernetes.io/batch-cpu": "4000", "kubernetes.io/batch-memory": "8Gi"}
            spec = {"nodeName": name, "terminationGracePeriodSeconds": 20, "containers": [{"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]}
            labels = {"koordinator.sh/qosClass": "BE", "tidemark.io/class": "spark"}
            self.api.call("POST", f"/api/v1/namespaces/{JOBS}/pods", {"metadata": {"name": f"task-{name}", "labels": labels}, "spec": spec})
            self.api.status(f"/api/v1/namespaces/{JOBS}/pods/task-{name}", {"phase": "Running", "startTime": cluster_data.now()})

    def _viewer(self) -> str:
        self.api.call("POST", f"/api/v1/namespaces/{JOBS}/serviceaccounts", {"metadata": {"name": "viewer"}})
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        self.api.call("POST", f"{rbac}/clusterroles", {"metadata": {"name": "browser-viewer"}, "rules": READ})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "browser-viewer"}
        self.api.call("POST", f"{rbac}/clusterrolebindings", {"metadata": {"name": "browser-viewer"}, "roleRef": role, "subjects": [{"kind": "ServiceAccount", "namespace": JOBS, "name": "viewer"}]})
        token = self.api.call("POST", f"/api/v1/namespaces/{JOBS}/serviceaccounts/viewer/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        file = self.folder / "viewer.kubeconfig"
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "viewer", "contexts": [{"name": "viewer", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.api.server, "certificate-authority": os.environ["TIDEMARK_TEST_CA_FILE"]}}],
            "users": [{"name": "u", "user": {"token": token}}],
        }))
        return str(file)

    def _console(self, kubeconfig: str, listen: str) -> tuple[Component, str]:
        console = Component("console", "--kubeconfig", kubeconfig, "--listen", listen, "--config-namespace", SETTINGS, "--write")
        self.addCleanup(console.stop)
        return console, wait_for(lambda: re.search(r"^console +(http://\S+)$", console.log, re.M), "the address of the console", console)[1]

    def control(self, what: str) -> None:
        if what == "reset":
            self.reset()
        elif what == "hold":
            self.kubelets.held = True
        elif what == "release":
            self.kubelets.held = False
        elif what == "kill":
            self.console.kill()
        elif what == "start":
            self.console, _ = self._console(os.environ["TIDEMARK_TEST_KUBECONFIG"], self.url.removeprefix("http://").rstrip("/"))

    def test_orders(self):
        test = self

        class Control(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                test.control(self.path.strip("/"))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Control)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        screenshots = Path(os.environ["TIDEMARK_SCREENSHOTS"])
        screenshots.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ, "TIDEMARK_CONSOLE_URL": self.url, "TIDEMARK_VIEWER_URL": self.viewer_url, "TIDEMARK_CONTROL_URL": f"http://127.0.0.1:{server.server_port}/",
            "TIDEMARK_CHROMIUM": shutil.which("chromium") or "chromium",
        }
        done = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "--test-concurrency=1", HERE / "orders.test.mjs"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=LIMIT_S
        )
        self.assertEqual(0, done.returncode, done.stdout[-8000:] + done.stderr[-2000:] + self.console.log[-2000:])


if __name__ == "__main__":
    unittest.main()
