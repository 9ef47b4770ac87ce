"""The Spark gateway between a real API server and a real ResourceManager, through the Livy API. No kubelet runs: the test reports the
status of driver pods."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from cluster.colocation import must
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from yarn.gateway_case import CONFIGS, PRIORITIES, SERVICES, GatewayCase

BATCH = {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": "896Mi"}  # as the API server writes 1000


class Gateway(GatewayCase):
    def test_a_batch_runs_on_yarn_and_is_submitted_once(self):
        self.begin()
        before = len(self.applications())
        number = self.post(**{"spark.tidemark.side": "yarn"})
        batch = self.wait_ended(number)
        found = next(each for each in self.applications() if each["id"] == batch["appId"])
        self.assertEqual("success", batch["state"], f"{found['diagnostics']}\n{self.gateway.log}")
        self.assertEqual("SUCCEEDED", found["finalStatus"])
        self.assertEqual(before + 1, len(self.applications()))
        self.assertIn(f"tidemark-run:{number}", found["applicationTags"])

    def test_the_command_line_of_spark_submit_waits_and_prints_the_application_id(self):
        self.begin()
        words = ["--master", "yarn", "--deploy-mode", "cluster", "--class", "SleepingTasks", "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1"]
        conf = {"spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1", "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1", "spark.yarn.stagingDir": f"file://{self.yarn.layout.scratch}/staging"}
        words += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "spark", "submit", *words, f"local://{self.jar}", "2", "0"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={**os.environ, "TIDEMARK_GATEWAY": self.url}, timeout=2 * PATIENCE_S,
        )
        self.assertEqual(0, done.returncode, f"{done.stdout}{done.stderr}\n{self.gateway.log}")
        found = re.findall(r"application[0-9_]+", done.stdout)  # as Airflow looks for it
        self.assertEqual(1, len(found), done.stdout)
        self.assertIn(found[0], [each["id"] for each in self.applications()])
        self.assertIn("exit code: 0", done.stdout)

    def test_a_driver_that_is_evicted_on_kubernetes_finishes_on_yarn(self):
        self.begin()
        number = self.post(**{"spark.tidemark.side": "kubernetes", "spark.tidemark.rerunSafe": "true"})
        pod = wait_for(self.driver, "a driver pod", self.gateway)
        container = pod["spec"]["containers"][0]
        self.assertEqual({"limits": BATCH, "requests": BATCH}, container["resources"])
        priority = must(self.api.request("GET", f"{PRIORITIES}/koord-batch"))["value"]
        self.assertEqual(("koord-batch", priority), (pod["spec"]["priorityClassName"], pod["spec"]["priority"]))
        name = pod["metadata"]["name"]
        wait_for(lambda: self.api.request("GET", f"{SERVICES}/{name}-svc").status == 200, "the Service", self.gateway)
        config = must(self.api.request("GET", f"{CONFIGS}/{pod['spec']['volumes'][-1]['configMap']['name']}"))
        self.assertEqual(pod["metadata"]["uid"], config["metadata"]["ownerReferences"][0]["uid"])
        self.assertIn("spark.kubernetes.driver.pod.name=" + name, config["data"]["spark.properties"])

        self.set_status(pod, {"phase": "Running", "containerStatuses": [self.status_of("running", {"startedAt": None})]})
        wait_for(lambda: self.batch(number)["state"] == "running", "a running driver", self.gateway)
        self.gateway.kill()  # the eviction happens while no gateway looks
        self.set_status(pod, {
            "phase": "Failed", "reason": "Evicted", "containerStatuses": [self.status_of("terminated", {"exitCode": 143})],
            "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "", "lastTransitionTime": None}],
        })
        self.begin()
        batch = self.wait_ended(number)
        self.assertEqual("success", batch["state"], self.gateway.log)
        self.assertTrue(batch["appId"].startswith("application_"))
        self.assertIn("the cluster took the machine of the driver", "\n".join(batch["log"]))
        self.assertNotIn("finalizers", self.driver()["metadata"])

    def test_a_ban_of_the_routing_file_sends_runs_to_yarn_until_the_file_changes(self):
        routes = Path(self.folder) / "routes.yaml"
        routes.write_text("schema: 1\nrules:\n- {namePrefix: sleeping, side: kubernetes, ban: true, from: '00:00', to: '24:00', timeZone: Asia/Tokyo}\n")
        self.begin(f"--routes-file={routes}")
        number = self.post(("1", "0"))
        batch = self.wait_ended(number)
        self.assertEqual("success", batch["state"], self.gateway.log)
        self.assertTrue(batch["appId"].startswith("application_"))
        done = subprocess.run([os.environ["TIDEMARK_BINARY"], "explain", "run", "--gateway", self.url, str(number)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertIn('a rule bans the other side [TM-ROUTE-006]: rules[0] {"namePrefix":"sleeping"', done.stdout + done.stderr)

        routes.write_text("schema: 1\nrules: [{side: hadoop}]\n")
        wait_for(lambda: "rules[0].side: kubernetes or yarn is expected" in self.gateway.log, "an error of the file", self.gateway)
        routes.write_text("schema: 1\nrules: [{side: kubernetes}]\n")
        wait_for(lambda: "routing file read again" in self.gateway.log, "the new file", self.gateway)
        number = self.post()
        wait_for(lambda: self.driver_of(number), "a driver pod", self.gateway)


if __name__ == "__main__":
    unittest.main()
