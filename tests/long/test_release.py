"""./dev release: what it leaves starts where nothing is but itself, and finds names by /etc/hosts and by DNS."""

import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
BUILD_S = 3600
PATIENCE_S = 60
CHROOT = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin")
BY_HOSTS, BY_DNS = "api.hosts.test", "api.dns.test"
CLONE_NEWNET, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8913, 0x8914, 1


def network_of_its_own() -> None:
    """For this process and its children: lo alone, so that port 53 of it is free. Raises OSError where that may not be."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket() as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", answer)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


class Dns(threading.Thread):
    """Knows one name: its A record is 127.0.0.1. Answers everything else with none."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))

    def run(self) -> None:
        while True:
            query, who = self._socket.recvfrom(512)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode())
                at += 1 + query[at]
            end, kind = at + 5, struct.unpack(">H", query[at + 1 : at + 3])[0]
            name = ".".join(labels)
            self.asked.append(name)
            record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes((127, 0, 0, 1)) if name == BY_DNS and kind == 1 else b""
            head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, int(bool(record)), 0, 0)
            self._socket.sendto(head + query[12:end] + record, who)


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([ROOT / "dev", "release"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_S)
        if done.returncode != 0:
            raise AssertionError(f"./dev release:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        cls.binary = next(file for file in DIST.iterdir() if re.fullmatch(r"tidemark-[\d.]+-linux-\w+", file.name))

    def test_one_of_arm64_runs_under_emulation(self):
        """Built beside the first one's folder: dist/ is that one's."""
        emulator = shutil.which("qemu-aarch64-static")
        if emulator is None:
            self.skipTest("qemu-user-static is not installed")
        with tempfile.TemporaryDirectory() as kept:
            shutil.copytree(DIST, kept, dirs_exist_ok=True)
            self.addCleanup(shutil.copytree, kept, DIST, dirs_exist_ok=True)
            done = subprocess.run([ROOT / "dev", "release", "--arch=arm64"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_S)
            self.assertEqual(0, done.returncode, done.stdout[-2000:] + done.stderr[-2000:])
            binary = next(DIST.glob("*-linux-arm64"))
            sbom = json.loads(binary.with_name(f"{binary.name}.spdx.json").read_text())
            shutil.copy(binary, f"{kept}/arm64")
            self.assertTrue(all("?arch=arm64" in package["externalRefs"][0]["referenceLocator"] for package in sbom["packages"][1:]))
            self.assertIn("libssl-dev", [package["name"] for package in sbom["packages"]])
            data = tempfile.mkdtemp()
            up = subprocess.Popen([emulator, f"{kept}/arm64", "up", "--data-dir", data, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.addCleanup(up.wait)
            self.addCleanup(up.kill)
            kubeconfig = next(found[1] for line in up.stdout if (found := re.match(r"kubeconfig +(\S+)$", line)))
            asked = subprocess.run([emulator, f"{kept}/arm64", "explain", "node", "nowhere", "--kubeconfig", kubeconfig], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(1, asked.returncode, asked.stdout)
            self.assertIn("nowhere", asked.stderr)

    def test_the_checksums_are_those_of_the_files(self):
        lines = dict(reversed(line.split("  ", 1)) for line in (DIST / "SHA256SUMS").read_text().splitlines())
        self.assertEqual({file.name for file in DIST.iterdir()} - {"SHA256SUMS"}, lines.keys())
        for name, digest in lines.items():
            self.assertEqual(digest, hashlib.sha256((DIST / name).read_bytes()).hexdigest(), name)
        checked = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=DIST, capture_output=True, text=True)
        self.assertEqual(0, checked.returncode, checked.stdout)

    def test_it_runs_where_nothing_else_is(self):
        try:
            network_of_its_own()
        except OSError as error:
            self.skipTest(f"a root and a network of its own cannot be made here: {error}; run as root")
        root = Path(tempfile.mkdtemp())
        (root / "etc").mkdir()
        (root / "etc" / "hosts").write_text(f"127.0.0.1 localhost {BY_HOSTS}\n")
        (root / "etc" / "resolv.conf").write_text("nameserver 127.0.0.1\n")
        (root / "tidemark").write_bytes(self.binary.read_bytes())
        (root / "tidemark").chmod(0o755)

        def run(*words: str) -> subprocess.CompletedProcess:
            return subprocess.run([CHROOT, root, "/tidemark", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={}, timeout=PATIENCE_S)

        version = run("--version")
        self.assertEqual((0, f"tidemark {self.binary.name.split('-')[1]}\n"), (version.returncode, version.stdout), version.stderr)

        log = root / "up.log"
        with open(log, "wb") as out:
            up = subprocess.Popen(
                [CHROOT, root, "/tidemark", "up", "--data-dir", "/data", "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env={}
            )
        self.addCleanup(up.wait)
        self.addCleanup(up.kill)
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(r"^kubeconfig +(\S+)$", log.read_text(), re.M)):
            self.assertIsNone(up.poll(), log.read_text())
            self.assertLess(time.monotonic(), deadline, log.read_text())
            time.sleep(0.05)
        def name_it(name: str) -> None:
            """By name, and with the certificate of 127.0.0.1: it is the way there that is tried."""
            kubeconfig = json.loads((root / found[1].lstrip("/")).read_text())
            cluster = kubeconfig["clusters"][0]["cluster"]
            cluster |= {"server": cluster["server"].replace("127.0.0.1", name), "tls-server-name": "127.0.0.1"}
            (root / "named").write_text(json.dumps(kubeconfig))
            (root / "named").chmod(0o600)

        dns = Dns()
        dns.start()
        for name in (BY_HOSTS, BY_DNS):
            with self.subTest(name):
                name_it(name)
                done = run("explain", "node", "nowhere", "--kubeconfig", "/named")
                self.assertEqual(1, done.returncode)
                self.assertIn('node "nowhere"', done.stderr.replace("nodes", "node"))
        self.assertIn(BY_DNS, dns.asked)
        self.assertNotIn(BY_HOSTS, dns.asked)
        name_it("api.nowhere.test")
        self.assertIn("api.nowhere.test", run("explain", "node", "nowhere", "--kubeconfig", "/named").stderr)


if __name__ == "__main__":
    unittest.main()
