"""The account of the console in deploy/chart may read what the page shows, ask whose token a login has, and write nothing."""

import json
import os
import re
import ssl
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import NAMESPACE
from cluster.chart_roles import PODS, SECRETS, ChartRoles, asked_by, grants_of
from cluster.colocation import SETTINGS
from cluster.test_manager import CAPACITY, STATUS
from cluster.tidemark_process import wait_for

CONSOLE = "tidemark-console"
READER = "roles-reader"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NODES_AND_PODS = ("api/v1/summary", "api/v1/nodes", "api/v1/problems", "api/v1/history", "api/v1/offline", "api/v1/online")
NEEDS_MORE = (
    "api/v1/nodes/roles-console", "api/v1/pools", "api/v1/pools/default", "api/v1/calendar?pool=default", "api/v1/budgets", "api/v1/orders", "api/v1/decisions", "api/v1/yarn", "api/v1/platform",
    "api/v1/past/record?node=roles-console",
)


@chart.needs_helm
class ConsolesRole(ChartRoles):
    def test_the_consoles_role_is_enough_to_read_and_allows_no_write(self):
        self.install({"console": {"enabled": True, "tlsSecret": "console-tls", "hosts": ["console.example"], "logFormat": "text"}})
        self.nodes = ["roles-console"]
        colocation.put_node(self.api, "roles-console", capacity=CAPACITY)
        colocation.put_metric(self.api, "roles-console", STATUS)
        pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
        served = {"--listen": "127.0.0.1:0", "--tls-cert-file": str(pki / "server.crt"), "--tls-key-file": str(pki / "server.key")}
        _, *flags = chart.command_here(chart.container(self.rendered, "console"), served)
        console = self.see_console(CONSOLE, *flags)
        url = re.search(r"^console +(https://\S+)$", console.log, re.M)[1]
        context = ssl._create_unverified_context()

        def ask(path: str, body: dict | None = None, **headers: str):
            request = urllib.request.Request(url + path, json.dumps(body).encode() if body else None, {"Content-Type": "application/json", "X-Tidemark-Console": "1", **headers})
            return urllib.request.urlopen(request, context=context, timeout=30)

        with ask("api/v1/login", {"token": chart.token("viewer")}) as answer:
            self.assertEqual(f"system:serviceaccount:{NAMESPACE}:viewer", json.loads(answer.read())["user"])
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
        def node() -> dict | None:
            try:
                with ask("api/v1/nodes/roles-console", Cookie=cookie) as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as error:
                self.assertEqual(404, error.code)
                return None

        shown = wait_for(node, "the node on the page", console)
        self.assertIsNone(shown["explanationError"])
        self.assertFalse([note for note in shown["explanation"]["notes"] if "could not be read" in note])
        for path in (*NEEDS_MORE, *NODES_AND_PODS):
            with ask(path, Cookie=cookie) as answer:
                self.assertNotIn("Forbidden", answer.read().decode(), path)
        self._reader()
        with ask("api/v1/login", {"token": chart.token(READER)}) as answer:
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
        for path in NODES_AND_PODS:
            with ask(path, Cookie=cookie) as answer:
                self.assertEqual(200, answer.status, path)
        for path in NEEDS_MORE:
            with self.subTest(path), self.assertRaises(urllib.error.HTTPError) as refused:
                ask(path, Cookie=cookie)
            self.assertEqual(403, refused.exception.code, path)
        self.assertEqual(0, console.stop())
        self.assertEqual([], asked_by(CONSOLE, self.since)[1])
        self.assertEqual({"get", "list", "watch"}, {grant.verb for grant in grants_of(self.rendered, CONSOLE) if grant.resource != "tokenreviews"})
        own = chart.client_of(CONSOLE)
        self.addCleanup(own.close)
        for method, path, body in (
            ("PATCH", "/api/v1/nodes/roles-console", {"metadata": {"labels": {"tidemark.io/state": "off"}}}), ("DELETE", f"{PODS}/any", None), ("POST", f"{PODS}/any/eviction", {"metadata": {"name": "any"}}),
            ("POST", SETTINGS, {"metadata": {"name": "any"}}), ("GET", SECRETS, None), ("GET", SETTINGS, None),
        ):
            with self.subTest(method, path=path):
                self.assertEqual(403, own.request(method, path, body).status)

    def _reader(self) -> None:
        """A person who may list nodes and pods, and nothing else."""
        subjects = [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": READER}]
        for path, body in (
            (f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {}),
            (f"{RBAC}/clusterroles", {"rules": [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}]}),
            (f"{RBAC}/clusterrolebindings", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER}, "subjects": subjects}),
        ):
            colocation.must(self.api.request("POST", path, {"metadata": {"name": READER}, **body}))
            self.addCleanup(self.api.request, "DELETE", f"{path}/{READER}")


if __name__ == "__main__":
    unittest.main()
