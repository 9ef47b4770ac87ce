"""Files of jobs and logs of runs, on a real HDFS and a real YARN: the command line of spark-submit uploads jars and Python files, and follows the log of a driver."""

import os
import subprocess
import time
import unittest
import urllib.request
import uuid
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.yarn.hdfs import Hdfs
from yarn.gateway_case import GatewayCase

JOB = """
import sys, time
from pyspark.sql import SparkSession
import helper

spark = SparkSession.builder.getOrCreate()
total = spark.sparkContext.parallelize(range(int(sys.argv[1])), 2).map(helper.double).sum()
print("total is", total, open("told.txt").read(), flush=True)
time.sleep(5)  # a client that follows the log reads the line
spark.stop()
"""
LOOPBACK = {"spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1", "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1"}


RUNNING = {"phase": "Running", "containerStatuses": [GatewayCase.status_of("running", {"startedAt": None})]}
EVICTED = {"phase": "Failed", "reason": "Evicted", "containerStatuses": [GatewayCase.status_of("terminated", {"exitCode": 143})]}


class Files(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.hdfs = Hdfs()
        cls.CORE = cls.hdfs.core
        super().setUpClass()
        cls.enterClassContext(cls.hdfs.of(cls.yarn))

    def tidemark(self, *words: str) -> list[str]:
        return [os.environ["TIDEMARK_BINARY"], "spark", *words]

    def submit(self, *words: str) -> subprocess.Popen:
        conf = [word for key, value in LOOPBACK.items() for word in ("--conf", f"{key}={value}")]
        small = ["--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1"]
        process = subprocess.Popen(
            self.tidemark("submit", "--master", "yarn", "--deploy-mode", "cluster", *small, *conf, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "TIDEMARK_GATEWAY": self.url}, cwd=self.folder,
        )
        self.addCleanup(process.kill)
        return process

    def succeeds(self, process: subprocess.Popen, more: str = "") -> None:
        said = process.communicate(timeout=3 * PATIENCE_S)[0]
        self.assertEqual(0, process.returncode, f"{said}\n{more[-5000:]}\n{self.gateway.log[-3000:]}")

    def test_a_jar_of_the_clients_machine_runs_on_yarn_and_is_sent_once(self):
        self.begin("--uploads=hdfs:///up", "--archive=hdfs:///archive")
        for _ in range(2):
            self.succeeds(self.submit("--class", "SleepingTasks", str(self.jar), "2", "0"))
        kept = self.hdfs.names("/up")
        self.assertEqual(1, len(kept))
        self.assertEqual(["job.jar"], self.hdfs.names(f"/up/{kept[0]}"))
        wait_for(lambda: "run 2 done" in self.hdfs.read("/archive/2/driver.log"), "the log in the archive", self.gateway)

    def evicted_run(self, output: str) -> int:
        """An append to the folder of HDFS that is evicted at Kubernetes."""
        number = self.post(("1", "0"), **{"spark.tidemark.side": "kubernetes", "spark.tidemark.rerunSafe": "before-commit", "spark.tidemark.outputs": f"hdfs://{output}"})
        pod = wait_for(lambda: self.driver_of(number), "a driver pod", self.gateway)
        self.set_status(pod, RUNNING)
        wait_for(lambda: self.batch(number)["state"] == "running", "a running driver", self.gateway)
        self.set_status(pod, EVICTED)
        return number

    def test_an_append_to_hdfs_moves_only_before_its_commit_has_begun(self):
        self.begin()
        an_hour_ago = int((time.time() - 3600) * 1000)
        for folder in ("/out/staged", "/out/begun"):
            self.hdfs.write(f"{folder}/p=1/part-0", "row", an_hour_ago)
            self.hdfs.write(f"{folder}/_temporary/0/task_1/part-1", "row")
        self.hdfs.write("/out/begun/p=1/part-1", "row")
        begun = self.evicted_run("/out/begun")
        self.assertEqual("dead", self.wait_ended(begun)["state"], self.gateway.log[-3000:])
        self.assertIn("does not move: it has begun to commit hdfs:///out/begun", "\n".join(self.batch(begun)["log"]))
        self.assertEqual(1, len(self.batch(begun)["attempts"]))
        staged = self.evicted_run("/out/staged")
        self.assertEqual("success", self.wait_ended(staged)["state"], self.gateway.log[-3000:])
        self.assertEqual(["kubernetes", "yarn"], [each["side"] for each in self.batch(staged)["attempts"]])

    @unittest.skipUnless("TIDEMARK_PYSPARK" in os.environ, "pyspark cannot be installed here")
    def test_python_files_of_the_clients_machine_run_on_yarn_and_their_output_is_followed(self):
        spark = next(Path(os.environ["TIDEMARK_PYSPARK"]).parents[1].glob("lib/python3*/site-packages/pyspark"))
        python = ",".join(str(file) for file in sorted((spark / "python/lib").glob("*.zip")))
        self.begin("--uploads=hdfs:///up", f"--spark-yarn-jars=local:{spark}/jars/*", f"--spark-yarn-python={python}")
        folder = Path(self.folder)
        (folder / "app.py").write_text(JOB)
        (folder / "helper.py").write_text("def double(number):\n    return 2 * number\n")
        (folder / "told.txt").write_text("by a file")
        job = self.submit("--py-files", "helper.py", "--files", "told.txt", "app.py", "100")
        number = wait_for(lambda: self.ask("GET", "/batches")["total"], "a run", self.gateway)
        said = subprocess.run(self.tidemark("logs", f"--gateway={self.url}", "-f", str(number)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3 * PATIENCE_S).stdout
        self.succeeds(job, said)
        self.assertIn("total is 9900 by a file", said)
        self.assertIn("attempt 1 on yarn", said)
        livy = self.ask("GET", f"/batches/{number}/log?from=0&size=1000")
        self.assertIn("total is 9900 by a file", livy["log"])
        second = self.ask("GET", f"/batches/{number}/log?from={livy['total'] - 2}&size=1")
        self.assertEqual(livy["log"][-2:-1], second["log"])

    def test_kyuubis_form_request_runs_its_jar_on_yarn(self):
        self.begin("--uploads=hdfs:///up")
        request = '{"batchType": "SPARK", "className": "SleepingTasks", "name": "form", "args": ["2", "0"], "conf": {"spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.executor.instances": "1", %s}}'
        request %= ", ".join(f'"{key}": "{value}"' for key, value in LOOPBACK.items())
        boundary = uuid.uuid4().hex
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="batchRequest"\r\nContent-Type: application/json\r\n\r\n{request}\r\n'.encode(),
            f'--{boundary}\r\nContent-Disposition: form-data; name="resourceFile"; filename="form.jar"\r\n\r\n'.encode(), Path(self.jar).read_bytes(), f"\r\n--{boundary}--\r\n".encode(),
        ]
        posted = urllib.request.Request(f"{self.url}/api/v1/batches", b"".join(parts), {"Content-Type": f"multipart/form-data; boundary={boundary}"})
        with urllib.request.urlopen(posted, timeout=60) as answer:
            self.assertEqual(200, answer.status)
        number = self.ask("GET", "/batches")["total"]
        self.assertEqual("success", self.wait_ended(number)["state"], self.gateway.log[-3000:])


if __name__ == "__main__":
    unittest.main()
