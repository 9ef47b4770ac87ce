"""Base of tests of the Spark gateway between a real API server and a real ResourceManager: the gateway as a process, its Livy API, and what both sides have of it."""

import json
import os
import re
import ssl
import tempfile
import unittest
import urllib.error
import urllib.request

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from support.patience import PATIENCE_S
from support.yarn import Totals, Yarn, frameworks

PODS, CONFIGS, SERVICES = (f"/api/v1/namespaces/default/{kind}" for kind in ("pods", "configmaps", "services"))
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
ENDED = ("success", "dead", "killed")


class GatewayCase(unittest.TestCase):
    TOTALS = [Totals(memory_mib=4096, vcores=8)]
    JOBS = ("SleepingTasks",)  # programs of support/yarn/jobs in the jar
    CORE: dict[str, str] = {}  # of core-site.xml
    YARN_SITE: dict[str, str] = {}
    JAVA: list[str] = []  # options of YARN's JVMs
    SCHEME = "http"
    tls: ssl.SSLContext | None = None
    headers: dict[str, str] = {}

    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn(cls.TOTALS, core=cls.CORE, site=cls.YARN_SITE, java=cls.JAVA))
        cls.api = colocation.client()
        cls.addClassCleanup(cls.api.close)
        must(cls.api.request("POST", PRIORITIES, {"metadata": {"name": "koord-batch"}, "value": 5500}), 201, 409)
        cls.jar = frameworks.spark_jar(cls.yarn, *cls.JOBS)
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-gateway-"))

    def setUp(self):
        self.addCleanup(self.remove_drivers)

    def remove_drivers(self) -> None:
        """Runs of another gateway have the same numbers."""
        for pod in self.drivers():
            name = pod["metadata"]["name"]
            self.api.request("PATCH", f"{PODS}/{name}", {"metadata": {"finalizers": None}}, content=MERGE)
            self.api.request("DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)

    def begin(self, *more: str) -> Component:
        gateway = Component(
            "gateway", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration), "--data-dir", f"{self.folder}/{self._testMethodName}",
            "--listen=127.0.0.1:0", f"--spark-yarn-jars=local:{os.environ['TIDEMARK_SPARK_JARS']}/*", "--yarn-poll=1s", *more,
        )
        self.addCleanup(gateway.stop)
        self.gateway = gateway
        self.url = f"{self.SCHEME}://" + wait_for(lambda: (re.search(r"gateway serves .*address=(\S+)", gateway.log) or [None, None])[1], "an address", gateway)
        wait_for(lambda: self.ask("GET", "/readyz", raw=True), "readiness", gateway)
        return gateway

    def ask(self, method: str, path: str, body: dict | None = None, raw: bool = False):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body is not None else None, {"Content-Type": "application/json", **self.headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.tls) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            if raw:
                return ""
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}")
        return text if raw else json.loads(text)

    def post(self, args: tuple[str, ...] = ("4", "0"), **conf: str) -> int:
        local_ip = {f"spark.{part}.SPARK_LOCAL_IP": "127.0.0.1" for part in ("yarn.appMasterEnv", "executorEnv")}
        return self.ask("POST", "/batches", {
            "file": f"local://{self.jar}", "className": "SleepingTasks", "args": [*args], "name": "sleeping tasks", "driverMemory": "512m", "executorMemory": "512m", "numExecutors": 1,
            "conf": {"spark.kubernetes.container.image": "spark", "spark.yarn.stagingDir": f"file://{self.yarn.layout.scratch}/staging", **local_ip, **conf},
        })["id"]

    def batch(self, number: int) -> dict:
        return self.ask("GET", f"/batches/{number}")

    def wait_ended(self, number: int) -> dict:
        wait_for(lambda: self.batch(number)["state"] in ENDED, "the end of the batch", self.gateway, 2 * PATIENCE_S)
        return self.batch(number)

    def applications(self) -> list[dict]:
        return (self.yarn.rm.get("/ws/v1/cluster/apps")["apps"] or {}).get("app", [])

    def drivers(self) -> list[dict]:
        self.api.close()  # the server may have closed an idle connection
        return must(self.api.request("GET", f"{PODS}?labelSelector=spark-role%3Ddriver"))["items"]

    def driver(self) -> dict | None:
        return next(iter(self.drivers()), None)

    def driver_of(self, number: int) -> dict | None:
        return next((pod for pod in self.drivers() if pod["metadata"]["labels"]["tidemark.io/run"].endswith(f"-{number}")), None)

    def set_status(self, pod: dict, status: dict) -> None:
        must(self.api.request("PATCH", f"{PODS}/{pod['metadata']['name']}/status", {"status": status}, content=MERGE))

    @staticmethod
    def status_of(state: str, value: dict) -> dict:
        return {"name": "spark-kubernetes-driver", "image": "spark", "imageID": "", "ready": False, "restartCount": 0, "state": {state: value}}
