"""The cluster fixture as the driver uses it (support.cluster does the work), and the verb ./dev cluster."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from driver import kubernetes, processes
from driver.console import Failed, WrongUse, say, step
from driver.paths import BUILD, LOGS, ROOT
from support.cluster import control

START_S = 180
STANDING = BUILD / "cluster"  # where ./dev cluster start keeps its one cluster


def _command(state: Path, apiserver: Path) -> list[str]:
    return [sys.executable, "-m", "support.cluster.server", "--state", str(state), "--kube-apiserver", str(apiserver)]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PYTHONDONTWRITEBYTECODE": "1"}


def _wait(state: Path, child: subprocess.Popen, log: Path) -> dict:
    deadline = time.monotonic() + START_S
    while not (state / "cluster.json").exists():
        if child.poll() is not None:
            raise Failed(f"the cluster did not start:\n{log.read_text(errors='replace')[-4000:]}")
        if time.monotonic() > deadline:
            raise Failed(f"the cluster was not ready after {START_S} s, see {state}/logs")
        time.sleep(0.05)
    return json.loads((state / "cluster.json").read_text())


def install_crds(programs: dict[str, Path], kubeconfig: str) -> None:
    """Our custom resources, established before the first test asks for one."""
    folder = ROOT / "deploy" / "crds"
    if not any(folder.glob("*.yaml")):
        return
    kubectl = [programs["kubectl"], "--kubeconfig", kubeconfig]
    try:
        processes.capture([*kubectl, "apply", "--server-side", "-f", folder])
        processes.capture([*kubectl, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"])
    except subprocess.CalledProcessError as error:
        raise Failed(f"the API server refuses deploy/crds:\n{error.stderr}")


class Fixture:
    """One real cluster for a whole test run: started when the first group wants it, always taken down."""

    def __init__(self):
        self._child: subprocess.Popen | None = None
        self._state: Path | None = None
        self.environment: dict[str, str] = {}

    def start(self) -> dict[str, str]:
        """Environment of the tests. The same cluster on a second call."""
        if self._child is not None:
            return self.environment
        programs = kubernetes.provide()
        self._state = Path(tempfile.mkdtemp(prefix="tidemark-cluster-"))
        log = self._state / "supervisor.log"
        with step("starting etcd and kube-apiserver"):
            with open(log, "wb") as out:
                self._child = processes.start(
                    _command(self._state, programs["kube-apiserver"]), env=_environment(), stdout=out, stderr=subprocess.STDOUT
                )
            described = _wait(self._state, self._child, log)
            install_crds(programs, described["kubeconfig"])
        self.environment = {
            "TIDEMARK_TEST_KUBECONFIG": described["kubeconfig"],
            "TIDEMARK_TEST_CLUSTER_CONTROL": described["control"],
            # The same door for a test that reads no kubeconfig.
            "TIDEMARK_TEST_SERVER": f"https://127.0.0.1:{described['apiserver']}",
            "TIDEMARK_TEST_CA_FILE": str(self._state / "pki" / "ca.crt"),
            "TIDEMARK_TEST_TOKEN_FILE": str(self._state / "pki" / "admin.token"),
            "TIDEMARK_TEST_ETCD": f"http://127.0.0.1:{described['etcd_client']}",
            "TIDEMARK_TEST_AUDIT_LOG": str(self._state / "logs" / "audit.log"),
            "TIDEMARK_KUBECTL": str(programs["kubectl"]),
        }
        return self.environment

    def stop(self) -> None:
        """Keeps the logs in build/test-logs/kubernetes and removes everything else."""
        if self._child is not None:
            processes.kill_group(self._child)
            self._child = None
        if self._state is not None:
            kept = LOGS / "kubernetes"
            shutil.rmtree(kept, ignore_errors=True)
            if (self._state / "logs").exists():
                shutil.copytree(self._state / "logs", kept)
            shutil.rmtree(self._state, ignore_errors=True)
            self._state = None


COMMANDS = ["start", "stop", "status", "kubeconfig", "kill", "restart", "pause", "resume"]


def verb(arguments: list[str]) -> int:
    command, *rest = arguments or ["status"]
    if command not in COMMANDS:
        raise WrongUse(f"unknown command `{command}`: {', '.join(COMMANDS)}")
    if command == "start" and not rest:
        return _start_standing()
    try:
        if command == "kubeconfig":
            control.ask(STANDING, "status")
            print(STANDING / "kubeconfig")
        elif command == "status":
            print(json.dumps(control.ask(STANDING, "status"), indent=2))
        else:
            control.ask(STANDING, command, *rest[:1])
    except control.Refused as error:
        raise Failed(str(error))
    return 0


def _start_standing() -> int:
    try:
        control.ask(STANDING, "status")
        say("it runs already")
    except control.Refused:
        programs = kubernetes.provide()
        shutil.rmtree(STANDING, ignore_errors=True)
        STANDING.mkdir(parents=True)
        log = STANDING / "supervisor.log"
        with step("starting etcd and kube-apiserver"):
            with open(log, "wb") as out:  # not through processes.start: this one is meant to outlive us
                child = subprocess.Popen(
                    _command(STANDING, programs["kube-apiserver"]), env=_environment(), start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                )
            install_crds(programs, _wait(STANDING, child, log)["kubeconfig"])
    print(f"export KUBECONFIG={STANDING / 'kubeconfig'}")
    return 0
