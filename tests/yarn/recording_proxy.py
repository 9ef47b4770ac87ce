"""Loopback ports in front of other ports: forwarded data is recorded, and can be cut."""

import socket
import threading
from contextlib import suppress

PIECE = 65536


class RecordingProxy:
    def __init__(self):
        self._lock = threading.Lock()
        self._listeners: list[socket.socket] = []
        self._open: list[socket.socket] = []
        self._bytes = bytearray()
        self._made = 0

    def __enter__(self) -> "RecordingProxy":
        return self

    def __exit__(self, *_) -> None:
        for each in self._listeners:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.cut()

    def to(self, port: int) -> int:
        """The port that forwards there."""
        listener = socket.create_server(("127.0.0.1", 0))
        self._listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()
        return listener.getsockname()[1]

    def recorded(self) -> bytes:
        with self._lock:
            return bytes(self._bytes)

    def connections(self) -> int:
        """Connections made so far."""
        with self._lock:
            return self._made

    def cut(self) -> None:
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket, port: int) -> None:
        while True:
            try:
                here, _ = listener.accept()
            except OSError:
                return
            try:
                there = socket.create_connection(("127.0.0.1", port), timeout=10)
            except OSError:
                here.close()
                continue
            there.settimeout(None)
            with self._lock:
                self._open += [here, there]
                self._made += 1
            threading.Thread(target=self._carry, args=(here, there), daemon=True).start()

    def _carry(self, here: socket.socket, there: socket.socket) -> None:
        back = threading.Thread(target=self._pump, args=(there, here), daemon=True)
        back.start()
        self._pump(here, there)
        back.join()
        with self._lock:
            self._open = [each for each in self._open if each not in (here, there)]
            here.close()
            there.close()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                with self._lock:
                    self._bytes += piece
                target.sendall(piece)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
