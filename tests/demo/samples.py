"""Sample nodes for an API server: what `./dev up --samples` shows, and what the docs' commands are run against.

The samples (deploy/samples/*.json, each a List) are written the way a cluster would write them: objects first, then their status.
Sample nodes have no agent, so the program that loaded them renews the time of their NodeMetric.
"""

import base64
import datetime
import http.client
import json
import re
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from driver.console import Failed, step
from driver.paths import ROOT

ANSWER_S = 10
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

    def _connection(self) -> http.client.HTTPConnection:
        if self._context:
            return http.client.HTTPSConnection(self._server.hostname, self._server.port, context=self._context, timeout=ANSWER_S)
        return http.client.HTTPConnection(self._server.hostname, self._server.port, timeout=ANSWER_S)

    def call(self, method: str, path: str, body=None, kind: str = "application/json") -> tuple[int, dict]:
        connection = self._connection()
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), {**self._headers, "Content-Type": kind, "Accept": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            return response.status, json.loads(answer) if answer.startswith(b"{") else {"message": answer.decode(errors="replace")}
        finally:
            connection.close()

    def watch(self, path: str) -> Iterator[dict]:
        """Events, until the server ends them; OSError where it goes away, or has none for long."""
        connection = self._connection()
        try:
            connection.request("GET", path, headers={**self._headers, "Accept": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise Failed(f"GET {path}: {response.status} {response.read().decode(errors='replace')}")
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()

    def must(self, method: str, path: str, body=None, kind: str = "application/json", accept=(200, 201)) -> dict:
        status, answer = self.call(method, path, body, kind)
        if status not in accept:
            raise Failed(f"{method} {path}: {status} {answer.get('message', '')}")
        return answer


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


def settle(api: Api, nodes: list[str]) -> None:
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
