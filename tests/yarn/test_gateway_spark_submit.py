"""Jobs that only stock spark-submit translates, with the spark-submit of pyspark 3.5: the gateway creates what it makes on a real API server.
No kubelet runs: the test reports the status of driver pods."""

import os
import subprocess
import unittest
from pathlib import Path

if "TIDEMARK_PYSPARK" not in os.environ:
    raise unittest.SkipTest("pyspark cannot be installed here")

from cluster.colocation import must
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from yarn.gateway_case import CONFIGS, SERVICES, GatewayCase

TEMPLATE = """apiVersion: v1
kind: Pod
spec:
  tolerations: [{key: spot, operator: Exists}]
  containers:
  - {name: main, image: spark}
"""
DRIVER, EXECUTOR = (f"spark.kubernetes.{part}.podTemplateFile" for part in ("driver", "executor"))
BATCH = {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": "896Mi"}  # as the API server writes 1000
SUCCEEDED = {"phase": "Succeeded", "containerStatuses": [GatewayCase.status_of("terminated", {"exitCode": 0})]}


def spark_home() -> str:
    found = subprocess.run([os.environ["TIDEMARK_PYSPARK"], "-c", "import pyspark; print(pyspark.__path__[0])"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return found.stdout.strip()


class SparkSubmit(GatewayCase):
    TOTALS = []

    def setUp(self):
        super().setUp()
        self.uploads = Path(self.folder) / f"{self._testMethodName}-up"
        self.home = spark_home()
        self.begin_with_spark()

    def begin_with_spark(self) -> None:
        os.environ["JAVA_HOME"] = str(Path(os.environ["TIDEMARK_JAVA"]).parents[1])
        self.begin(f"--spark-home={self.home}", f"--uploads={self.uploads}")

    def template(self, text: str = TEMPLATE) -> str:
        """A template as if the client had uploaded it."""
        self.uploads.mkdir(exist_ok=True)
        (self.uploads / "pod.yaml").write_text(text)
        return f"local://{self.uploads}/pod.yaml"

    def shown(self, number: int) -> str:
        return "\n".join(self.batch(number)["log"])

    def test_a_job_with_pod_templates_of_the_clients_machine_runs_as_offline_work_and_says_its_way(self):
        file = Path(self.folder) / "pod.yaml"
        file.write_text(TEMPLATE)
        conf = {DRIVER: str(file), EXECUTOR: str(file), "spark.kubernetes.container.image": "spark", "spark.tidemark.side": "kubernetes"}
        words = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        client = subprocess.Popen(
            [os.environ["TIDEMARK_BINARY"], "spark", "submit", "--class", "SleepingTasks", "--driver-memory", "512m", *words, f"local://{self.jar}", "2", "0"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "TIDEMARK_GATEWAY": self.url},
        )
        self.addCleanup(client.kill)
        pod = wait_for(self.driver, "a driver pod", self.gateway, PATIENCE_S)
        container = pod["spec"]["containers"][0]
        self.assertEqual({"limits": BATCH, "requests": BATCH}, container["resources"])
        self.assertEqual(("spark-kubernetes-driver", "koord-batch"), (container["name"], pod["spec"]["priorityClassName"]))
        self.assertIn({"key": "spot", "operator": "Exists"}, pod["spec"]["tolerations"])
        self.assertEqual(["tidemark.io/end-is-read"], pod["metadata"]["finalizers"])
        maps = [volume["configMap"]["name"] for volume in pod["spec"]["volumes"] if "configMap" in volume]
        found = wait_for(lambda: [each for each in maps if self.api.request("GET", f"{CONFIGS}/{each}").json["metadata"].get("ownerReferences")] == maps, "maps with their owner", self.gateway)
        self.assertTrue(found)
        data = {key: value for each in maps for key, value in must(self.api.request("GET", f"{CONFIGS}/{each}"))["data"].items()}
        self.assertEqual(TEMPLATE, data["podspec-configmap-key"])
        self.assertIn(f"spark.master=k8s\\://{os.environ['TIDEMARK_TEST_SERVER'].replace(':', chr(92) + ':')}\n", data["spark.properties"])
        wait_for(lambda: self.api.request("GET", f"{SERVICES}/{pod['metadata']['name']}-svc").status == 200, "the Service", self.gateway)
        self.set_status(pod, SUCCEEDED)
        said = client.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(0, client.returncode, f"{said}\n{self.gateway.log[-3000:]}")
        explained = subprocess.run([os.environ["TIDEMARK_BINARY"], "explain", "run", "1", "--gateway", self.url], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertIn(f"way: spark-submit: the native way does not translate {DRIVER}", explained.stdout + explained.stderr)

    def test_a_gateway_that_is_killed_while_spark_submit_runs_has_one_driver_afterwards(self):
        number = self.post(**{DRIVER: self.template(), "spark.tidemark.side": "kubernetes"})
        wait_for(lambda: list((Path(self.folder) / self._testMethodName).glob("spark-submit-*.conf")), "a spark-submit process", self.gateway)
        self.gateway.kill()
        self.assertEqual([], self.drivers())
        self.begin_with_spark()
        pod = wait_for(lambda: self.driver_of(number), "a driver pod", self.gateway, PATIENCE_S)
        self.gateway.kill()  # and once more, with the pod there
        self.begin_with_spark()
        self.set_status(pod, SUCCEEDED)
        self.assertEqual("success", self.wait_ended(number)["state"], self.gateway.log[-3000:])
        self.assertEqual([pod["metadata"]["uid"]], [each["metadata"]["uid"] for each in self.drivers()])

    def test_a_wrong_template_ends_the_run_with_the_words_of_spark_submit(self):
        number = self.post(**{DRIVER: self.template("neither: [a pod"), "spark.tidemark.side": "kubernetes"})
        self.assertEqual("dead", self.wait_ended(number)["state"])
        self.assertRegex(self.shown(number), "spark-submit: Exception in thread")
        self.assertEqual([], self.drivers())


if __name__ == "__main__":
    unittest.main()
