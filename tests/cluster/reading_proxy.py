"""A proxy that reads requests: it terminates TLS with the API server's own certificate and forwards requests one by one over HTTP/1.1.
A rule may answer a request itself, or hold it between its sender and the API server until the test releases it."""

import contextlib
import http.client
import http.server
import json
import os
import random
import socket
import ssl
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

UPSTREAM_S = 600  # watches can be silent for a long time
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "content-length"}
PIECE_BYTES = 65536
REASONS = {409: "Conflict", 429: "TooManyRequests"}
WRITES = {"POST", "PUT", "PATCH", "DELETE"}


@dataclass
class Request:
    method: str
    path: str  # with the query
    body: bytes
    at: float  # monotonic
    status: int = 0  # of the answer, once it exists
    retry_after_s: int | None = None  # Retry-After of the answer, once sent


@dataclass
class Refusal:
    """An answer of the proxy, as an API server or a load balancer would give it."""

    status: int
    retry_after_s: int | None = None


@dataclass
class Held:
    """A request that left its sender and did not reach the API server; or one that was answered, but its sender does not know."""

    request: Request
    answered: bool = False
    _go: threading.Event = field(default_factory=threading.Event)
    _done: threading.Event = field(default_factory=threading.Event)

    def let_go(self, limit_s: float) -> int:
        """Forwards the request; returns the API server's answer."""
        self._go.set()
        if not self._done.wait(limit_s):
            raise AssertionError(f"no answer to {self.request.method} {self.request.path} within {limit_s} s")
        return self.request.status


