"""The roles of the gateway in deploy/chart grant exactly what is needed, as test_chart_roles.py tests it for the manager."""

import base64
import hashlib
import json
import os
import re
import ssl
import unittest
import urllib.request
from pathlib import Path

from cluster import chart
from cluster.chart import NAMESPACE
from cluster.chart_roles import PODS, SECRETS, ChartRoles, asked_by, grants_of, spare
from cluster.colocation import MERGE, SETTINGS, must
from cluster.tidemark_process import Component, wait_for
from support.patience import PATIENCE_S
from support.spark_operator import apply_definitions

GATEWAY = "tidemark-gateway"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
TOKEN = "ann's token"
SPARK = "spark-jobs"
APPLICATIONS = f"/apis/sparkoperator.k8s.io/v1beta2/namespaces/{SPARK}/sparkapplications"


@chart.needs_helm
class GatewaysRole(ChartRoles):
    def start_gateway(self, **values) -> Component:
        """As the chart's Deployment does, with the files of its Secrets and a free port."""
        self.install({"gateway": {"enabled": True, "tlsSecret": "gateway-tls", "accessSecret": "gateway-access", "sparkNamespaces": [SPARK], "sparkImage": "spark", "logFormat": "text", **values}})
        access = Path(self.folder, "access.yaml")
        access.write_text(json.dumps({
            "schema": 1, "users": [{"name": "ann", "business": "ads", "tokenSha256": [hashlib.sha256(TOKEN.encode()).hexdigest()]}], "businesses": [{"name": "ads"}],
        }))
        pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
        here = {"--listen": "127.0.0.1:0", "--access-file": str(access), "--tls-cert-file": str(pki / "server.crt"), "--tls-key-file": str(pki / "server.key"), "--data-dir": f"{self.folder}/runs", "--audit-file": f"{self.folder}/audit"}
        command = chart.command_here(chart.container(self.rendered, "gateway"), here)
        gateway = Component(*command, "--kubeconfig", chart.kubeconfig_of(GATEWAY, self.folder))
        self.addCleanup(gateway.stop)
        wait_for(gateway.ready, "a ready gateway", gateway)
        self.url = "https://" + re.search(r"gateway serves .*address=(\S+)", gateway.log)[1]
        return gateway

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        proof = base64.b64encode(f"ann:{TOKEN}".encode()).decode()
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body else None, {"Content-Type": "application/json", "Authorization": f"Basic {proof}"}, method=method)
        with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=30) as answer:
            return json.loads(answer.read())

    def post(self) -> int:
        return self.ask("POST", "/batches", {"file": "local:///a.jar", "className": "A"})["id"]

    def driver_of(self, number: int) -> dict | None:
        pods = must(self.api.request("GET", f"/api/v1/namespaces/{SPARK}/pods"))["items"]
        return next((pod for pod in pods if pod["metadata"]["labels"].get("tidemark.io/run", "").endswith(f"-{number}")), None)

    def wait_for_state(self, number: int, state: str, gateway: Component) -> None:
        wait_for(lambda: self.ask("GET", f"/batches/{number}")["state"] == state, f"the state {state}", gateway)

    def make_namespace(self) -> None:
        self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": SPARK}})
        self.api.request("POST", f"/api/v1/namespaces/{SPARK}/serviceaccounts", {"metadata": {"name": "default"}})
        must(self.api.request("POST", PRIORITIES, {"metadata": {"name": "koord-batch"}, "value": 5500}), 201, 409)
        self.addCleanup(self.remove_drivers)

    def remove_drivers(self) -> None:
        """Runs of another gateway have the same numbers."""
        self.api.close()
        for pod in must(self.api.request("GET", f"/api/v1/namespaces/{SPARK}/pods"))["items"]:
            path = f"/api/v1/namespaces/{SPARK}/pods/{pod['metadata']['name']}"
            self.api.request("PATCH", path, {"metadata": {"finalizers": None}}, content=MERGE)
            self.api.request("DELETE", path, gracePeriodSeconds=0)

    def run_drivers(self, gateway: Component) -> None:
        """One that succeeds, and one whose run is cancelled."""
        succeeds, cancelled = self.post(), self.post()
        status = {"name": "spark-kubernetes-driver", "image": "spark", "imageID": "", "ready": False, "restartCount": 0}
        pod = wait_for(lambda: self.driver_of(succeeds), "a driver pod", gateway)
        self.wait_for_state(succeeds, "starting", gateway)
        for phase, state in (("Running", {"running": {"startedAt": None}}), ("Succeeded", {"terminated": {"exitCode": 0, "startedAt": None, "finishedAt": None}})):
            must(self.api.request("PATCH", f"/api/v1/namespaces/{SPARK}/pods/{pod['metadata']['name']}/status", {"status": {"phase": phase, "containerStatuses": [{**status, "state": state}]}}, content=MERGE))
            self.wait_for_state(succeeds, "running" if phase == "Running" else "success", gateway)
        wait_for(lambda: self.driver_of(cancelled), "a driver pod", gateway)
        self.ask("DELETE", f"/batches/{cancelled}")
        self.wait_for_state(cancelled, "killed", gateway)

    def grants_are_exact(self, gateway: Component):
        self.assertEqual(0, gateway.stop())
        own = chart.client_of(GATEWAY)
        self.addCleanup(own.close)
        # The removal of old fences, after an hour.
        must(own.request("GET", f"/api/v1/namespaces/{SPARK}/configmaps?labelSelector=tidemark.io%2Ffence"))
        given = grants_of(self.rendered, GATEWAY)
        asked, forbidden = asked_by(GATEWAY, self.since)
        self.assertEqual([], forbidden)
        self.assertEqual([], spare(given, asked))
        return own

    def application_of(self, number: int) -> dict | None:
        objects = must(self.api.request("GET", APPLICATIONS))["items"]
        return next((each for each in objects if each["metadata"]["labels"]["tidemark.io/run"].endswith(f"-{number}")), None)

    def test_with_spark_operator_the_gateways_roles_grant_its_objects_too(self):
        """The test plays the operator."""
        self.make_namespace()
        gateway = self.start_gateway(sparkOperator=True)
        self.run_drivers(gateway)  # the API server has no SparkApplications yet
        definitions = os.environ["TIDEMARK_TEST_SPARK_OPERATOR_DEFINITIONS"]
        apply_definitions(os.environ, definitions)
        self.addCleanup(chart.run, [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "delete", "--wait=false", "-f", definitions])
        fails, cancelled = self.post(), self.post()
        made = wait_for(lambda: self.application_of(fails), "a SparkApplication", gateway, PATIENCE_S)
        failed = {"status": {"applicationState": {"state": "FAILED", "errorMessage": "no such class"}, "driverInfo": {}}}
        must(self.api.request("PATCH", f"{APPLICATIONS}/{made['metadata']['name']}/status", failed, content=MERGE))
        self.wait_for_state(fails, "dead", gateway)
        wait_for(lambda: self.application_of(cancelled), "a SparkApplication", gateway, PATIENCE_S)
        self.ask("DELETE", f"/batches/{cancelled}")
        self.wait_for_state(cancelled, "killed", gateway)
        self.grants_are_exact(gateway)

    def test_the_gateways_roles_grant_exactly_what_is_needed(self):
        self.make_namespace()
        gateway = self.start_gateway()
        self.run_drivers(gateway)
        own = self.grants_are_exact(gateway)
        for method, path, body in (
            ("GET", SECRETS, None), ("GET", f"/api/v1/namespaces/{SPARK}/secrets", None), ("GET", SETTINGS, None), ("GET", f"{PODS}/any", None), ("DELETE", f"{PODS}/any", None),
            ("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", {"metadata": {"name": "any"}}), ("GET", "/api/v1/configmaps", None), ("GET", "/api/v1/nodes/any", None), ("GET", f"/api/v1/namespaces/{SPARK}/resourcequotas/any", None),
            ("POST", f"/api/v1/namespaces/{SPARK}/pods/any/exec", None), ("DELETE", f"/api/v1/namespaces/{SPARK}/services/any", None), ("GET", APPLICATIONS, None),
        ):
            with self.subTest(method, path=path):
                self.assertEqual(403, own.request(method, path, body).status)


if __name__ == "__main__":
    unittest.main()
