"""Ports for servers of a fixture that are killed and restarted."""

import random
import socket
from pathlib import Path

FIRST, LAST = 20000, 29999  # used as far as the kernel's ephemeral range leaves them
LOWEST, HIGHEST = 1024, 65535
ROOM = 1000  # minimum number of ports: parallel test runs draw from the same ones
ATTEMPTS = 1000


def free(count: int) -> list[int]:
    """Free ports outside the kernel's ephemeral range: while a server is down, no other program gets its port by chance.
    Another process may take one before it is bound: the starter of a server tries again."""
    first, last = window(*of_the_kernel())
    found: list[int] = []
    for _ in range(ATTEMPTS):
        port = random.randint(first, last)
        if port not in found and _bindable(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports between {first} and {last}")


def window(low: int, high: int) -> tuple[int, int]:
    """First and last port to draw from if the kernel hands out low to high: none of its range, unless that is nearly all."""
    rooms = [(FIRST, min(LAST, low - 1)), (max(FIRST, high + 1), LAST), (LOWEST, low - 1), (high + 1, HIGHEST)]
    return next((room for room in rooms if room[1] - room[0] + 1 >= ROOM), (FIRST, LAST))


def _bindable(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def of_the_kernel() -> tuple[int, int]:
    try:
        low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
        return low, high
    except (OSError, ValueError):
        return LAST + 1, HIGHEST
