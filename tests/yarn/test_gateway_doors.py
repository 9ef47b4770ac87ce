"""One job, submitted by all four doors (Livy, Kyuubi, an object of Spark Operator, spark-submit's command line), on two real sides: `off --evict` takes
the node at Kubernetes, and each job finishes on YARN. Each output has each row once, and each door reports success in its own words."""

import json
import os
import subprocess
import unittest
from collections import Counter
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.yarn import Totals
from yarn.two_sides_case import TwoSidesCase

ROWS, FREE_TASKS = 800, 4  # as WrittenRows.java
DOORS = ("livy", "kyuubi", "operator", "submit")
OBJECTS = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications"
LIMIT_S = 4 * PATIENCE_S


class Doors(TwoSidesCase):
    JOBS = ("WrittenRows",)
    TOTALS = [Totals(memory_mib=8192, vcores=16)]

    def setUp(self):
        super().setUp()
        self.go = self.yarn.layout.scratch / "go"
        self.outputs = {door: self.yarn.layout.scratch / f"rows-by-{door}" for door in DOORS}
        self.begin()

    def args(self, door: str) -> list[str]:
        return [f"file://{self.outputs[door]}", str(ROWS), str(self.go)]

    def safe(self, door: str) -> dict[str, str]:
        return {
            **self.conf(), "spark.tidemark.side": "kubernetes", "spark.tidemark.rerunSafe": "before-commit", "spark.tidemark.outputs": f"file://{self.outputs[door]}",
            "spark.kubernetes.executor.request.cores": "250m",  # four executors fit on a machine with two cores
        }

    def post_by_livy(self):
        answer = self.ask("POST", "/batches", {
            "file": f"local://{self.jar}", "className": "WrittenRows", "args": self.args("livy"), "name": "rows-by-livy",
            "driverMemory": "512m", "executorMemory": "512m", "numExecutors": 1, "executorCores": 1, "conf": self.safe("livy"),
        })
        return lambda: self.assertEqual("success", self.ask("GET", f"/batches/{answer['id']}/state")["state"])

    def post_by_kyuubi(self):
        sizes = {"spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.executor.instances": "1", "spark.executor.cores": "1"}
        answer = self.ask("POST", "/api/v1/batches", {
            "batchType": "SPARK", "resource": f"local://{self.jar}", "className": "WrittenRows", "args": self.args("kyuubi"), "name": "rows-by-kyuubi", "conf": {**self.safe("kyuubi"), **sizes},
        })
        return lambda: self.assertEqual("FINISHED", self.ask("GET", f"/api/v1/batches/{answer['id']}")["state"])

    def post_by_operator(self):
        size = {"cores": 1, "memory": "512m"}
        self.ask("POST", OBJECTS, {
            "apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "rows-by-operator", "namespace": "default"},
            "spec": {
                "type": "Java", "mode": "cluster", "sparkVersion": "3.5.0", "mainClass": "WrittenRows", "mainApplicationFile": f"local://{self.jar}", "arguments": self.args("operator"),
                "sparkConf": self.safe("operator"), "restartPolicy": {"type": "Never"}, "driver": size, "executor": {"instances": 1, **size},
            },
        })
        return lambda: self.assertEqual("COMPLETED", self.ask("GET", f"{OBJECTS}/rows-by-operator")["status"]["applicationState"]["state"])

    def post_by_submit(self):
        program = Path(self.folder) / "tidemark-spark-submit"
        program.symlink_to(Path(os.environ["TIDEMARK_BINARY"]).resolve())
        words = ["--master", "yarn", "--deploy-mode", "cluster", "--name", "rows-by-submit", "--class", "WrittenRows"]
        words += ["--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1", "--executor-cores", "1"]
        words += [word for key, value in self.safe("submit").items() for word in ("--conf", f"{key}={value}")]
        client = subprocess.Popen(
            [program, *words, f"local://{self.jar}", *self.args("submit")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "TIDEMARK_GATEWAY": self.url},
        )
        self.addCleanup(client.kill)

        def succeeded():
            said = client.communicate(timeout=PATIENCE_S)[0]
            self.assertEqual(0, client.returncode, said)
            self.assertRegex(said, r"(?s)pod name: \S+-driver\n.*application_\d+_\d+")  # of both attempts
            self.assertIn("exit code: 0", said)

        return succeeded

    def runs(self) -> dict[str, dict]:
        """By the name of the job."""
        return {each["name"]: each for each in self.ask("GET", "/batches")["sessions"]}

    def committed(self, door: str) -> int:
        return len(list(self.outputs[door].glob("_temporary/0/task_*")))

    def off_and_evict(self) -> None:
        """Takes the node from offline work: all pods of Spark there, through the Eviction API. No agent runs, so the command cannot prove that no kernel file is left."""
        words = ["off", "node", self.node.name, "--evict", "--grace", "5s", "--yes", "--reason", "a test", "--wait", "30s", "-o", "json", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        done = subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
        counts = json.loads(done.stdout)["evict"]["counts"]
        self.assertEqual(0, counts["podsLeft"], f"{done.stdout}{done.stderr}")

    def test_a_job_of_each_door_runs_on_both_sides_with_each_row_once(self):
        succeeded = {door: getattr(self, f"post_by_{door}")() for door in DOORS}
        number_of = wait_for(lambda: {door: self.runs()[f"rows-by-{door}"]["id"] for door in DOORS} if len(self.runs()) == len(DOORS) else None, "four runs", self.gateway)
        for door in DOORS:
            self.number = number_of[door]
            self.wait(lambda: self.committed(door) == FREE_TASKS, f"four committed tasks of {door}", LIMIT_S)
        self.off_and_evict()
        for door in DOORS:
            self.number = number_of[door]
            self.wait(lambda: self.batch(self.number)["attempts"][-1]["side"] == "yarn", f"a second attempt of {door}", LIMIT_S)
        self.go.touch()
        for door in DOORS:
            self.number = number_of[door]
            wait_for(lambda: self.batch(self.number)["state"] in ("success", "dead", "killed"), f"the end of the job of {door}", self.gateway, LIMIT_S)
            with self.subTest(door):
                attempts = self.batch(self.number)["attempts"]
                self.assertEqual([("kubernetes", "infrastructure"), ("yarn", "succeeded")], [(each["side"], each["end"]) for each in attempts], self.why())
                rows = Counter(line for file in self.outputs[door].glob("part-*") for line in file.read_text().split())
                self.assertEqual((ROWS, ROWS), (rows.total(), len(rows)), "each row once")
                succeeded[door]()


if __name__ == "__main__":
    unittest.main()
