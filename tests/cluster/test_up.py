"""./dev up as a newcomer types it: three sample nodes, and a reason for every number; nothing stays behind."""

import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Up(unittest.TestCase):
    def test_samples_are_sold_and_explained(self):
        data = Path(os.environ["TMPDIR"]) / "up"
        done = subprocess.run(
            [ROOT / "dev", "up", "--once", "--data-dir", data], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
        )
        self.assertEqual(0, done.returncode, done.stderr)
        parts = re.split(r"^\$ build/tidemark explain node (\S+)$", done.stdout, flags=re.M)[1:]
        explained = dict(zip(parts[::2], parts[1::2]))
        # By hand, in milli-cores: 60 % of the node, less what the system and the online pods use, never below 0.
        sold = {"web-1": 32000 * 60 // 100 - 700 - 2100 - 3500, "web-2": 0, "database-1": 0}
        self.assertEqual(set(sold), set(explained))
        for node, text in explained.items():
            self.assertIn(f"node {node}: offers batch-cpu {sold[node]}m and batch-memory ", text)
        self.assertIn("export KUBECONFIG=", done.stdout)
        log = (data / "up.log").read_text()
        address = re.search(r"https://127\.0\.0\.1:(\d+)", log)
        self.assertIsNotNone(address, log)
        with self.assertRaises(OSError):  # the server ended with the command
            import socket

            socket.create_connection(("127.0.0.1", int(address[1])), timeout=2).close()


if __name__ == "__main__":
    unittest.main()
