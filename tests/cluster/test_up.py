"""./dev up --samples: three sample nodes, and a reason for every number; nothing stays behind."""

import os
import re
import signal
import socket
import subprocess
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]


def alive_with(word: str) -> list[str]:
    """The command lines on this machine that contain `word`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


class Up(unittest.TestCase):
    def test_samples_are_sold_and_explained(self):
        data = Path(os.environ["TMPDIR"]) / "up"
        done = subprocess.run(
            [ROOT / "dev", "up", "--samples", "--once", "--data-dir", data], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S
        )
        self.assertEqual(0, done.returncode, done.stderr)
        parts = re.split(r"^\$ build/tidemark explain node (\S+)$", done.stdout, flags=re.M)[1:]
        explained = dict(zip(parts[::2], parts[1::2]))
        # By hand, in milli-cores: 60 % of the node, less the use of the system and the online pods, never below 0.
        sold = {"web-1": 32000 * 60 // 100 - 700 - 2100 - 3500, "web-2": 0, "database-1": 0}
        self.assertEqual(set(sold), set(explained))
        for node, text in explained.items():
            self.assertIn(f"node {node}: offers batch-cpu {sold[node]}m and batch-memory ", text)
        self.assertIn("export KUBECONFIG=", done.stdout)
        self.assertEqual([], alive_with(str(data)), "the server ended with the command")

    def stays_up(self, number: int) -> None:
        """Without --once: kubectl works while it runs, and a signal removes everything except the data directory."""
        data = Path(os.environ["TMPDIR"]) / f"stays-{number}"
        with open(f"{data}.out", "w+b") as out:
            child = subprocess.Popen([ROOT / "dev", "up", "--samples", "--data-dir", data], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            printed = Path(out.name)
            wait_for(lambda: child.poll() is not None or "up until Ctrl-C" in printed.read_text(), "the line that it is up", limit_s=PATIENCE_S)
            text = printed.read_text()
            self.assertIsNone(child.poll(), text)
            kubeconfig = re.search(r"^export KUBECONFIG=(\S+)$", text, re.M)[1]
            self.assertEqual(str(data), str(Path(kubeconfig).parent))
            nodes = subprocess.run(
                [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", kubeconfig, "get", "nodes", "-o", "name"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
            )
            self.assertEqual(["node/database-1", "node/web-1", "node/web-2"], sorted(nodes.stdout.split()), nodes.stderr)
            server = re.search(r"https://127\.0\.0\.1:(\d+)", Path(kubeconfig).read_text())
            child.send_signal(number)
            self.assertEqual(128 + number, child.wait(PATIENCE_S), printed.read_text())
        self.assertEqual([], alive_with(str(data)), "no process is left")
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", int(server[1])), timeout=2).close()
        self.assertEqual([], [file.name for file in data.iterdir() if file.name.endswith((".tmp", ".pem", "-journal"))])

    def test_an_interrupt_stops_it(self):
        self.stays_up(signal.SIGINT)

    def test_sigterm_stops_it(self):
        self.stays_up(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
