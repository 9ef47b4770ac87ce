"""Airflow's SparkSubmitHook, unmodified, with tidemark as its spark-submit: a local jar runs on a real YARN, and the hook sees ids, success and failure of both sides.
No kubelet runs: the test reports the status of driver pods."""

import json
import os
import subprocess
import unittest
from pathlib import Path

if "TIDEMARK_GATEWAY_CLIENTS" not in os.environ:
    raise unittest.SkipTest("the clients cannot be installed here")

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from yarn.gateway_case import GatewayCase

PROGRAM = Path(__file__).with_name("spark_submit_hook.py")
K8S = "k8s://https://127.0.0.1:6443"
LOOPBACK = {"spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1", "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1"}


class SubmitHook(GatewayCase):
    def setUp(self):
        super().setUp()
        programs = Path(self.folder) / "programs"
        programs.mkdir(exist_ok=True)
        if not (programs / "spark-submit").exists():
            (programs / "spark-submit").symlink_to(Path(os.environ["TIDEMARK_BINARY"]).resolve())
        self.path = f"{programs}:{os.environ['PATH']}"
        self.begin(f"--uploads={self.yarn.layout.scratch}/up")

    def hook(self, master: str, *arguments: str, **conf: str) -> subprocess.Popen:
        staging = {"spark.yarn.stagingDir": f"file://{self.yarn.layout.scratch}/staging"}
        process = subprocess.Popen(
            [os.environ["TIDEMARK_GATEWAY_CLIENTS"], PROGRAM, master, self.jar, "SleepingTasks", json.dumps({**LOOPBACK, **staging, **conf}), *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "PATH": self.path, "TIDEMARK_GATEWAY": self.url, "AIRFLOW_HOME": f"{self.folder}/airflow"},
        )
        self.addCleanup(process.kill)
        return process

    def ends(self, process: subprocess.Popen) -> str:
        said = process.communicate(timeout=3 * PATIENCE_S)[0]
        last = said.strip().splitlines()[-1]
        self.assertRegex(last, "^(ok|failed) ", f"{said[-3000:]}\n{self.gateway.log[-2000:]}")
        return last

    def test_the_hook_sees_success_and_failure_on_yarn(self):
        self.assertRegex(self.ends(self.hook("yarn", "2", "0")), r"^ok application_\d+_\d+$")
        self.assertIn("Error code is: 1", self.ends(self.hook("yarn", "no number", "0")))

    def test_the_hook_sees_pod_and_exit_code_of_a_driver_on_kubernetes(self):
        side = {"spark.tidemark.side": "kubernetes", "spark.kubernetes.container.image": "spark"}
        for code, wanted in ((0, r"^ok \S+-driver$"), (1, "^failed .*Error code is: 1")):
            with self.subTest(code):
                before = {pod["metadata"]["name"] for pod in self.drivers()}
                process = self.hook(K8S, "2", "0", **side)
                pod = wait_for(lambda: next((each for each in self.drivers() if each["metadata"]["name"] not in before), None), "a driver pod", self.gateway, PATIENCE_S)
                ended = {"exitCode": code, "startedAt": None, "finishedAt": None}
                self.set_status(pod, {"phase": "Failed" if code else "Succeeded", "containerStatuses": [self.status_of("terminated", ended)]})
                self.assertRegex(self.ends(process), wanted)


if __name__ == "__main__":
    unittest.main()
