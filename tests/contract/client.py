"""A client with only HTTP, TLS and JSON: it tests servers, so it shares no code with them."""

import http.client
import json
import socket
import ssl
import time
import urllib.parse
from dataclasses import dataclass, field

ANSWER_S = 30
SHOWN_MAX = 3000  # characters of a body in a failure's transcript

JSON = "application/json"
YAML = "application/yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Broken(Exception):
    """The answer is invalid for any API server: not HTTP, not JSON, or too late."""


@dataclass(frozen=True)
class Target:
    server: str
    ca: str  # a file
    token: str

    @property
    def address(self) -> tuple[str, int]:
        url = urllib.parse.urlsplit(self.server)
        return url.hostname, url.port or 443


@dataclass
class Answer:
    request: str  # for the transcript
    status: int
    headers: http.client.HTTPMessage
    body: bytes
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.warnings = self.headers.get_all("Warning") or []

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise Broken(f"no JSON in the answer to {self.request}: {error}: {self.body[:SHOWN_MAX]!r}") from None

    def __getitem__(self, key):
        """answer["metadata.name"], answer["status.conditions.0.type"]; KeyError names the whole path."""
        return at(self.json, key)

    def get(self, key, default=None):
        return at(self.json, key, default)


_REQUIRED = object()


def at(value, path: str, default=_REQUIRED):
    """A dotted path of members and indexes. If a member's name has dots, use slashes: metadata/labels/a.b."""
    for step in path.split("/" if "/" in path else "."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, TypeError, ValueError):
            if default is _REQUIRED:
                raise KeyError(f"no `{step}` of `{path}` in {json.dumps(value)[:SHOWN_MAX]}") from None
            return default
    return value


class Client:
    """One connection, one user. Everything sent and received is kept in `transcript` until the owner clears it."""

    def __init__(self, target: Target, *, token: str | None = None):
        self.target = target
        self._token = target.token if token is None else token
        self._tls = ssl.create_default_context(cafile=target.ca)
        self._connection: http.client.HTTPSConnection | None = None
        self.transcript: list[str] = []

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def request(self, method: str, path: str, body=None, *, content: str = JSON, accept: str = JSON, headers: dict | None = None, **query) -> Answer:
        """`body`: bytes are sent unchanged, other values as JSON. Query parameters are keywords; None values are left out."""
        path = with_query(path, query)
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        fields = {"Accept": accept, **({"Content-Type": content} if sent is not None else {}), **(headers or {})}
        if self._token and "Authorization" not in fields:
            fields["Authorization"] = f"Bearer {self._token}"
        response, data = self._exchange(method, path, sent, fields)
        answer = Answer(f"{method} {path}", response.status, response.headers, data)
        self._note(method, path, sent, fields, answer)
        return answer

    def _exchange(self, method, path, sent, fields):
        for attempt in (1, 2):
            fresh = self._connection is None
            if fresh:
                self._connection = http.client.HTTPSConnection(*self.target.address, context=self._tls, timeout=ANSWER_S)
            try:
                self._connection.request(method, path, sent, fields)
                response = self._connection.getresponse()
                return response, response.read()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError) as error:
                # A server may close an idle connection at any time; a new one must work.
                self.close()
                if fresh or attempt == 2:
                    raise Broken(f"{method} {path}: {error}") from error
            except (OSError, http.client.HTTPException) as error:
                self.close()
                raise Broken(f"{method} {path}: {type(error).__name__}: {error}") from error

    def _note(self, method, path, sent, fields, answer: Answer) -> None:
        shown = {key: value for key, value in fields.items() if key != "Authorization" and value != JSON}
        self.transcript.append(f">>> {method} {path} {shown or ''}\n{_shown(sent)}<<< {answer.status} {answer.headers.get('Content-Type', '')}\n{_shown(answer.body)}")

    # -- the verbs

    def get(self, path, **options) -> Answer:
        return self.request("GET", path, **options)

    def post(self, path, body, **options) -> Answer:
        return self.request("POST", path, body, **options)

    def put(self, path, body, **options) -> Answer:
        return self.request("PUT", path, body, **options)

    def merge(self, path, body, **options) -> Answer:
        return self.request("PATCH", path, body, content=MERGE, **options)

    def strategic(self, path, body, **options) -> Answer:
        return self.request("PATCH", path, body, content=STRATEGIC, **options)

    def json_patch(self, path, *operations, **options) -> Answer:
        return self.request("PATCH", path, list(operations), content=JSON_PATCH, **options)

    def delete(self, path, body=None, **options) -> Answer:
        return self.request("DELETE", path, body, **options)

    def watch(self, path, *, accept: str = JSON, **query) -> "Watch":
        return Watch(self, with_query(path, {"watch": "true", **query}), accept)


class Watch:
    """A stream of events on its own connection. `with client.watch(…) as watch: watch.next("ADDED")`."""

    def __init__(self, client: Client, path: str, accept: str):
        self._client, self._path = client, path
        self._connection = http.client.HTTPSConnection(*client.target.address, context=client._tls, timeout=ANSWER_S)
        fields = {"Accept": accept}
        if client._token:
            fields["Authorization"] = f"Bearer {client._token}"
        self._connection.request("GET", path, headers=fields)
        self.response = self._connection.getresponse()
        client.transcript.append(f">>> GET {path}\n<<< {self.response.status}\n")

    @property
    def status(self) -> int:
        return self.response.status

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        # The response holds the socket too: without a shutdown the server would notice nothing.
        if self._connection.sock is not None:
            try:
                self._connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.response.close()
        self._connection.close()

    def event(self) -> dict | None:
        """The next event; None at the regular end of the stream."""
        try:
            line = self.response.readline()
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"watch {self._path}: no event: {type(error).__name__}: {error}") from error
        if not line:
            self._client.transcript.append("<<< (end of the watch)\n")
            return None
        self._client.transcript.append(f"<<< {line.decode(errors='replace')[:SHOWN_MAX]}")
        try:
            return json.loads(line)
        except ValueError as error:
            raise Broken(f"watch {self._path}: a line that is no event: {line[:SHOWN_MAX]!r}") from error

    def next(self, *types: str) -> dict:
        """The object of the next event, which must be of one of the types."""
        event = self.event()
        if event is None:
            raise AssertionError(f"watch {self._path} ended; wanted an event {' or '.join(types)}")
        if event["type"] not in types:
            raise AssertionError(f"wanted an event {' or '.join(types)}, found {event['type']} {json.dumps(event['object'])[:SHOWN_MAX]}")
        return event["object"]

    def rest(self) -> list[dict]:
        """All events up to the end of the stream."""
        events = []
        while (event := self.event()) is not None:
            events.append(event)
        return events


def with_query(path: str, query: dict) -> str:
    pairs = [(key, value) for key, value in query.items() if value is not None]
    if not pairs:
        return path
    return path + ("&" if "?" in path else "?") + urllib.parse.urlencode(pairs)


def _shown(data: bytes | None) -> str:
    if not data:
        return ""
    text = data.decode(errors="replace")
    return text.rstrip() + "\n" if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]} … ({len(text)} characters)\n"


def wait_until(condition, *, seconds: float = ANSWER_S, what: str):
    """Polls until the condition is true, for asynchronous effects of a request."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)
