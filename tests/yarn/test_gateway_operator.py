"""Runs as SparkApplication objects of a real Spark Operator, with the spark-submit of pyspark, on a real API server. No kubelet runs: the test reports the status of
driver pods."""

import os
import subprocess
import time
import unittest
from pathlib import Path

if "TIDEMARK_PYSPARK" not in os.environ or "TIDEMARK_TEST_SPARK_OPERATOR" not in os.environ:
    raise unittest.SkipTest("pyspark or Spark Operator cannot be installed here")

from cluster.colocation import MERGE, must
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.spark_operator import APPLICATIONS, SparkOperator, peers_environment
from yarn.gateway_case import CONFIGS, PODS, GatewayCase
from yarn.test_gateway_spark_submit import spark_home

RUNNING = {"phase": "Running", "containerStatuses": [GatewayCase.status_of("running", {"startedAt": None})]}
SUCCEEDED = {"phase": "Succeeded", "containerStatuses": [GatewayCase.status_of("terminated", {"exitCode": 0})]}
EVICTED = {
    "phase": "Failed", "reason": "Evicted", "containerStatuses": [GatewayCase.status_of("terminated", {"exitCode": 143})],
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "", "lastTransitionTime": None}],
}
KUBERNETES = {"spark.tidemark.side": "kubernetes"}


