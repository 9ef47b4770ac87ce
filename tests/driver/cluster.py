"""The cluster fixture as the driver uses it (support.cluster does the work), and the verb ./dev cluster."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from driver import kubernetes, processes
from driver.console import Failed, WrongUse, say, step
from driver.paths import BUILD, LOGS, ROOT
from support import owners
from support.cluster import control
from support.patience import PATIENCE_S

START_S = 2 * PATIENCE_S + 60  # of etcd, then of the API server
CLUSTERS = 4  # at most, side by side: what runs on them waits more than it works. A cluster at rest is a hundredth of a core
PREFIX = "tidemark-cluster-"
MEMORY, MEMORY_MIN_BYTES = Path("/dev/shm"), 2 << 30
STANDING = BUILD / "cluster"  # where ./dev cluster start keeps its one cluster


def _command(state: Path, etcd: Path, apiserver: Path) -> list[str]:
    return [sys.executable, "-m", "support.cluster.server", "--state", str(state), "--etcd", str(etcd), "--kube-apiserver", str(apiserver)]


def memory() -> Path | None:
    """A place in memory for the data of etcd, if it has room: on a disk each write waits for a sync, and for the other programs that use the disk."""
    return MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_MIN_BYTES else None


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
        processes.capture([*kubectl, "wait", "--for=condition=Established", "crd", "--all", f"--timeout={PATIENCE_S}s"])
    except subprocess.CalledProcessError as error:
        raise Failed(f"the API server refuses deploy/crds:\n{error.stderr}")


class Fixture:
    """One real cluster, with ports and folders of its own: started when the first group wants it, always taken down. The data of etcd is in a folder of `place`
    if that is given, and else on the disk with the rest."""

    def __init__(self, number: int = 1, place: Path | None = None):
        self.number, self._place = number, place
        self._child: subprocess.Popen | None = None
        self._state: Path | None = None
        self._put_away = ExitStack()
        self.environment: dict[str, str] = {}

    @property
    def started(self) -> bool:
        return self._child is not None

    def start(self) -> dict[str, str]:
        """Environment of what runs on it. The same cluster on a second call."""
        start([self])
        return self.environment

    def launch(self, programs: dict[str, Path]) -> None:
        """Begins the start. To be called by a thread that lives as long as the run: the supervisor ends with the thread that started it."""
        self._state = Path(tempfile.mkdtemp(prefix=PREFIX))
        owners.mark(self._state)
        etcd = self._state / "etcd"
        self._put_away.enter_context(processes.cleaned_up(self._keep_logs))
        if self._place is not None:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._place))
            owners.mark(folder)
            self._put_away.enter_context(processes.cleaned_up(lambda: shutil.rmtree(folder, ignore_errors=True)))
            etcd = folder / "etcd"
        with open(self._state / "supervisor.log", "wb") as out:
            self._child = processes.start(
                _command(self._state, etcd, programs["kube-apiserver"]), env=_environment(), stdout=out, stderr=subprocess.STDOUT
            )

    def wait(self, programs: dict[str, Path]) -> None:
        described = _wait(self._state, self._child, self._state / "supervisor.log")
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
            "TIDEMARK_TEST_AUTHENTICATION_FILE": str(self._state / "authentication.json"),
            "TIDEMARK_KUBECTL": str(programs["kubectl"]),
            "KUBECACHEDIR": str(self._state / "kubectl-cache"),  # never what kubectl learned of another server on the same port
        }

    @property
    def lane(self) -> dict:
        """What tests/driver/one_test.py needs to run a test on it."""
        return {"environment": self.environment, "state": str(self._state)}

    def stop(self) -> None:
        """Keeps the logs in build/test-logs/kubernetes (of the second: kubernetes-2) and removes everything else."""
        if self._child is not None:
            processes.kill_group(self._child)
            self._child = None
        self._put_away.close()

    def _keep_logs(self) -> None:
        kept = LOGS / ("kubernetes" if self.number == 1 else f"kubernetes-{self.number}")
        shutil.rmtree(kept, ignore_errors=True)
        if (self._state / "logs").exists():
            shutil.copytree(self._state / "logs", kept)
        shutil.rmtree(self._state, ignore_errors=True)


def start(fixtures: list[Fixture]) -> None:
    """Those that are not there yet, beside each other."""
    new = [fixture for fixture in fixtures if not fixture.started]
    if not new:
        return
    programs = kubernetes.provide()
    for place in (Path(tempfile.gettempdir()), MEMORY):
        owners.clear_away(place, PREFIX)
    with step("starting etcd and kube-apiserver" + (f", {len(new)} of each" if len(new) > 1 else "")):
        try:
            for fixture in new:
                fixture.launch(programs)
            for fixture in new:
                fixture.wait(programs)
        except BaseException:  # the next call would take half a start for a whole one
            for fixture in new:
                fixture.stop()
            raise


class Fixtures:
    """The clusters of a run. The first serves every group that wants one; the others are there while a group has work for them."""

    def __init__(self):
        self._all = [Fixture(number, memory()) for number in range(1, CLUSTERS + 1)]

    def start(self, count: int = 1) -> list[Fixture]:
        """That many, at most all of them. The same ones on a second call."""
        start(self._all[:count])
        return self._all[:count]

    def stop(self, all_but: int = 0) -> None:
        for fixture in self._all[all_but:]:
            fixture.stop()


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
                    _command(STANDING, STANDING / "etcd", programs["kube-apiserver"]), env=_environment(), start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                )
            install_crds(programs, _wait(STANDING, child, log)["kubeconfig"])
    print(f"export KUBECONFIG={STANDING / 'kubeconfig'}")
    return 0
