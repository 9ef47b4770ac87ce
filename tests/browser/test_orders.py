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
WRITE = [
    {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]},
]
REVIEW = [{"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
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
        self.tokens = {"viewer": self._account("viewer", READ), "operator": self._account("operator", READ + WRITE)}
        _, self.viewer_url = self._console(self._kubeconfig("viewer", self.tokens["viewer"]), "127.0.0.1:0")
        own = self._kubeconfig("console", self._account("console", READ + REVIEW))
        self.in_cluster, self.cluster_url = self._console(own, "127.0.0.1:0", tuple(self._certificate()))

    def _clear(self) -> None:
        for name in NODES:
            self.api.drop(f"/api/v1/nodes/{name}")
        for name in ("tidemark-config", "tidemark-off", "tidemark-state"):
            self.api.drop(f"/api/v1/namespaces/{SETTINGS}/configmaps/{name}")
        self._end_pods()
        for name in ("viewer", "operator", "console"):
            self.api.drop(f"/api/v1/namespaces/{JOBS}/serviceaccounts/{name}")
            for kind in ("clusterrolebindings", "clusterroles"):
                self.api.drop(f"{RBAC}/{kind}/browser-{name}")

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

    def _account(self, name: str, rules: list[dict]) -> str:
        """A service account with these rights; its token."""
        self.api.call("POST", f"/api/v1/namespaces/{JOBS}/serviceaccounts", {"metadata": {"name": name}})
        self.api.call("POST", f"{RBAC}/clusterroles", {"metadata": {"name": f"browser-{name}"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"browser-{name}"}
        subjects = [{"kind": "ServiceAccount", "namespace": JOBS, "name": name}]
        self.api.call("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": f"browser-{name}"}, "roleRef": role, "subjects": subjects})
        return self.api.call("POST", f"/api/v1/namespaces/{JOBS}/serviceaccounts/{name}/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]

    def _kubeconfig(self, name: str, token: str) -> str:
        file = self.folder / f"{name}.kubeconfig"
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": name, "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.api.server, "certificate-authority": os.environ["TIDEMARK_TEST_CA_FILE"]}}],
            "users": [{"name": "u", "user": {"token": token}}],
        }))
        return str(file)

    def _certificate(self) -> list[str]:
        files = [str(self.folder / name) for name in ("tls.crt", "tls.key")]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-out", files[0], "-keyout", files[1]],
            check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        )
        return [f"--tls-cert-file={files[0]}", f"--tls-key-file={files[1]}", "--host=console.example"]

    def _console(self, kubeconfig: str, listen: str, form: tuple[str, ...] = ("--write",)) -> tuple[Component, str]:
        console = Component("console", "--kubeconfig", kubeconfig, "--listen", listen, "--config-namespace", SETTINGS, *form)
        self.addCleanup(console.stop)
        return console, wait_for(lambda: re.search(r"^console +(https?://\S+)$", console.log, re.M), "the address of the console", console)[1]

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
            **os.environ, "TIDEMARK_CONSOLE_URL": self.url, "TIDEMARK_VIEWER_URL": self.viewer_url, "TIDEMARK_CLUSTER_URL": self.cluster_url,
            "TIDEMARK_TOKENS": json.dumps(self.tokens), "TIDEMARK_CONTROL_URL": f"http://127.0.0.1:{server.server_port}/",
            "TIDEMARK_CHROMIUM": shutil.which("chromium") or "chromium",
        }
        done = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "--test-concurrency=1", HERE / "orders.test.mjs"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=LIMIT_S
        )
        self.assertEqual(0, done.returncode, done.stdout[-8000:] + done.stderr[-2000:] + self.console.log[-2000:] + self.in_cluster.log[-2000:])
        for token in self.tokens.values():
            self.assertNotIn(token, self.in_cluster.log)
        self._assert_author()


    def _assert_author(self) -> None:
        """The API server saw the person, not the console's own account."""
        with open(os.environ["TIDEMARK_TEST_AUDIT_LOG"], encoding="utf-8") as log:
            events = [json.loads(line) for line in log if "browser-database-2" in line]
        writers = {event["user"]["username"] for event in events if event["verb"] == "patch" and event["userAgent"].startswith("tidemark-console")}
        self.assertIn(f"system:serviceaccount:{JOBS}:operator", writers)
        self.assertNotIn(f"system:serviceaccount:{JOBS}:console", writers)


if __name__ == "__main__":
    unittest.main()
