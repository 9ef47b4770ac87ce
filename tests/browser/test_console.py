"""The page of the console in Chromium: on `tidemark up` without pods, with the nodes, reports and offline pods of cluster_data."""

import json
import os
import re
import shutil
import subprocess
import threading
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from browser import cluster_data
from cluster.tidemark_process import Component, wait_for

SMOKE = True
HERE = Path(__file__).parent
LIMIT_S = 1500


class Changes(BaseHTTPRequestHandler):
    """POST adds a node to the cluster, DELETE removes it again: for a test in the browser."""

    api: cluster_data.Api

    def _change(self, change) -> None:
        change()
        self.send_response(204)
        self.end_headers()

    def do_POST(self) -> None:
        self._change(lambda: self.api.call("POST", "/api/v1/nodes", {"metadata": {"name": "new-1"}}))

    def do_DELETE(self) -> None:
        self._change(lambda: self.api.call("DELETE", "/api/v1/nodes/new-1", {}))

    def log_message(self, *_) -> None:
        pass


class Console(unittest.TestCase):
    def setUp(self):
        folder = Path(os.environ["TMPDIR"])
        self.up = Component("up", "--data-dir", str(folder / "data"), "--listen", "127.0.0.1:0", "--pods=false", "--keep=false", "--journal-dir", str(folder / "journal"))
        self.addCleanup(self.up.stop)
        found = wait_for(lambda: re.search(r"^console +(http://\S+)$", self.up.log, re.M), "the address of the console", self.up)
        self.url = found[1]
        self.kubeconfig = Path(re.search(r"^kubeconfig +(\S+)$", self.up.log, re.M)[1])

    def test_page(self):
        api = cluster_data.Api(self.kubeconfig)
        wait_for(lambda: self._has_kinds(api), "the custom resources", self.up)
        cluster_data.fill(api)
        wait_for(lambda: self._revisions() >= 1, "a stored revision", self.up)
        before = self._revisions()
        cluster_data.edit(api)
        wait_for(lambda: self._revisions() > before, "the revision of the edit", self.up)
        handler = type("Handler", (Changes,), {"api": api})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        screenshots = Path(os.environ["TIDEMARK_SCREENSHOTS"])
        screenshots.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ, "TIDEMARK_CONSOLE_URL": self.url, "TIDEMARK_CHANGE_URL": f"http://127.0.0.1:{server.server_port}/",
            "TIDEMARK_TOKEN": api.token, "TIDEMARK_CHROMIUM": shutil.which("chromium") or "chromium",
        }
        done = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "--test-concurrency=1", HERE / "page.test.mjs"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=LIMIT_S
        )
        print(done.stdout)  # each case with its time, for the log
        self.assertEqual(0, done.returncode, done.stdout[-8000:] + done.stderr[-2000:])

    def test_types_of_the_page(self):
        modules = Path(os.environ["TIDEMARK_MODULES"]) / "node_modules"
        page = Path(os.environ["TIDEMARK_BINARY"]).parent / "console" / "page"
        packages = (page / "packages.txt").read_text().strip()
        project = Path(os.environ["TMPDIR"]) / "tsconfig.json"
        sources = HERE.parents[1] / "console" / "web"
        project.write_text(
            f'{{"extends": "{sources}/tsconfig.json", "include": ["{sources}/src"], "compilerOptions": {{"baseUrl": "/", "types": [],'
            f' "paths": {{"@api": ["{page}/gen/api.ts"], "*": ["{packages}/node_modules/*"]}}}}}}'
        )
        done = subprocess.run(["node", modules / "typescript/bin/tsc", "-p", project], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(0, done.returncode, done.stdout)

    def _revisions(self) -> int:
        with urllib.request.urlopen(f"{self.url.rstrip('/')}/api/v1/settings", timeout=30) as answer:
            return len(json.loads(answer.read())["revisions"])

    def _has_kinds(self, api: cluster_data.Api) -> bool:
        try:
            api.call("GET", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics", {})
            api.call("GET", "/api/v1/namespaces/koordinator-system", {})
            return True
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
