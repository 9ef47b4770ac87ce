"""`tidemark up` on a disk that fills up: 507 for writes without space, no acknowledged write is lost, and it continues when space is free.

The disk is a small tmpfs in a mount namespace of this process alone, so nothing is left however the test ends.
"""

import ctypes
import os
import tempfile
import unittest
from pathlib import Path

from contract.client import Client
from contract.memory import Memory

DISK = "24m"
BALLAST_BYTES = 8 << 20  # another program's file on the disk, deleted later
VALUE = "x" * 200_000
WRITES_MAX = 400
MAPS = "/api/v1/namespaces/default/configmaps"

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


def mount_small_disk(folder: Path) -> None:
    """Raises OSError if this process may not mount."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(result: int) -> None:
        if result:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    call(libc.unshare(CLONE_NEWNS))
    call(libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None))
    call(libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", ctypes.c_ulong(0), f"size={DISK}".encode()))


class DiskFull(unittest.TestCase):
    def setUp(self):
        disk = Path(tempfile.mkdtemp())
        try:
            mount_small_disk(disk)
        except OSError as error:
            self.skipTest(f"a disk of its own cannot be mounted here: {error}; run as root")
        self.ballast = disk / "ballast"
        self.ballast.write_bytes(b"\0" * BALLAST_BYTES)
        self.data = disk / "data"
        self.written = Path(tempfile.mkdtemp()) / "up.log"
        self.client = self.start("127.0.0.1:0")

    def start(self, listen: str) -> Client:
        self.memory = Memory([os.environ["TIDEMARK_BINARY"], "up", "--pods=false", "--data-dir", str(self.data), "--listen", listen], self.data)
        self.memory.written = self.written
        self.addCleanup(self.memory.kill)
        self.memory.start()
        client = Client(self.memory.target)
        self.addCleanup(client.close)
        return client

    def write_until_full(self, client: Client, kept: dict[str, str]) -> None:
        for number in range(WRITES_MAX):
            name = f"big-{len(kept)}-{number}"
            answer = client.post(MAPS, {"metadata": {"name": name}, "data": {"value": VALUE}})
            if answer.status == 507:
                self.assertEqual(answer["reason"], "InsufficientStorage")
                self.assertIn("full", answer["message"])
                return
            self.assertEqual(answer.status, 201, answer.body[:500])
            kept[name] = answer["metadata.resourceVersion"]
        self.fail(f"{WRITES_MAX} objects of {len(VALUE)} bytes fitted on a disk of {DISK}")

    def held(self, client: Client) -> dict[str, str]:
        items = client.get(MAPS).json["items"]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items if item["metadata"]["name"].startswith("big-")}

    def test_a_full_disk_refuses_writes_and_loses_nothing(self):
        kept: dict[str, str] = {}
        client = self.client
        self.write_until_full(client, kept)
        self.assertGreater(len(kept), 10)
        self.assertEqual(self.held(client), kept, "reads still work, and refused objects do not exist")

        address = self.memory.target.address
        self.memory.kill()
        client = self.start(f"{address[0]}:{address[1]}")
        self.assertEqual(self.held(client), kept, "after a kill -9 on the full disk")

        self.ballast.unlink()
        more = dict(kept)
        self.write_until_full(client, more)
        self.assertGreater(len(more), len(kept), "freed space was not used")
        self.assertEqual(self.held(client), more)


if __name__ == "__main__":
    unittest.main()
