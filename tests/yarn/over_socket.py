"""Our copilot as a process of a test, queried over its socket."""

import http.client
import json
import socket

from cluster.tidemark_process import Component, wait_for


class OverSocket(http.client.HTTPConnection):
    def __init__(self, path: str):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Copilot(Component):
    """As on a node, with its own socket."""

    def __init__(self, folder: str, web_port: int, *more: str):
        self.socket = f"{folder}/copilot.sock"
        super().__init__("yarn-copilot", f"--server-endpoint={self.socket}", f"--node-manager-endpoint=127.0.0.1:{web_port}", "--list-age=0s", *more)
        wait_for(lambda: "serving socket=" in self.log, "an open socket", self)

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, object]:
        connection = OverSocket(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text[:1] in ("[", "{", '"') else text

    def get(self, path: str):
        status, body = self.ask("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {body}\n{self.log[-2000:]}")
        return body

    def names(self) -> list[str]:
        return [each["name"] for each in self.get("/v1/containers")]

    def seen(self) -> dict[str, dict]:
        return {each["id"]: each for each in self.get("/tidemark/v1/containers")["containers"]}

    def running(self) -> dict[str, dict]:
        """Containers with processes."""
        return {name: each for name, each in self.seen().items() if each["state"] == "RUNNING" and each["use"] and each["use"]["processes"]}
