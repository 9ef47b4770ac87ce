"""A console without files beside it shows the past: it asks a manager and an agent through the API server, as the chart wires them."""

import json
import os
import re
import socket
import ssl
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import ACCOUNT, NAMESPACE, kubectl, must
from cluster.chart_roles import ChartRoles, asked_by
from cluster.colocation import MERGE
from cluster.test_manager import CAPACITY, STATUS
from cluster.tidemark_process import Component, wait_for

CONSOLE = "tidemark-console"
NODE = "past-node"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
AUDIENCE = "tidemark-past"
RECORD_S = 120  # an agent writes a line each half minute


def own_address() -> str:
    """The API server's proxy takes no loopback address. No packet is sent here."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


def past_token(account: str) -> str:
    return must(kubectl("create", "token", account, "--namespace", NAMESPACE, f"--audience={AUDIENCE}", "--duration=10m")).strip()


@chart.needs_helm
class Past(ChartRoles):
    def put_pod(self, component: str, process: Component) -> str:
        """What a kubelet would say of the pod of this process."""
        port = int(re.search(r"past served.* address=\S+:(\d+)", process.log)[1])
        name = f"past-{component}"
        labels = {"app.kubernetes.io/name": "tidemark", "app.kubernetes.io/component": component}
        spec = {"nodeName": NODE, "containers": [{"name": component, "image": "none", "ports": [{"name": "past", "containerPort": port}]}]}
        self.addCleanup(self.api.request, "DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
        colocation.must(self.api.request("POST", PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec}))
        status = {"phase": "Running", "podIP": self.address, "podIPs": [{"ip": self.address}]}
        colocation.must(self.api.request("PATCH", f"{PODS}/{name}/status", {"status": status}, content=MERGE))
        return f"{PODS}/https:{name}:{port}/proxy/past"

    def start_all(self) -> None:
        self.address = own_address()
        self.install({
            "console": {"enabled": True, "tlsSecret": "console-tls", "hosts": ["console.example"], "logFormat": "text"}, "agent": {"enabled": True, "podSource": "api-server"}, "webhooks": {"enabled": False},
        })
        served = {"--past-addr": f"{self.address}:0"}
        self.nodes = [NODE]
        colocation.put_settings(self.api, {"enable": True})
        colocation.put_node(self.api, NODE, capacity=CAPACITY)
        colocation.put_metric(self.api, NODE, STATUS)
        command = chart.command_here(chart.container(self.rendered), {"--journal-dir": f"{self.folder}/journal", **served})
        self.assertIn(f"--past-addr={self.address}:0", command, "the chart turns it on with the console")
        self.manager = Component(*command, "--kubeconfig", chart.kubeconfig_of(ACCOUNT, self.folder))
        self.components = [self.manager]
        self.addCleanup(self.manager.stop)
        wait_for(self.manager.ready, "a ready manager", self.manager)
        wait_for(lambda: self.manager.metrics().get("tidemark_journal_records_total", 0) >= 1, "a decision in the journal", self.manager)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        # It only observes: this machine is not the node.
        self.agent = Component(
            "agent", "--node-name", NODE, "--kubeconfig", chart.kubeconfig_of("tidemark-agent", self.folder), "--metrics-addr", "127.0.0.1:0", "--mode", "observe", "--pod-source", "api-server",
            "--run-dir", f"{folder}/run", "--latch-file", f"{folder}/latch", "--state-dir", f"{folder}/state", "--reaction=false", "--past-addr", served["--past-addr"],
        )
        self.components.append(self.agent)
        self.addCleanup(self.agent.stop)
        record = Path(f"{folder}/state/record.jsonl")
        wait_for(lambda: record.exists() and record.stat().st_size > 0, "a line of the agent's record", self.agent, RECORD_S)
        self.of_manager = self.put_pod("manager", self.manager)
        self.of_agent = self.put_pod("agent", self.agent)

    def laptop(self) -> str:
        console = Component("console", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--listen=127.0.0.1:0")
        self.addCleanup(console.stop)
        return wait_for(lambda: re.search(r"^console +(http://\S+)$", console.log, re.M), "the address of the console", console)[1]

    def read(self, url: str, path: str, cookie: str = "", **query) -> dict:
        request = urllib.request.Request(f"{url}api/v1/{path}?{urllib.parse.urlencode(query)}", headers={"Cookie": cookie})
        with urllib.request.urlopen(request, context=ssl._create_unverified_context() if url.startswith("https") else None, timeout=60) as answer:
            return json.loads(answer.read())

    def shows_the_past(self, url: str, cookie: str = "") -> None:
        offer = self.read(url, "past/offer", cookie, node=NODE)
        self.assertEqual(17200, offer.get("kubernetes.io/batch-cpu", {}).get("published"), offer)
        self.assertIn("begins at", self.read(url, "past/offer", cookie, node=NODE, at=1_500_000_000)["unknown"])
        record = wait_for(lambda: (found := self.read(url, "past/record", cookie, node=NODE)).get("records") and found, "the record on the page")
        self.assertEqual(NODE, record["node"])
        self.assertIn("no agent runs on node elsewhere", self.read(url, "past/record", cookie, node="elsewhere")["unknown"])
        incident = self.read(url, "past/incident", cookie, node=NODE, namespace="default", name="web-0")
        self.assertEqual("cannotTell", incident.get("verdict"), incident)
        decisions = self.read(url, "decisions", cookie, node=NODE)
        self.assertEqual((1, 1), (decisions["journals"], decisions["audits"]), decisions["notes"])
        self.assertEqual({"journal", "audit"}, {each["source"] for each in decisions["decisions"]} - {"event"}, decisions)

    def test_the_past_without_files(self):
        self.start_all()
        with self.subTest("with a kubeconfig"):
            self.shows_the_past(self.laptop())
        with self.subTest("as the chart runs it"):
            token = Path(self.folder) / "token"
            token.write_text(past_token(CONSOLE))
            pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
            own = {"--listen": "127.0.0.1:0", "--tls-cert-file": str(pki / "server.crt"), "--tls-key-file": str(pki / "server.key"), "--past-token-file": str(token)}
            _, *flags = chart.command_here(chart.container(self.rendered, "console"), own)
            console = self.see_console(CONSOLE, *flags)
            url = re.search(r"^console +(https://\S+)$", console.log, re.M)[1]
            login = urllib.request.Request(f"{url}api/v1/login", json.dumps({"token": chart.token("viewer")}).encode(), {"Content-Type": "application/json", "X-Tidemark-Console": "1"})
            with urllib.request.urlopen(login, context=ssl._create_unverified_context(), timeout=30) as answer:
                cookie = answer.headers["Set-Cookie"].partition(";")[0]
            self.shows_the_past(url, cookie)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.read(url, "past/record", node=NODE)
            self.assertEqual(401, refused.exception.code)
            self.assertEqual(0, console.stop())
            for account in (CONSOLE, ACCOUNT):
                self.assertEqual([], asked_by(account, self.since)[1])
        with self.subTest("who may not"):
            self.who_may_not()

    def who_may_not(self) -> None:
        viewer = chart.client_of("viewer")
        self.addCleanup(viewer.close)
        good = {"Tidemark-Token": past_token(CONSOLE)}
        for path in (f"{self.of_manager}/offer?node={NODE}&at=1", f"{self.of_agent}/record?from=1&to=2"):
            with self.subTest(path):
                self.assertEqual(403, viewer.request("GET", path, headers=good).status, "no right to the way")
                for headers, status, text in (
                    ({}, 401, "a token of audience tidemark-past is needed"),
                    ({"Tidemark-Token": chart.token(CONSOLE)}, 401, "does not accept this token for audience tidemark-past"),
                    ({"Tidemark-Token": past_token("viewer")}, 403, "system:serviceaccount:koordinator-system:viewer may not get /tidemark/past"),
                ):
                    answer = self.api.request("GET", path, headers=headers)
                    self.assertEqual((status, True), (answer.status, text in answer.body.decode()), answer.body)
                self.assertNotIn(self.api.request("GET", path, headers=good).status, (401, 403))
                self.assertEqual(405, self.api.request("POST", path, {}, headers=good).status)


if __name__ == "__main__":
    unittest.main()
