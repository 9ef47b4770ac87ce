"""People of a cluster: service accounts with rights, their kubeconfigs, and a console for them with its certificate."""

import json
import os
import re
import shutil
import ssl
import subprocess
import threading
import urllib.error
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from browser import cluster_data
from cluster.tidemark_process import Component, wait_for

NAMESPACE = "browser-jobs"
SETTINGS = "koordinator-system"
READ = [
    {"apiGroups": [""], "resources": ["nodes", "pods", "configmaps", "events"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["slo.koordinator.sh"], "resources": ["nodemetrics"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]},
    {"apiGroups": ["topology.node.k8s.io"], "resources": ["noderesourcetopologies"], "verbs": ["get", "list"]},
]
WRITE = [
    {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]},
]
REVIEW = [{"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}]
RBAC = "/apis/rbac.authorization.k8s.io/v1"


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


class WithPeople:
    """Of a TestCase with self.people_api, a RealApi, and self.folder, a Path."""

    def account(self, name: str, rules: list[dict]) -> str:
        """A service account with these rights; its token."""
        self.people_api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
        self.people_api.call("POST", f"{RBAC}/clusterroles", {"metadata": {"name": f"browser-{name}"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"browser-{name}"}
        subjects = [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": name}]
        self.people_api.call("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": f"browser-{name}"}, "roleRef": role, "subjects": subjects})
        return self.people_api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]

    def kubeconfig(self, name: str, token: str) -> str:
        file = self.folder / f"{name}.kubeconfig"
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": name, "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.people_api.server, "certificate-authority": os.environ["TIDEMARK_TEST_CA_FILE"]}}],
            "users": [{"name": "u", "user": {"token": token}}],
        }))
        return str(file)

    def certificate(self) -> list[str]:
        files = [str(self.folder / name) for name in ("tls.crt", "tls.key")]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-out", files[0], "-keyout", files[1]],
            check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        )
        return [f"--tls-cert-file={files[0]}", f"--tls-key-file={files[1]}", "--host=console.example"]

    def remove_people(self, *names: str) -> None:
        for name in names:
            self.people_api.drop(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}")
            for kind in ("clusterrolebindings", "clusterroles"):
                self.people_api.drop(f"{RBAC}/{kind}/browser-{name}")

    def start_console(self, kubeconfig: str, *form: str, listen: str = "127.0.0.1:0") -> tuple[Component, str]:
        """The component, and its address."""
        console = Component("console", "--kubeconfig", kubeconfig, "--listen", listen, "--config-namespace", SETTINGS, *form)
        self.addCleanup(console.stop)
        return console, wait_for(lambda: re.search(r"^console +(https?://\S+)$", console.log, re.M), "the address of the console", console)[1]

    def control_server(self, control) -> str:
        """The address where a script in the browser's test reports POST /NAME: calls control(NAME)."""

        class Control(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                control(self.path.strip("/"))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Control)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/"

    def run_in_browser(self, script: Path, limit_s: int, *components: Component, **environment: str) -> None:
        """node --test of this script; screenshots go where the others go."""
        screenshots = Path(os.environ["TIDEMARK_SCREENSHOTS"])
        screenshots.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "--test-concurrency=1", script], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={**os.environ, **environment, "TIDEMARK_CHROMIUM": shutil.which("chromium") or "chromium", "NODE_EXTRA_CA_CERTS": os.environ["TIDEMARK_TEST_CA_FILE"]}, timeout=limit_s,
        )
        print(done.stdout)  # each case with its time, for the log
        self.assertEqual(0, done.returncode, done.stdout[-8000:] + done.stderr[-2000:] + "".join(each.log[-2000:] for each in components))
