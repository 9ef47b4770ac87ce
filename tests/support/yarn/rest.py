"""A REST interface of YARN, queried over the loopback and never through a proxy."""

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass

ANSWER_S = 30


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict
    text: str


class Door:
    def __init__(self, port: int, host: str = "127.0.0.1"):
        self.address = f"http://{host}:{port}"

    def ask(self, path: str, method: str = "GET", body: dict | None = None, limit_s: float = ANSWER_S) -> Answer:
        """Returns any answer. OSError if there is none."""
        request = urllib.request.Request(
            self.address + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Accept": "application/json", **({} if body is None else {"Content-Type": "application/json"})},
        )
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=limit_s) as answer:
                return _read(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            return _read(error.code, error.read())
        except http.client.HTTPException as error:
            raise OSError(f"{self.address}{path}: half an answer: {error!r}")

    def get(self, path: str, limit_s: float = ANSWER_S) -> dict:
        answer = self.ask(path, limit_s=limit_s)
        if answer.status != 200:
            raise OSError(f"{self.address}{path} answers {answer.status}: {answer.text[:400]}")
        return answer.body


def _read(status: int, content: bytes) -> Answer:
    text = content.decode(errors="replace")
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    return Answer(status, body if isinstance(body, dict) else {}, text)
