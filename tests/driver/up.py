"""./dev up: `tidemark up` with sample nodes in it, what each of them may sell and why, and then it stays for kubectl.

The samples (deploy/samples/*.json, each a List) are written the way a cluster would write them: objects first, then their status.
Sample nodes have no agent, so the time of their NodeMetric is renewed here for as long as the command runs.
"""

import base64
import datetime
import http.client
import json
import re
import shutil
import ssl
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

from driver import build, go_programs, kubernetes, packages, processes
from driver.console import Failed, WrongUse, say, step
from driver.paths import BUILD, ROOT

START_S = 30
SETTLE_S = 20
RENEW_S = 60  # well inside the three minutes after which a NodeMetric counts as old
SAMPLES = ROOT / "deploy" / "samples"

# kind → the path of its collection below the API's root
COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "NodeMetric": "/apis/slo.koordinator.sh/v1alpha1/nodemetrics",
}


class Api:
    """As much of a client as the samples need, so that `./dev up` works where no kubectl is."""

    def __init__(self, kubeconfig: Path):
        text = kubeconfig.read_text()

        def value(key: str) -> str:
            found = re.search(rf"^\s*\"?{key}\"?:\s*\"?([^\s\"]+)\"?,?\s*$", text, re.M)
            return found[1] if found else ""

        self.server = value("server")
        self._server = urlsplit(self.server)
        if not self._server.hostname:
            raise Failed(f"{kubeconfig} names no server")
        self._headers = {"Authorization": f"Bearer {value('token')}"} if value("token") else {}
        self._context = None
        if self._server.scheme == "https":
            authority = value("certificate-authority-data")
            self._context = ssl.create_default_context(
                cafile=value("certificate-authority") or None, cadata=base64.b64decode(authority).decode() if authority else None
            )
            if value("client-certificate-data"):
                self._load_pair(kubeconfig.parent, value("client-certificate-data"), value("client-key-data"))

    def _load_pair(self, folder: Path, certificate: str, key: str) -> None:
        pair = folder / ".dev-up.pem"  # the ssl module reads certificates from files only
        pair.touch(mode=0o600)
        pair.write_bytes(base64.b64decode(certificate) + b"\n" + base64.b64decode(key))
        try:
            self._context.load_cert_chain(pair)
        finally:
            pair.unlink()

    def call(self, method: str, path: str, body=None, kind: str = "application/json") -> tuple[int, dict]:
        if self._context:
            connection = http.client.HTTPSConnection(self._server.hostname, self._server.port, context=self._context, timeout=10)
        else:
            connection = http.client.HTTPConnection(self._server.hostname, self._server.port, timeout=10)
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), {**self._headers, "Content-Type": kind, "Accept": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            return response.status, json.loads(answer) if answer.startswith(b"{") else {"message": answer.decode(errors="replace")}
        finally:
            connection.close()

    def must(self, method: str, path: str, body=None, kind: str = "application/json", accept=(200, 201)) -> dict:
        status, answer = self.call(method, path, body, kind)
        if status not in accept:
            raise Failed(f"{method} {path}: {status} {answer.get('message', '')}")
        return answer


def run(arguments: list[str]) -> int:
    listen, data, once = "127.0.0.1:0", BUILD / "up", False
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--once":
            once = True
        elif word in ("--listen", "--data-dir") and rest:
            listen, data = (rest.pop(0), data) if word == "--listen" else (listen, Path(rest.pop(0)).resolve())
        else:
            raise WrongUse(f"unknown or unfinished flag `{word}`")
    packages.setup()
    build.build("dev", ["tidemark"])
    if data == BUILD / "up":
        shutil.rmtree(data, ignore_errors=True)
    server, kubeconfig = start(data, listen)
    try:
        api = Api(kubeconfig)
        objects = load(api)
        nodes = [o["metadata"]["name"] for o in objects if o["kind"] == "Node"]
        _settle(api, nodes)
        for node in nodes:
            print(f"\n$ build/tidemark explain node {node}")
            print(processes.capture([BUILD / "tidemark", "explain", "node", node, "--kubeconfig", kubeconfig], cwd=ROOT), end="")
        print("\n" + way_in(kubeconfig, kubernetes.built().get("kubectl") or shutil.which("kubectl")), flush=True)
        if once:
            return 0
        say("up until Ctrl-C")
        while server.poll() is None:
            try:
                server.wait(RENEW_S)
            except subprocess.TimeoutExpired:
                renew(api, objects)
        raise Failed(f"`tidemark up` ended by itself with {server.returncode}:\n{(data / 'up.log').read_text(errors='replace')[-4000:]}")
    finally:
        processes.kill_group(server)


def way_in(kubeconfig: Path, kubectl: Path | str | None) -> str:
    """What to type next; where there is no kubectl, where one comes from."""
    major, minor = go_programs.GO_AT_LEAST
    return f"export KUBECONFIG={kubeconfig}\n" + (
        f"{kubectl} get nodes" if kubectl else
        f"# There is no kubectl here. `./dev cluster start` builds one, with Go {major}.{minor} or newer; others: "
        "https://kubernetes.io/docs/tasks/tools/"
    )


def start(data: Path, listen: str = "127.0.0.1:0") -> tuple[subprocess.Popen, Path]:
    """`tidemark up` on a data folder, and its kubeconfig once it serves. Its output is in up.log there."""
    data.mkdir(parents=True, exist_ok=True)
    output = data / "up.log"
    with open(output, "wb") as log:
        server = processes.start(
            [BUILD / "tidemark", "up", "--pods=false", "--data-dir", data, "--listen", listen], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        return server, _kubeconfig(server, output)
    except Failed:
        processes.kill_group(server)
        raise


def _kubeconfig(server: subprocess.Popen, output: Path) -> Path:
    """The path that `tidemark up` prints when it is ready."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        for path in re.findall(r"(/[^\s\"'=]*kubeconfig[^\s\"',]*)", output.read_text(errors="replace")):
            if Path(path).is_file():
                return Path(path)
        time.sleep(0.05)
    raise Failed(f"`tidemark up` named no kubeconfig within {START_S} s. It printed:\n{output.read_text(errors='replace')[-4000:]}")


def sample_objects() -> list[dict]:
    return [item for file in sorted(SAMPLES.glob("*.json")) for item in json.loads(file.read_text())["items"]]


def sample_paths() -> list[str]:
    return [f"{_path(item)}/{item['metadata']['name']}" for item in sample_objects()]


def load(api: Api) -> list[dict]:
    """What is there already stays, so that a data folder can be used again."""
    objects = sample_objects()
    with step(f"writing {len(objects)} sample objects"):
        for item in objects:
            create(api, item)
        renew(api, objects)
    return objects


def create(api: Api, item: dict) -> None:
    path = _path(item)
    deadline = time.monotonic() + SETTLE_S
    body = {key: value for key, value in item.items() if key != "status"}
    while True:  # custom resources are served a moment after the start
        status, answer = api.call("POST", path, body)
        if status != 404 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    if status not in (200, 201, 409):
        raise Failed(f"POST {path}: {status} {answer.get('message', '')}")
    if "status" in item and item["kind"] != "NodeMetric":
        api.must("PATCH", f"{path}/{item['metadata']['name']}/status", {"status": item["status"]}, "application/merge-patch+json")


def renew(api: Api, objects: list[dict]) -> None:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for item in objects:
        if item["kind"] == "NodeMetric":
            path = f"{_path(item)}/{item['metadata']['name']}/status"
            api.must("PATCH", path, {"status": {**item["status"], "updateTime": now}}, "application/merge-patch+json")


def _path(item: dict) -> str:
    return COLLECTIONS[item["kind"]].format(namespace=item["metadata"].get("namespace", "default"))


def _settle(api: Api, nodes: list[str]) -> None:
    """Waits until the manager has written what each node may sell."""
    deadline, waiting = time.monotonic() + SETTLE_S, list(nodes)
    while waiting and time.monotonic() < deadline:
        waiting = [
            node for node in waiting
            if "kubernetes.io/batch-cpu" not in api.must("GET", f"{COLLECTIONS['Node']}/{node}").get("status", {}).get("allocatable", {})
        ]
        time.sleep(0.1)
    if waiting:
        raise Failed(f"after {SETTLE_S} s the manager has sold nothing on {', '.join(waiting)}")