class Operator(GatewayCase):
    TOTALS = []

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        environment = peers_environment(dict(os.environ), Path(spark_home()), os.environ["TIDEMARK_JAVA"])
        cls.operator = cls.enterClassContext(SparkOperator(
            Path(os.environ["TIDEMARK_TEST_SPARK_OPERATOR"]), Path(os.environ["TIDEMARK_TEST_SPARK_OPERATOR_DEFINITIONS"]), environment, Path(cls.folder),
        ))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.remove_applications)
        self.begin("--spark-operator")

    def remove_applications(self) -> None:
        for each in self.applications_of_operator():
            name = each["metadata"]["name"]
            self.api.request("PATCH", f"{APPLICATIONS}/{name}", {"metadata": {"finalizers": None}}, content=MERGE)
            self.api.request("DELETE", f"{APPLICATIONS}/{name}")

    def applications_of_operator(self) -> list[dict]:
        self.api.close()
        return must(self.api.request("GET", APPLICATIONS))["items"]

    def application(self) -> dict | None:
        return next(iter(self.applications_of_operator()), None)

    def state(self) -> str:
        found = self.application() or {}
        return found.get("status", {}).get("applicationState", {}).get("state", "")

    def wait_driver(self) -> dict:
        """Of the object, not a late one of an earlier test, whose gateway no longer deletes it."""
        def driver() -> dict | None:
            name = f"{self.application()['metadata']['name']}-driver" if self.application() else ""
            return next((each for each in self.drivers() if each["metadata"]["name"] == name), None)

        return wait_for(driver, "a driver pod of the operator", self.gateway, PATIENCE_S)

    def wait_state(self, number: int, state: str) -> None:
        wait_for(lambda: self.batch(number)["state"] == state, f"state {state}", self.gateway, PATIENCE_S)

    def wait_at_yarn(self, number: int) -> None:
        """YARN has no node: the application waits."""
        def accepted() -> bool:
            handle = self.batch(number)["attempts"][-1]["handle"]
            return any((each["id"], each["state"]) == (handle, "ACCEPTED") for each in self.applications())

        wait_for(accepted, "an application at YARN", self.gateway, PATIENCE_S)

    def test_a_run_is_a_spark_application_whose_driver_is_offline_work(self):
        number = self.post(**KUBERNETES)
        pod, made = self.wait_driver(), self.application()
        self.assertEqual({"type": "Never"}, made["spec"]["restartPolicy"])
        self.assertNotIn("timeToLiveSeconds", made["spec"])
        self.assertEqual(f"{made['metadata']['name']}-driver", pod["metadata"]["name"])
        self.assertEqual(["tidemark.io/end-is-read"], pod["metadata"]["finalizers"])
        self.assertEqual(("BE", "true"), tuple(pod["metadata"]["labels"][each] for each in ("koordinator.sh/qosClass", "sparkoperator.k8s.io/launched-by-spark-operator")))
        self.assertEqual("koord-batch", pod["spec"]["priorityClassName"])
        variable = next(each for each in pod["spec"]["containers"][0]["env"] if each["name"] == "TIDEMARK_RUN")
        source = variable["valueFrom"]["configMapKeyRef"]
        start = must(self.api.request("GET", f"{CONFIGS}/{source['name']}"))
        self.assertIn(source["key"], start["data"])
        self.assertEqual([made["metadata"]["uid"]], [each["uid"] for each in start["metadata"]["ownerReferences"]])
        self.set_status(pod, RUNNING)
        self.wait_state(number, "running")
        self.assertEqual(pod["metadata"]["labels"]["spark-app-selector"], self.batch(number)["appId"])
        self.set_status(pod, SUCCEEDED)
        self.assertEqual("success", self.wait_ended(number)["state"], self.gateway.log[-3000:])
        wait_for(lambda: self.state() == "COMPLETED", "the operator sees the end", self.gateway, PATIENCE_S)
        kept = self.application()
        self.assertEqual((24 * 3600, []), (kept["spec"]["timeToLiveSeconds"], kept["metadata"].get("finalizers", [])))
        explained = subprocess.run([os.environ["TIDEMARK_BINARY"], "explain", "run", str(number), "--gateway", self.url], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertIn("way: spark-operator", explained.stdout + explained.stderr)

    def test_a_driver_that_is_evicted_goes_on_at_yarn(self):
        number = self.post(**KUBERNETES, **{"spark.tidemark.rerunSafe": "true"})
        pod = self.wait_driver()
        self.set_status(pod, RUNNING)
        self.wait_state(number, "running")
        self.set_status(pod, EVICTED)
        self.wait_at_yarn(number)
        attempts = self.batch(number)["attempts"]
        self.assertEqual(["infrastructure", "kubernetes", "yarn"], [attempts[0]["end"], attempts[0]["side"], attempts[1]["side"]])
        self.assertEqual(1, len(self.drivers()))

    def test_a_move_waits_for_the_executors_of_a_driver_pod_that_is_gone(self):
        """The id of the application goes with the pod."""
        number = self.post(**KUBERNETES, **{"spark.tidemark.rerunSafe": "true"})
        pod = self.wait_driver()
        self.set_status(pod, RUNNING)
        self.wait_state(number, "running")
        prefix = "spark.kubernetes.executor.label."  # as the driver labels its executors
        labels = {key.removeprefix(prefix): value for key, value in self.application()["spec"]["sparkConf"].items() if key.startswith(prefix)}
        executor = f"{PODS}/executor-of-{number}"
        must(self.api.request("POST", PODS, {
            "metadata": {
                "name": f"executor-of-{number}", "finalizers": ["example.com/stops"],
                "labels": {**labels, "spark-role": "executor", "spark-exec-id": "1", "spark-app-selector": pod["metadata"]["labels"]["spark-app-selector"]},
            },
            "spec": {"containers": [{"name": "spark-kubernetes-executor", "image": "spark"}]},
        }))
        self.addCleanup(self.api.request, "DELETE", executor, gracePeriodSeconds=0)
        self.addCleanup(self.api.request, "PATCH", executor, {"metadata": {"finalizers": None}}, content=MERGE)
        self.set_status(pod, EVICTED)
        wait_for(lambda: must(self.api.request("GET", executor))["metadata"].get("deletionTimestamp"), "the executor stops", self.gateway, PATIENCE_S)
        self.remove_drivers()
        begin = time.monotonic()
        wait_for(lambda: time.monotonic() - begin > 15, "several more tries", self.gateway)
        self.assertEqual(1, len(self.batch(number)["attempts"]))
        must(self.api.request("PATCH", executor, {"metadata": {"finalizers": None}}, content=MERGE))
        self.wait_at_yarn(number)

    def test_what_spark_submit_of_the_operator_refuses_ends_the_run_with_its_words(self):
        number = self.post(**KUBERNETES, **{"spark.kubernetes.driver.label.stage": "no label!"})
        self.assertEqual("dead", self.wait_ended(number)["state"], self.gateway.log[-3000:])
        self.assertRegex("\n".join(self.batch(number)["log"]), "Spark Operator: Exception in thread .*a valid label must")
        self.assertEqual([], self.drivers())

    def test_a_cancel_deletes_the_object_and_no_late_driver_stays(self):
        for wait in (lambda: self.driver(), lambda: self.application()):  # before and while the operator runs spark-submit
            with self.subTest():
                number = self.post(**KUBERNETES)
                wait_for(wait, "an object of the run", self.gateway, PATIENCE_S)
                self.ask("DELETE", f"/batches/{number}")
                self.assertEqual("killed", self.wait_ended(number)["state"], self.gateway.log[-3000:])
                wait_for(lambda: self.application() is None, "the object goes", self.gateway, PATIENCE_S)
                begin = time.monotonic()
                wait_for(lambda: time.monotonic() - begin > 15, "a late driver", self.gateway)  # spark-submit needs some seconds
                self.assertEqual([], self.drivers())

    def test_a_gateway_that_is_killed_beside_the_operator_has_one_driver_afterwards(self):
        number = self.post(**KUBERNETES)
        wait_for(self.application, "an object", self.gateway, PATIENCE_S)
        self.gateway.kill()
        self.begin("--spark-operator")
        pod = self.wait_driver()
        self.gateway.kill()
        self.set_status(pod, SUCCEEDED)
        wait_for(lambda: self.state() == "COMPLETED", "the operator sees the end", None, PATIENCE_S)
        self.begin("--spark-operator")
        self.assertEqual("success", self.wait_ended(number)["state"], self.gateway.log[-3000:])
        self.assertEqual([pod["metadata"]["uid"]], [each["metadata"]["uid"] for each in self.drivers()])
        self.assertEqual(1, len(self.applications_of_operator()))

    def test_the_end_of_a_driver_is_read_although_a_user_deleted_object_and_pod(self):
        number = self.post(**KUBERNETES)
        pod = self.wait_driver()
        self.set_status(pod, RUNNING)
        self.wait_state(number, "running")
        self.gateway.kill()
        must(self.api.request("DELETE", f"{APPLICATIONS}/{self.application()['metadata']['name']}"))
        wait_for(lambda: self.driver()["metadata"].get("deletionTimestamp"), "the operator deletes the pod", None, PATIENCE_S)
        self.set_status(pod, SUCCEEDED)  # it ended at the same time
        self.begin("--spark-operator")
        self.assertEqual("success", self.wait_ended(number)["state"], self.gateway.log[-3000:])
        wait_for(lambda: self.application() is None and self.driver() is None, "both go", self.gateway, PATIENCE_S)


if __name__ == "__main__":
    unittest.main()
