"""One Spark job on two real sides: its driver and executors run as pods of a real kubelet, are evicted through the API, and the job finishes on a real YARN. Its
output has each row once."""

import json
import os
import subprocess
import sys
import time
import unittest
import urllib.request
from collections import Counter
from pathlib import Path

from cluster.colocation import must
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.ports import free
from yarn.gateway_case import CONFIGS, PODS
from yarn.spark_pods import OPENED
from yarn.two_sides_case import TwoSidesCase

ROWS, FREE_TASKS = 800, 4  # as WrittenRows.java
# What Spark's driver says of a task whose executor pod was deleted.
NOT_COUNTED = "its executor exited for a reason unrelated to the task. Not counting this failure"


class Move(TwoSidesCase):
    JOBS = ("WrittenRows",)

    def setUp(self):
        super().setUp()
        self.output = self.yarn.layout.scratch / self._testMethodName
        self.go = self.yarn.layout.scratch / f"{self._testMethodName}-go"

    def post_rows(self, **conf: str) -> int:
        return self.ask("POST", "/batches", {
            "file": f"local://{self.jar}", "className": "WrittenRows", "args": [f"file://{self.output}", str(ROWS), str(self.go)], "name": "written rows",
            "driverMemory": "512m", "executorMemory": "512m", "numExecutors": 1, "executorCores": 1, "conf": {**self.conf(), **conf},
        })["id"]

    def committed(self) -> int:
        return len(list(self.output.glob("_temporary/0/task_*")))

    def rows(self) -> Counter[str]:
        return Counter(line for file in self.output.glob("part-*") for line in file.read_text().split())

    def test_an_evicted_job_finishes_on_yarn_with_each_row_once(self):
        self.begin()
        number = self.number = self.post_rows(**{"spark.tidemark.side": "kubernetes", "spark.tidemark.rerunSafe": "true"})
        self.wait(lambda: self.committed() == FREE_TASKS, "four committed tasks on Kubernetes")
        driver = self.driver()
        executor = self.wait(self.running_executor, "an executor pod")
        config = must(self.api.request("GET", f"{CONFIGS}/{driver['spec']['volumes'][-1 - self.machine_volumes(driver)]['configMap']['name']}"))

        self.evict(executor)
        self.wait(lambda: NOT_COUNTED in self.ask("GET", f"/tidemark/v1/runs/{number}/log?from=0")["text"], "a lost task that does not count as failed")
        self.assertEqual("running", self.batch(number)["state"])
        begin = time.monotonic()
        self.evict(driver)
        self.wait(lambda: self.batch(number)["attempts"][-1]["side"] == "yarn" and self.batch(number)["attempts"][-1]["handle"], "an application on YARN")
        submitted = time.monotonic() - begin
        application = self.batch(number)["attempts"][-1]["handle"]
        self.assertEqual([], [pod["metadata"]["name"] for pod in self.pods_of("executor")], "the first attempt is gone before the second one begins")
        self.wait(lambda: any(each["id"] == application and each["state"] == "RUNNING" for each in self.applications()), "a running application")
        print(f"evicted driver: on YARN after {submitted:.1f} s, running there after {time.monotonic() - begin:.1f} s", file=sys.stderr)

        # The creation of the first driver arrives once more, and its ConfigMap too.
        late = {"metadata": {key: config.json["metadata"][key] for key in ("name", "labels")}, "data": config.json["data"]}
        self.assertEqual(409, self.api.request("POST", CONFIGS, late).status)
        must(self.api.request("POST", PODS, {"metadata": {key: driver["metadata"][key] for key in ("name", "labels", "finalizers")}, "spec": driver["spec"]}))

        self.go.touch()
        batch = self.wait_ended(number)
        self.assertEqual("success", batch["state"], self.why())
        self.assertEqual((ROWS, ROWS), (self.rows().total(), len(self.rows())), "each row once")
        self.assertEqual(["infrastructure", "succeeded"], [each["end"] for each in batch["attempts"]])
        self.assertIn("[TM-ROUTE-016]", "\n".join(batch["log"]))
        self.wait(lambda: not self.pods_of("driver"), "no late driver")

    def test_logs_of_driver_and_executors_outlive_their_pods_and_the_history_server_links_to_them(self):
        archive, events = Path(self.folder) / "archive", self.yarn.layout.scratch / "events"
        events.mkdir()
        self.begin(f"--archive={archive}", "--public-url=http://gateway.example.com:8998")
        number = self.number = self.post_rows(**{"spark.tidemark.side": "kubernetes", "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"})
        self.wait(lambda: self.committed() == FREE_TASKS, "four committed tasks on Kubernetes")
        followed = self.ask("GET", f"/tidemark/v1/runs/{number}/log?from=0")
        self.assertIn("Running Spark version", followed["text"], "the driver's output while it runs")
        self.assertIn("Executor", self.ask("GET", f"/tidemark/v1/runs/{number}/executors/1/log", raw=True), "an executor's output while it runs")
        self.go.touch()
        self.assertEqual("success", self.wait_ended(number)["state"], self.why())
        rest = self.ask("GET", f"/tidemark/v1/runs/{number}/log?from={followed['next']}")
        self.assertIn("Successfully stopped SparkContext", rest["text"])
        self.assertNotIn("Running Spark version", rest["text"])
        wait_for(lambda: (archive / f"{number}/executor-1.log").exists() and (archive / f"{number}/driver.log").exists(), "the logs in the archive", self.gateway, PATIENCE_S)
        self.assertIn("Successfully stopped SparkContext", (archive / f"{number}/driver.log").read_text())
        self.assertIn("Running task", (archive / f"{number}/executor-1.log").read_text())
        self.wait(lambda: not self.pods_of("executor"), "no executor pod")
        links = self.links(events)
        self.assertEqual({"log": f"http://gateway.example.com:8998/tidemark/v1/runs/{number}/executors/1/log"}, links)
        self.assertIn("Running task", self.ask("GET", links["log"].removeprefix("http://gateway.example.com:8998"), raw=True))

    @unittest.skipUnless("TIDEMARK_PYSPARK" in os.environ, "pyspark cannot be installed here")
    def test_a_comparison_runs_the_job_on_both_sides_and_finds_the_same_rows(self):
        spark = next(Path(os.environ["TIDEMARK_PYSPARK"]).parents[1].glob("lib/python3*/site-packages/pyspark"))
        python = ",".join(str(file) for file in sorted((spark / "python/lib").glob("*.zip")))
        self.begin(f"--uploads={self.yarn.layout.scratch}/up", f"--spark-yarn-python={python}", "--kubernetes-percent=0")
        self.go.touch()
        conf = {"spark.tidemark.outputs": f"file://{self.output}", "spark.tidemark.outputFormat": "text"}
        number = self.post_rows(**conf)
        self.wait_ended(number)
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "spark", "compare", f"--gateway={self.url}", str(number)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=6 * PATIENCE_S,
        )
        said = f"{done.stdout}{done.stderr}\n{self.why()}"
        self.assertEqual(0, done.returncode, said)
        self.assertIn("no difference: written rows may run on either side", done.stdout)
        self.assertIn(f"{ROWS} rows from Kubernetes, {ROWS} from YARN, equal", done.stdout, said)
        sides = [self.batch(each)["attempts"][0]["side"] for each in range(number + 1, number + 4)]
        self.assertEqual(["kubernetes", "yarn", "yarn"], sides)

    def links(self, events: Path) -> dict[str, str]:
        """The log links that Spark's History Server shows for executor 1."""
        (port,) = free(1)
        java, jars = os.environ["TIDEMARK_JAVA"], os.environ["TIDEMARK_SPARK_JARS"]
        server = subprocess.Popen(
            [java, "-Xmx512m", *OPENED.split(), f"-Dspark.history.fs.logDirectory=file://{events}", f"-Dspark.history.ui.port={port}", "-Dspark.history.fs.update.interval=1s",
             "-cp", f"{jars}/*", "org.apache.spark.deploy.history.HistoryServer"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_USER": "root"},
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

        def ask(path: str):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/applications{path}", timeout=10) as answer:
                    return json.loads(answer.read())
            except OSError:
                return None

        application = wait_for(lambda: ask(""), "an application in the History Server", self.gateway, PATIENCE_S)[0]["id"]
        executors = wait_for(lambda: ask(f"/{application}/allexecutors"), "its executors", self.gateway, PATIENCE_S)
        return next(each["executorLogs"] for each in executors if each["id"] == "1")

    def machine_volumes(self, pod: dict) -> int:
        """The number of volumes that the webhook added behind those of the gateway."""
        return sum(volume["name"].startswith("machine-") for volume in pod["spec"]["volumes"])


if __name__ == "__main__":
    unittest.main()