class ReadingProxy:
    def __init__(self):
        upstream = urllib.parse.urlsplit(os.environ["TIDEMARK_TEST_SERVER"])
        pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
        self._upstream = (upstream.hostname, upstream.port)
        self._trust = ssl.create_default_context(cafile=os.environ["TIDEMARK_TEST_CA_FILE"])
        self._lock = threading.Lock()
        self._matches: Callable[[Request], bool] | None = None
        self._held: Held | None = None
        self._answered = False
        self._caught = threading.Event()
        self.refuse: Callable[[Request], Refusal | None] = lambda request: None
        self.requests: list[Request] = []
        self._open: set[ssl.SSLSocket] = set()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(pki / "server.crt", pki / "server.key")
        self._tls.set_alpn_protocols(["http/1.1"])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def kubeconfig(self, folder: Path) -> Path:
        """The cluster's kubeconfig with the proxy as server."""
        text = Path(os.environ["TIDEMARK_TEST_KUBECONFIG"]).read_text()
        path = folder / f"kubeconfig-{self.port}"
        path.write_text(text.replace(f"https://{self._upstream[0]}:{self._upstream[1]}", f"https://127.0.0.1:{self.port}"))
        path.chmod(0o600)
        return path

    def hold_next(self, matches: Callable[[Request], bool], *, answered: bool = False) -> None:
        """Holds the next matching request, or the API server's answer to it; others pass."""
        with self._lock:
            self._held, self._matches, self._answered = None, matches, answered
            self._caught.clear()

    def held(self, limit_s: float) -> Held:
        if not self._caught.wait(limit_s):
            raise AssertionError(f"no request to hold within {limit_s} s")
        return self._held

    def cut(self) -> None:
        """Closes every open connection in the middle of its transfer."""
        with self._lock:
            ends = list(self._open)
        for end in ends:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(end, socket.SHUT_RDWR)  # not the method of SSLSocket: its own thread may use that

    def close(self) -> None:
        if self._held is not None:
            self._held._go.set()
        self._server.shutdown()
        self._server.server_close()

    # -- for its threads

    def take(self, request: Request) -> Held | None:
        with self._lock:
            self.requests.append(request)
            if self._matches is None or not self._matches(request):
                return None
            self._matches, self._held = None, Held(request, self._answered)
            self._caught.set()
            return self._held

    def upstream(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(*self._upstream, context=self._trust, timeout=UPSTREAM_S)

    def opened(self, plain: socket.socket) -> ssl.SSLSocket:
        connection = self._tls.wrap_socket(plain, server_side=True)
        with self._lock:
            self._open.add(connection)
        return connection

    def closed(self, connection: ssl.SSLSocket) -> None:
        with self._lock:
            self._open.discard(connection)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ReadingProxy

    def setup(self):
        self.request.settimeout(UPSTREAM_S)
        self.request = self.owner.opened(self.request)  # here and not at accept, so that a hanging client blocks no other
        super().setup()

    def finish(self):
        self.owner.closed(self.request)
        with contextlib.suppress(OSError):
            super().finish()
        self.request.close()

    def handle(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            super().handle()

    def log_message(self, *_):
        pass

    def _pass(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, self.path, body, time.monotonic())
        held = self.owner.take(request)
        if held is not None and not held.answered:
            held._go.wait()
        elif refusal := self.owner.refuse(request):
            return self._refuse(request, refusal)
        connection = self.owner.upstream()
        try:
            sent = {key: value for key, value in self.headers.items() if key.lower() not in {*HOP_BY_HOP, "host"}}
            connection.request(self.command, self.path, body or None, sent)
            answer = connection.getresponse()
            if held is None:
                request.status = answer.status
                self._relay(answer)
            else:
                self._relay_held(held, answer)
        except OSError:
            self.close_connection = True
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass

    def _relay_held(self, held: Held, answer: http.client.HTTPResponse) -> None:
        held.request.status = answer.status
        if held.answered:
            held._go.wait()
        held._done.set()  # set before the sender reads the answer: the sender may have given up
        self._relay(answer)

    def _relay(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in HOP_BY_HOP:
                self.send_header(key, value)
        if answer.length is not None:
            self.send_header("Content-Length", str(answer.length))
            self.end_headers()
            self.wfile.write(answer.read())
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while piece := answer.read1(PIECE_BYTES):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, request: Request, refusal: Refusal) -> None:
        body = json.dumps({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": refusal.status,
            "reason": REASONS.get(refusal.status, "ServiceUnavailable"), "message": "refused on the way by a test",
        }).encode()
        self.send_response_only(refusal.status)
        if refusal.retry_after_s is not None:
            self.send_header("Retry-After", str(refusal.retry_after_s))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        # Only now: the sender does not know of an answer that a cut removed.
        request.status, request.retry_after_s = refusal.status, refusal.retry_after_s


class Storm:
    """Refuses this share of all requests, from a seed, in every way that an overloaded API server does."""

    WAYS = (Refusal(429, retry_after_s=1), Refusal(429), Refusal(503, retry_after_s=1), Refusal(503), Refusal(500), Refusal(504))

    def __init__(self, share: float, seed: int):
        self._share, self._random, self._lock = share, random.Random(seed), threading.Lock()
        self.calm = False
        self.happened: dict[int, int] = {}  # index of the way → count

    def enough(self, times: int) -> bool:
        with self._lock:
            return all(self.happened.get(way, 0) >= times for way in range(len(self.WAYS)))

    def __call__(self, request: Request) -> Refusal | None:
        with self._lock:
            if self.calm or self._random.random() >= self._share:
                return None
            way = self._random.randrange(len(self.WAYS))
            self.happened[way] = self.happened.get(way, 0) + 1
            return self.WAYS[way]


class Conflicts:
    """Answers this share of all writes except events with 409, from a seed, as if another writer had always been faster."""

    def __init__(self, share: float, seed: int):
        self._share, self._random, self._lock = share, random.Random(seed), threading.Lock()
        self.calm = False
        self.happened: dict[str, int] = {}  # collection → count

    def __call__(self, request: Request) -> Refusal | None:
        path = urllib.parse.urlsplit(request.path).path
        if request.method not in WRITES or "/events" in path:
            return None
        with self._lock:
            if self.calm or self._random.random() >= self._share:
                return None
            kind = next((part for part in path.split("/") if part in ("nodes", "nodeslos", "nodemetrics", "configmaps", "leases")), "others")
            self.happened[kind] = self.happened.get(kind, 0) + 1
            return Refusal(409)


def is_patch_of(path: str) -> Callable[[Request], bool]:
    return lambda request: request.method == "PATCH" and urllib.parse.urlsplit(request.path).path == path
