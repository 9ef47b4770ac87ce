"""Runs of a real Spark gateway on the page Spark. A thread of the test is the kubelet of the drivers; each person sees the page by the own token of the gateway."""

import hashlib
import json
import os
import re
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

from browser.people import NAMESPACE, SETTINGS, RealApi, WithPeople
from cluster import colocation
from cluster.tidemark_process import Component, wait_for

HERE = Path(__file__).parent
LIMIT_S = 300
TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob", "eve": "token-of-eve"}
BUSINESS = {"ann": "ads", "bob": "search", "eve": "platform"}
NODE = "browser-spark-1"
USE = {"nodeMetric": {"nodeUsage": {"resources": {"cpu": "2", "memory": "4Gi"}}, "systemUsage": {"resources": {"cpu": "2", "memory": "4Gi"}}}, "podsMetric": []}
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


class Spark(WithPeople, unittest.TestCase):
    def setUp(self):
        self.api = self.people_api = RealApi()
        self.cluster = colocation.client()
        self.addCleanup(self.cluster.close)
        for name in (NAMESPACE, SETTINGS):
            self.api.make("/api/v1/namespaces", {"metadata": {"name": name}})
        self.api.make(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        self.api.make("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "koord-batch"}, "value": 5500})
        self.addCleanup(self.api.drop, f"/api/v1/nodes/{NODE}")
        colocation.put_node(self.cluster, NODE, capacity={"cpu": "32", "memory": "128Gi", "pods": "110"})
        colocation.put_metric(self.cluster, NODE, USE)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        access = self.folder / "access.yaml"
        users = [{"name": name, "business": BUSINESS[name], "admin": name == "eve", "tokenSha256": [hashlib.sha256(token.encode()).hexdigest()]} for name, token in TOKENS.items()]
        access.write_text(json.dumps({"schema": 1, "users": users, "businesses": [{"name": each} for each in BUSINESS.values()]}))
        self.gateway = Component(
            "gateway", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--data-dir", str(self.folder / "gateway"), "--listen=127.0.0.1:0", f"--access-file={access}", "--spark-image=i",
        )
        self.addCleanup(self.gateway.stop)
        self.addCleanup(self._remove_drivers)
        self.gateway_url = "http://" + wait_for(lambda: (re.search(r"gateway serves .*address=(\S+)", self.gateway.log) or [None, None])[1], "an address", self.gateway)
        form = ("--gateway", self.gateway_url, "--core-hour-price", "360 EUR")
        kubeconfig = os.environ["TIDEMARK_TEST_KUBECONFIG"]
        self.console, self.url = self.start_console(kubeconfig, *form)
        own = self.folder / "token"
        own.write_text(TOKENS["ann"])
        _, self.own_url = self.start_console(kubeconfig, *form, "--gateway-token-file", str(own))

    def _remove_drivers(self) -> None:
        for pod in self._drivers():
            self.api.call("PATCH", f"{PODS}/{pod}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            self.api.drop(f"{PODS}/{pod}", {"gracePeriodSeconds": 0})

    def _drivers(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.api.call("GET", PODS, {})["items"] if pod["metadata"].get("labels", {}).get("spark-role") == "driver"]

    def _ask(self, method: str, path: str, user: str, body: dict | None = None) -> dict:
        headers = {"content-type": "application/json", "authorization": f"Bearer {TOKENS[user]}"}
        request = urllib.request.Request(self.gateway_url + path, None if body is None else json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def _submit(self, user: str) -> int:
        conf = {"spark.kubernetes.namespace": NAMESPACE}
        return self._ask("POST", "/batches", user, {"file": "local:///opt/report.jar", "className": "Report", "name": f"report of {user}", "numExecutors": 3, "conf": conf})["id"]

    def _driver_of(self, user: str, number: int) -> str:
        def submitted() -> str:
            attempts = self._ask("GET", f"/batches/{number}", user)["attempts"]
            name = attempts[0]["handle"] if attempts else ""
            return name if name in self._drivers() else ""

        return wait_for(submitted, "the driver pod", self.gateway)

    def _status(self, pod: str, phase: str, state: dict) -> None:
        status = {"name": "spark-kubernetes-driver", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        self.api.status(f"{PODS}/{pod}", {"phase": phase, "containerStatuses": [status]})

    def test_spark(self):
        first, second = self._submit("ann"), self._submit("bob")
        driver = self._driver_of("ann", first)
        self._status(driver, "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})
        wait_for(lambda: self._ask("GET", f"/batches/{first}", "ann")["state"] == "running", "the run to be seen", self.gateway)
        time.sleep(2)  # the run lasts two seconds
        self._status(driver, "Succeeded", {"terminated": {"exitCode": 0, "reason": "Completed"}})
        wait_for(lambda: self._ask("GET", f"/batches/{first}", "ann")["state"] == "success", "the end of the run", self.gateway)
        self.run_in_browser(
            HERE / "spark.test.mjs", LIMIT_S, self.console, self.gateway,
            TIDEMARK_CONSOLE_URL=self.url, TIDEMARK_OWN_URL=self.own_url, TIDEMARK_TOKENS=json.dumps(TOKENS), TIDEMARK_DRIVER=driver, TIDEMARK_RUNS=json.dumps([first, second]),
            TIDEMARK_CONTROL_URL=self.control_server(lambda what: self.gateway.stop() if what == "stop" else None),
        )
        for token in TOKENS.values():
            self.assertNotIn(token, self.console.log)


if __name__ == "__main__":
    unittest.main()
