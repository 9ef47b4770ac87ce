"""Spark Operator beside the API server of a test: its definitions, and its controller with the spark-submit of pyspark."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.yarn.server import Server

APPLICATIONS = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications"
STARTED = "Starting workers"
WAIT_S = 60


def peers_environment(environment: dict[str, str], spark_home: Path, java: str) -> dict[str, str]:
    """What spark-submit and the operator find their API server by."""
    host, port = re.fullmatch(r"https://([^:]+):(\d+)", environment["TIDEMARK_TEST_SERVER"]).groups()
    return {
        **os.environ, "SPARK_HOME": str(spark_home), "JAVA_HOME": str(Path(java).parents[1]), "KUBECONFIG": environment["TIDEMARK_TEST_KUBECONFIG"], "SPARK_LOCAL_IP": "127.0.0.1",
        "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port,
    }


def apply_definitions(environment: Mapping[str, str], definitions: Path | str) -> None:
    kubectl = [environment["TIDEMARK_KUBECTL"], "--kubeconfig", environment["TIDEMARK_TEST_KUBECONFIG"]]
    for words in (["apply", "--server-side", "-f", str(definitions)], ["wait", "--for=condition=Established", "crd", "--all", f"--timeout={WAIT_S}s"]):
        done = subprocess.run([*kubectl, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout[-2000:] + done.stderr[-2000:])


class SparkOperator:
    """`with SparkOperator(program, definitions, environment, folder):`. `environment` has the API server and peers_environment()."""

    def __init__(self, program: Path, definitions: Path, environment: dict[str, str], folder: Path):
        self._definitions, self._environment = definitions, environment
        self._server = Server(
            "spark-operator",
            [str(program), "controller", "start", "--namespaces", "default", "--leader-election=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"],
            environment, folder / "spark-operator.log",
        )

    def __enter__(self) -> "SparkOperator":
        apply_definitions(self._environment, self._definitions)
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self._server.end()

    def start(self) -> None:
        self._server.launch()
        self._server.until("the controller works", lambda: STARTED in self.log())

    def kill(self) -> None:
        self._server.end()

    def log(self) -> str:
        return self._server.log.read_text(errors="replace")
