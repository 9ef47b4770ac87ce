"""The fixture: one real node, registered at the API server of the given kubeconfig."""

import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from contract.client import Broken, Client
from support import owners
from support.cluster.programs import sign
from support.node import cgroups, image, pods, settings
from support.node.settings import Layout
from support.patience import PATIENCE_S as READY_S
from support.ports import free

PLACE = Path("/tmp")  # not TMPDIR: what a killed run leaves must be found by the next
PREFIX = "tidemark-node-"
NAMESPACE = "default"
END_S = 120
DRAWS_MAX = 3  # port choices: another process may take one between the choice and the bind
SHOWN_CHARS = 400  # limit for a log line in a failure


class NotReady(Exception):
    pass


def why_not() -> str:
    """The reason why this machine can have no node, with the remedy; empty if it can."""
    if os.geteuid() != 0:
        return "a kubelet needs root: run as root"
    absent = [name for name in ("containerd", "runc", "ctr", "unshare", "setpriv", image.COMPILER) if shutil.which(name) is None]
    absent += [] if image.BUSYBOX.exists() else [str(image.BUSYBOX)]  # with a dynamic one only the shell in pods is missing
    if absent:
        return f"missing: {', '.join(absent)}: apt-get install -y --no-install-recommends containerd runc busybox-static"
    if not cgroups.hierarchies() or not cgroups.writable():
        return "not every cgroup hierarchy can be written: run on a machine, or in a container with its own writable cgroups (--privileged --cgroupns=private)"
    tried = subprocess.run(["unshare", "--pid", "--mount", "--fork", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if tried.returncode != 0:
        return f"no PID and mount namespaces: {tried.stderr.strip()}: CAP_SYS_ADMIN is needed"
    try:
        _address()
    except OSError as error:
        return f"no address but loopback for a kubelet: {error.strerror}: give the machine a default route"
    refused = _refused_overlay()
    return f"{PLACE} cannot be written under an overlay: {refused}: mount a tmpfs or a disk there" if refused else ""


def _refused_overlay() -> str:
    """The reason why the kernel mounts no writable overlay on PLACE, which every node needs; empty if it does. A container's own root often does not work."""
    with tempfile.TemporaryDirectory(prefix=owners.SCRATCH, dir=PLACE) as folder:
        owners.mark(Path(folder))
        for name in ("lower", "upper", "work"):
            (Path(folder) / name).mkdir()
        options = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
        mount = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, f"{folder}/lower"]
        tried = subprocess.run(mount, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return (tried.stderr.strip() or f"mount ends with {tried.returncode}") if tried.returncode != 0 else ""


class Node:
    """`with Node(api, kubeconfig, authority, kubelet) as node:` has a ready node. Everything of it is gone afterwards, or this fails."""

    def __init__(self, api: Client, kubeconfig: Path, authority: Path, kubelet: Path, evicts: dict[str, str] = settings.EVICTS_NEVER, reserved: dict[str, str] | None = None, name: str = ""):
        """With the name `localhost` the API server reaches the kubelet, for the logs of pods."""
        clear_away(api)
        self._api, self._authority = api, authority
        self.id = secrets.token_hex(4)
        self.name, self.cgroup = name or f"node-{self.id}", f"tidemark-test-{self.id}"
        self.port, self._health_port = free(2)
        self._draws = 1
        self.layout = Layout(Path(tempfile.mkdtemp(prefix=PREFIX, dir=PLACE)))
        self._child: subprocess.Popen | None = None
        self._kubelet, self._kubeconfig, self._evicts, self._reserved = kubelet, kubeconfig, evicts, reserved

    # -- life of the whole

    def __enter__(self) -> "Node":
        try:
            self._prepare()
            self._start()
            self._import()
            self._wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_) -> None:
        left = self.stop()
        if left:
            raise AssertionError("left behind by the node:\n" + "\n".join(left))

    def _prepare(self) -> None:
        layout = self.layout
        for folder in (layout.containerd, layout.kubelet / "pki", layout.logs, layout.state / "pod-logs", layout.state / "cni" / "conf", layout.state / "cni" / "bin"):
            folder.mkdir(parents=True)
        _write_record(layout, self.name, self.cgroup)  # before the first resource that it names
        cgroups.make(self.cgroup)
        (layout.containerd / "config.toml").write_text(settings.containerd(layout))
        (layout.state / "cni" / "conf" / "10-none.conflist").write_text(settings.cni())
        self._configure_kubelet()
        shutil.copy(self._kubeconfig, layout.kubelet / "kubeconfig")
        pki = layout.kubelet / "pki"
        for name in ("ca.crt", "ca.key"):
            (pki / name).symlink_to(self._authority.parent / name)
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", pki / "server.key"],
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)
        # As with other kubelets: the node's name. Clients on the loopback must know that.
        sign(pki, "server", f"/O=system:nodes/CN=system:node:{self.name}", f"subjectAltName=DNS:{self.name}\nextendedKeyUsage=serverAuth\n")

    def _configure_kubelet(self) -> None:
        file = self.layout.kubelet / "config.json"
        scratch = file.with_suffix(".new")
        scratch.write_text(settings.kubelet(self.layout, self.cgroup, (self.port, self._health_port), self._authority, self._evicts, self._reserved))
        scratch.rename(file)  # a kubelet may be starting

    def _draw_again_where_taken(self) -> None:
        """Gives the next kubelet other ports. It is called from the kubelet's first start on: after a few failures the node gives up."""
        log = self.layout.logs / "kubelet.log"
        said = log.read_text(errors="replace") if log.exists() else ""
        taken = [port for port in (self.port, self._health_port) if f":{port}: bind: address already in use" in said]
        if not taken or self._draws == DRAWS_MAX:
            return
        self._draws += 1
        runs_on = self._health_port in taken and self._kubelet_pid()  # without the other port it ends itself
        self.port, self._health_port = free(2)
        self._configure_kubelet()
        if runs_on:
            os.kill(runs_on, signal.SIGKILL)

    def _start(self) -> None:
        inside = [sys.executable, "-m", "support.node.inside", self.layout.state, self._kubelet, self.name, _address()]
        with open(self.layout.logs / "inside.log", "wb") as log:
            self._child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", *map(str, inside)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
            )

    def _import(self) -> None:
        archive = self.layout.state / "image.tar"
        image.make(archive, self.layout.state)
        self._until("containerd answers", lambda: self.layout.socket.exists() and self.ctr("version").returncode == 0)
        with ThreadPoolExecutor(1) as beside:  # an import may take longer than restarts of a kubelet without ports
            imported = beside.submit(self.import_image, archive)
            self._until("the image is imported", lambda: self._draw_again_where_taken() or imported.done())
            imported.result()

    def import_image(self, archive: Path) -> None:
        done = self.ctr("images", "import", str(archive))
        if done.returncode != 0:
            raise NotReady(f"the image cannot be imported: {done.stderr}")

    def ctr(self, *words: str) -> subprocess.CompletedProcess:
        """For commands of containerd alone, such as images and lists. `run` and `exec` have a part outside the node, which would stay."""
        return subprocess.run(
            ["ctr", "--address", str(self.layout.socket), "--namespace", "k8s.io", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=READY_S
        )

    def _wait_ready(self) -> None:
        def ready() -> bool:
            self._draw_again_where_taken()
            node = self._api.get(f"/api/v1/nodes/{self.name}")
            conditions = node.get("status.conditions", []) if node.status == 200 else []
            return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions) and self._healthy()

        self._until("the node is ready", ready)

    def _until(self, what: str, question, limit_s: float = READY_S) -> None:
        deadline = time.monotonic() + limit_s
        while not question():
            if self._child.poll() is not None:
                raise NotReady(f"the node ended before {what}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise NotReady(f"not within {limit_s} s: {what}\n{self.tail()}")
            time.sleep(0.1)

    def tail(self, lines: int = 30) -> str:
        parts = []
        for log in sorted(self.layout.logs.glob("*.log")):
            parts.append(f"---- {log.name}\n" + "\n".join(line[:SHOWN_CHARS] for line in log.read_text(errors="replace").splitlines()[-lines:]))
        return "\n".join(parts)

    # -- pods

    def run(self, works: list[pods.Work], namespace: str = NAMESPACE) -> list[dict]:
        """Creates pods, waits until every container runs, and returns the pods of the API server."""
        for work in works:
            answer = self._api.post(f"/api/v1/namespaces/{namespace}/pods", pods.manifest(work, self.name, namespace))
            if answer.status != 201:
                raise NotReady(f"pod {work.name} is refused: {answer.body}")
        names = {work.name for work in works}

        def running() -> bool:
            self._found = [pod for pod in self.pods() if pod["metadata"]["name"] in names]
            return sum(_runs(pod) for pod in self._found) == len(names)

        try:
            self._until(f"{len(works)} pods run", running)
        except NotReady as error:
            waiting = [f"{pod['metadata']['name']}: {json.dumps(pod['status'])[:600]}" for pod in self._found if not _runs(pod)]
            raise NotReady(f"{len(waiting)} do not:\n" + "\n".join(waiting[:3]) + f"\n{error}")
        return self._found

    def pods(self) -> list[dict]:
        return _pods_of(self._api, self.name)

    def end(self, names: list[str], namespace: str = NAMESPACE) -> None:
        """Deletes pods as a user does, and waits until the kubelet has removed them."""
        for name in names:
            self._api.delete(f"/api/v1/namespaces/{namespace}/pods/{name}")
        self._until(f"{', '.join(names)} are gone", lambda: not {pod["metadata"]["name"] for pod in self.pods()} & set(names))

    def kill_kubelet(self) -> None:
        """SIGKILL. It restarts at once; its pods run on meanwhile."""
        before = 0

        def runs() -> bool:
            nonlocal before
            before = self._kubelet_pid()
            return before != 0  # 0 during a restart: kill(0) would signal our own process group

        self._until("a kubelet runs", runs)
        os.kill(before, signal.SIGKILL)
        self._until("another kubelet answers", lambda: self._kubelet_pid() not in (0, before) and self._healthy())

    def show(self, path: str, text: str) -> None:
        """Programs on the node read this text in that file from now on; other programs do not."""
        file = self.layout.state / "shown" / path.strip("/").replace("/", "-")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        bind = ["nsenter", "--target", str(self._kubelet_pid()), "--mount", "--", "mount", "--bind", str(file), path]
        subprocess.run(bind, stdin=subprocess.DEVNULL, check=True)

    def _kubelet_pid(self) -> int:
        start = f"{self._kubelet} --config {self.layout.kubelet}"
        return next((pid for pid, line in processes_of(self.layout.state, 0).items() if line.startswith(start)), 0)

    def _healthy(self) -> bool:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{self._health_port}/healthz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    # -- the kubelet's API

    @property
    def kubelet(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def ask_kubelet(self, path: str, token: str = "") -> tuple[int, str]:
        context = ssl.create_default_context(cafile=self._authority)
        context.check_hostname = False  # it names the node, but requests use the loopback
        request = urllib.request.Request(self.kubelet + path, headers={"Authorization": f"Bearer {token}"} if token else {})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        try:
            with opener.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    # -- the end

    def stop(self) -> list[str]:
        """Ends everything; returns the residue, normally nothing. A failure to keep logs is printed and hides no test failure."""
        if self._child is not None:
            self._child.kill()  # its child, process 1 of the node, is killed with it, and the kernel kills the rest
            self._child.wait()
        keep = os.environ.get("TIDEMARK_TEST_KEPT_LOGS")
        try:
            if keep and self.layout.logs.exists():
                shutil.copytree(self.layout.logs, Path(keep) / self.name, dirs_exist_ok=True)
        except OSError as error:
            print(f"the logs of {self.name} are not kept in {keep}: {error}", file=sys.stderr)
        finally:
            left = _take_away(self._api, self.layout, self.name, self.cgroup)
        return left


def _take_away(api: Client | None, layout: Layout, name: str, cgroup: str) -> list[str]:
    left = [f"process {pid}: {line}" for pid, line in processes_of(layout.state, END_S).items()]
    left += cgroups.remove(cgroup)
    left += [f"mount {line}" for line in Path("/proc/self/mounts").read_text().splitlines() if str(layout.state) in line]
    if api is not None:
        with suppress(OSError, Broken):  # a stopped server has no objects
            _forget(api, name)
    if not left:  # last: the residue is found by its record
        shutil.rmtree(layout.state, ignore_errors=True)  # another run may be removing it too
        left += [f"folder {layout.state}"] if layout.state.exists() else []
    return left


def _forget(api: Client, node: str) -> None:
    for pod in _pods_of(api, node):
        meta = pod["metadata"]
        api.delete(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}", gracePeriodSeconds=0)
    api.delete("/api/v1/namespaces/default/events", fieldSelector="source=kubelet")
    api.delete(f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}")
    api.delete(f"/api/v1/nodes/{node}")


def _pods_of(api: Client, node: str) -> list[dict]:
    api.transcript.clear()  # unused here, and it would keep every request
    return api.get("/api/v1/pods", fieldSelector=f"spec.nodeName={node}").get("items") or []


def processes_of(state: Path, limit_s: float) -> dict[int, str]:
    """Processes with the directory in their command line; waits for the kernel to end them."""
    deadline = time.monotonic() + limit_s
    while True:
        found = {}
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if f"{state}/" in line or f"{state} " in line:
                found[int(file.parent.name)] = line
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


# -- residue of a killed run


def _write_record(layout: Layout, name: str, cgroup: str) -> None:
    layout.record.write_text(json.dumps({"node": name, "cgroup": cgroup}))
    owners.mark(layout.state)  # last: a directory without an owner is not removed


def clear_away(api: Client | None) -> tuple[list[str], list[str]]:
    """Removes nodes whose owner is gone: the cgroups and objects in their records, and their directories. Others stay.
    Returns the nodes, and the failures."""
    cleared, left = [], []
    for folder in sorted(PLACE.glob(f"{PREFIX}*")):
        if not owners.gone(folder):
            continue
        try:
            record = json.loads(Layout(folder).record.read_text())
            name, cgroup = record["node"], record["cgroup"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not ours
        if not cgroups.NAME.fullmatch(cgroup):
            continue
        rest = _take_away(api, Layout(folder), name, cgroup)
        left += rest
        cleared += [] if rest else [name]
    return cleared, left


def _runs(pod: dict) -> bool:
    statuses = pod["status"].get("containerStatuses", [])
    return pod["status"].get("phase") == "Running" and len(statuses) == len(pod["spec"]["containers"]) and all("running" in each.get("state", {}) for each in statuses)


def _address() -> str:
    """The machine's own address: a kubelet needs one that is not loopback. Sends no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]
