"""Base of tests of the Spark gateway on two real sides: drivers and executors run as pods of a real kubelet, and as containers of a real YARN."""

import json
import os
import unittest
from pathlib import Path

if "TIDEMARK_KUBELET" not in os.environ:
    raise unittest.SkipTest("cannot create a node here")

from cluster.colocation import MERGE, must
from cluster.tidemark_process import wait_for
from node.test_node import new_node
from support.patience import PATIENCE_S
from support.ports import free
from yarn.gateway_case import PODS, GatewayCase
from yarn.spark_pods import IMAGE, SparkPods

LIMIT_S = 2 * PATIENCE_S


class TwoSidesCase(GatewayCase):
    number: int  # of the run that the test waits for

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.node = cls.enterClassContext(new_node(name="localhost"))
        cls.token = Path(os.environ["TIDEMARK_TEST_TOKEN_FILE"])
        cls.authority = Path(os.environ["TIDEMARK_TEST_CA_FILE"])
        batch = {"kubernetes.io/batch-cpu": "8k", "kubernetes.io/batch-memory": "8Gi"}
        must(cls.api.request("PATCH", f"/api/v1/nodes/{cls.node.name}/status", {"status": {"capacity": batch, "allocatable": batch}}, content=MERGE))
        folders = sorted({cls.yarn.layout.folder, cls.token.parent, cls.authority.parent})
        cls.enterClassContext(SparkPods(cls.api, cls.node.name, folders, Path(cls.folder)))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_pods)  # no garbage collector runs

    @classmethod
    def end_pods(cls) -> None:
        for pod in cls.pods_of("driver") + cls.pods_of("executor"):
            name = pod["metadata"]["name"]
            cls.api.request("PATCH", f"{PODS}/{name}", {"metadata": {"finalizers": None}}, content=MERGE)
            cls.api.request("DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)

    @classmethod
    def pods_of(cls, role: str) -> list[dict]:
        cls.api.close()  # the server may have closed an idle connection
        return must(cls.api.request("GET", f"{PODS}?labelSelector=spark-role%3D{role}"))["items"]

    def conf(self) -> dict[str, str]:
        """The properties with which a job runs on each of the two sides here."""
        mounted = "spark.kubernetes.authenticate.driver.mounted"
        driver_port, blocks_port = free(2)  # the pods use the machine's network
        return {
            "spark.kubernetes.container.image": IMAGE, "spark.kubernetes.container.image.pullPolicy": "Never", "spark.ui.enabled": "false",
            "spark.driver.port": str(driver_port), "spark.driver.blockManager.port": str(blocks_port),
            "spark.kubernetes.driver.master": os.environ["TIDEMARK_TEST_SERVER"], f"{mounted}.oauthTokenFile": str(self.token), f"{mounted}.caCertFile": str(self.authority),
            "spark.yarn.stagingDir": f"file://{self.yarn.layout.scratch}/staging", "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
            "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
        }

    def evict(self, pod: dict) -> None:
        meta = pod["metadata"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": meta["name"], "namespace": meta["namespace"]}}
        must(self.api.request("POST", f"{PODS}/{meta['name']}/eviction", eviction))

    def why(self) -> str:
        logs = [f"---- {file.parent.name}\n{file.read_text(errors='replace')[-3000:]}" for file in (self.node.layout.state / "pod-logs").glob("*/*/*.log")]
        states = [json.dumps(pod["status"])[:1500] for pod in self.pods_of("driver") + self.pods_of("executor")]
        return "\n".join([self.gateway.log[-3000:], *states, *logs])

    def wait(self, question, what: str, limit_s: float = LIMIT_S):
        def unless_ended():
            if (answer := question()) or self.batch(self.number)["state"] not in ("dead", "killed"):
                return answer
            raise AssertionError(f"the run ended before {what}")

        try:
            return wait_for(unless_ended, what, self.gateway, limit_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.why()}")

    def running_executor(self) -> dict | None:
        return next((pod for pod in self.pods_of("executor") if pod["status"].get("phase") == "Running"), None)
