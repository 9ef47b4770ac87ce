"""Ports for servers of a fixture that are killed and started again."""

import random
import socket
from pathlib import Path

FIRST, LAST = 20000, 29999
ATTEMPTS = 1000


def free(count: int) -> list[int]:
    """Ports that nobody listens on, below those that the kernel hands to whoever asks for any: while a server is down, no neighbour gets its
    port by chance. Somebody may take one before it is bound: whoever starts a server tries again."""
    last = min(LAST, _first_of_the_kernel() - 1)
    found: list[int] = []
    for _ in range(ATTEMPTS):
        port = random.randint(FIRST, last)
        if port not in found and _bindable(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports between {FIRST} and {last}")


def _bindable(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def _first_of_the_kernel() -> int:
    try:
        return max(int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]), FIRST + 1000)
    except (OSError, ValueError, IndexError):
        return LAST + 1
