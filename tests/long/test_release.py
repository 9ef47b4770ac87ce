"""./dev release: its output starts without other files, and resolves names by /etc/hosts and by DNS; the one for arm64 runs in emulation."""

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

from demo import samples
from driver import build, packages
from driver.console import Failed
from release import binaries, sysroot

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
BUILD_S = 3600
PATIENCE_S = 60
UNIT_TEST_S = 1800
CHROOT = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin")
BY_HOSTS, BY_DNS = "api.hosts.test", "api.dns.test"
CLONE_NEWNET, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8913, 0x8914, 1


def network_of_its_own() -> None:
    """For this process and its children: only lo, so that its port 53 is free. Raises OSError if it is not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket() as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", answer)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


class Dns(threading.Thread):
    """Knows one name: its A record is 127.0.0.1. Answers everything else with no record."""

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


def release_for(*words: str) -> None:
    done = subprocess.run([ROOT / "dev", "release", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_S)
    if done.returncode != 0:
        raise AssertionError(f"./dev release {' '.join(words)}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


class Arm64(unittest.TestCase):
    """Built here, run in qemu's emulation. On an arm64 machine, Release tests the same."""

    ARCHITECTURE = "arm64"
    # The deciding code and its basis: unsigned characters, rounding, no SSE.
    UNIT_TESTS = ["base_test", "model_test",
                  "policy_sell_test", "policy_waterline_test", "policy_protect_test", "policy_evict_test", "policy_settings_test", "policy_state_test", "policy_admission_test", "policy_explain_test", "policy_single_node_test", "policy_route_test"]

    @classmethod
    def setUpClass(cls):
        if binaries.this_architecture() == cls.ARCHITECTURE:
            raise unittest.SkipTest("this machine is one itself")
        try:
            packages.setup([package for package, program in packages.EMULATOR.items() if shutil.which(program) is None])
            sysroot.provide(cls.ARCHITECTURE)
        except Failed as error:
            raise unittest.SkipTest(f"a release for {cls.ARCHITECTURE} cannot be built or run here: {error}")
        release_for("--arch", cls.ARCHITECTURE)
        cls.emulator = binaries.EMULATORS[cls.ARCHITECTURE]
        cls.binary = DIST / binaries.file_name(cls.ARCHITECTURE)

    def run_it(self, *words) -> subprocess.CompletedProcess:
        return subprocess.run([self.emulator, self.binary, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)

    def test_its_bill_of_materials_has_its_architecture(self):
        bill = json.loads((DIST / f"{self.binary.name}.spdx.json").read_text())
        linked = {package["name"]: package["externalRefs"][0]["referenceLocator"] for package in bill["packages"][1:]}
        self.assertEqual([], [place for place in linked.values() if not place.endswith("?arch=arm64")])
        self.assertLessEqual({"libc6-dev", "libstdc++-12-dev", "libssl-dev", "libnghttp2-dev", "libyaml-cpp-dev", "libsqlite3-dev"}, linked.keys())

    def test_it_has_its_architecture_and_prints_help(self):
        headers = subprocess.run(["llvm-readelf-19", "--file-header", self.binary], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        self.assertRegex(headers.stdout, r"Machine: +AArch64")
        done = self.run_it("--help")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("tidemark agent", done.stdout)

    def test_up_accepts_samples_and_explains_their_nodes(self):
        data = Path(tempfile.mkdtemp())
        log = data / "up.log"
        with open(log, "wb") as out:
            server = subprocess.Popen([self.emulator, self.binary, "up", "--pods=false", "--data-dir", data, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        kubeconfig = Path(wait_for_kubeconfig(self, server, log))
        api = samples.Api(kubeconfig)
        nodes = [each["metadata"]["name"] for each in samples.load(api) if each["kind"] == "Node"]
        self.assertEqual(sorted(nodes), sorted(each["metadata"]["name"] for each in api.must("GET", "/api/v1/nodes")["items"]))
        api.must("PATCH", f"/api/v1/nodes/{nodes[0]}", {"metadata": {"labels": {"tried-on": "arm64"}}}, "application/merge-patch+json")
        found = api.must("GET", "/api/v1/nodes?labelSelector=tried-on%3Darm64")["items"]
        self.assertEqual([nodes[0]], [each["metadata"]["name"] for each in found])
        self.assertEqual(404, api.call("GET", "/api/v1/nodes/nowhere")[0])
        deadline = time.monotonic() + PATIENCE_S
        while "kubernetes.io/batch-cpu" not in api.must("GET", f"/api/v1/nodes/{nodes[0]}")["status"].get("allocatable", {}):
            self.assertLess(time.monotonic(), deadline, log.read_text()[-2000:])
            time.sleep(0.2)
        done = self.run_it("explain", "node", nodes[0], "--kubeconfig", kubeconfig)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(nodes[0], done.stdout)

    def test_unit_tests_of_deciding_code(self):
        binaries.build_foreign(self.ARCHITECTURE, self.UNIT_TESTS)
        listed = dict(build.listed(binaries.preset_of(self.ARCHITECTURE), "unit-tests"))
        for name in self.UNIT_TESTS:
            with self.subTest(name):
                done = subprocess.run([self.emulator, listed[name], "--gtest_brief=1"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=UNIT_TEST_S)
                self.assertEqual(0, done.returncode, done.stdout[-6000:] + done.stderr[-2000:])


def wait_for_kubeconfig(case: unittest.TestCase, server: subprocess.Popen, log: Path) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := re.search(r"^kubeconfig +(\S+)$", log.read_text(), re.M)):
        case.assertIsNone(server.poll(), log.read_text())
        case.assertLess(time.monotonic(), deadline, log.read_text())
        time.sleep(0.05)
    return found[1]


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        release_for()
        cls.binary = next(file for file in DIST.iterdir() if re.fullmatch(r"tidemark-[\d.]+-linux-\w+", file.name))

    def test_the_checksums_match_the_files(self):
        lines = dict(reversed(line.split("  ", 1)) for line in (DIST / "SHA256SUMS").read_text().splitlines())
        self.assertEqual({file.name for file in DIST.iterdir()} - {"SHA256SUMS"}, lines.keys())
        for name, digest in lines.items():
            self.assertEqual(digest, hashlib.sha256((DIST / name).read_bytes()).hexdigest(), name)
        checked = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=DIST, capture_output=True, text=True)
        self.assertEqual(0, checked.returncode, checked.stdout)

    def test_it_runs_without_other_files(self):
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
            server = subprocess.Popen(
                [CHROOT, root, "/tidemark", "up", "--pods=false", "--data-dir", "/data", "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env={}
            )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        found = wait_for_kubeconfig(self, server, log)

        def name_it(name: str) -> None:
            """By name, with the certificate of 127.0.0.1: only name resolution is tested."""
            kubeconfig = json.loads((root / found.lstrip("/")).read_text())
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
