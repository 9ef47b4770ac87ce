"""The binary in a difficult environment: output to a full disk, a closed descriptor, a log that is not read."""

import contextlib
import fcntl
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE_S = 60


def run(*arguments: str, **how) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_BINARY"], *arguments],
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": PATIENCE_S, **how},
    )


def free_ports(count: int) -> list[int]:
    """All are held until all are chosen, so that no two are the same."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def kubeconfig_of(server: str) -> dict:
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}], "users": [{"name": "u", "user": {}}],
    }


def get(url: str) -> tuple[int, str]:
    """The answer, after the server listens."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Output(unittest.TestCase):
    WORDS = (["--help"], ["--version"], ["manager", "--help"], ["manager", "--version"], ["explain", "--help"])

    def test_a_misspelt_word_is_reported_before_a_missing_reason(self):
        for command in ("on", "off", "observe", "override"):
            with self.subTest(command=command):
                done = run(command, "clustr")
                self.assertEqual(2, done.returncode)
                self.assertIn('cluster, found "clustr"', done.stderr)
        self.assertIn("--reason is required", run("off", "cluster", "--yes").stderr)

    def test_explain_run_shows_its_own_usage(self):
        done = run("explain", "run")
        self.assertEqual((2, True), (done.returncode, "tidemark explain run" in done.stderr), done.stderr)

    def test_a_full_disk_is_a_failure(self):
        for words in self.WORDS:
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = run(*words, stdout=full)
                self.assertEqual((1, "tidemark: writing to standard output: No space left on device\n"), (done.returncode, done.stderr))

    def test_so_is_a_closed_output(self):
        for words in self.WORDS:
            with self.subTest(words=words):
                done = run(*words, stdout=None, preexec_fn=lambda: os.close(1))
                self.assertEqual((1, "tidemark: writing to standard output: Bad file descriptor\n"), (done.returncode, done.stderr))

    def test_a_closed_error_output_changes_nothing(self):
        done = run("--version", stderr=None, preexec_fn=lambda: os.close(2))
        self.assertEqual(0, done.returncode)
        self.assertEqual(2, run("nonsense", stderr=None, preexec_fn=lambda: os.close(2)).returncode)


class Executables(unittest.TestCase):
    def test_each_command_in_the_help_has_help(self):
        commands = re.findall(r"^  ([a-z-]+) ", run("--help").stdout, re.M)
        self.assertGreater(len(commands), 20)
        for command in commands:
            with self.subTest(command):
                done = run(command, "--help")
                self.assertEqual((0, f"usage: tidemark {command}"), (done.returncode, done.stdout[:len(f"usage: tidemark {command}")].lower()))

    def test_the_agent_keeps_the_process_id_and_gets_signals(self):
        folder = Path(os.environ["TMPDIR"])
        kubeconfig = folder / "unreachable"
        (port,) = free_ports(1)
        kubeconfig.write_text(json.dumps(kubeconfig_of(f"http://127.0.0.1:{port}")))
        words = ["agent", "--node-name=n", f"--kubeconfig={kubeconfig}", "--kubelet-endpoint=http://127.0.0.1:1", "--metrics-addr=127.0.0.1:0"]
        places = [f"--{flag}={folder}/{flag}" for flag in ("run-dir", "latch-file")]
        process = subprocess.Popen([os.environ["TIDEMARK_BINARY"], *words, *places], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stderr.close)
        lines = iter(process.stderr.readline, "")
        self.assertTrue(any("starting" in line for line in lines))
        self.assertEqual("tidemark-agent", Path(f"/proc/{process.pid}/exe").readlink().name)
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        self.assertEqual(0, process.wait(PATIENCE_S), rest)

    def test_only_tidemark_hadoop_loads_kerberos(self):
        for name in ("tidemark", "tidemark-agent", "tidemark-hadoop"):
            shown = subprocess.run(["ldd", Path(os.environ["TIDEMARK_BINARY"]).with_name(name)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(name == "tidemark-hadoop", "libkrb5" in shown.stdout, name)

    def test_koordlet_is_the_agent(self):
        program = Path(os.environ["TMPDIR"]) / "koordlet"
        program.symlink_to(os.path.abspath(os.environ["TIDEMARK_BINARY"]))
        done = subprocess.run([program, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((0, run("agent", "--help").stdout), (done.returncode, done.stdout))

    def test_a_missing_executable_is_reported_with_its_path(self):
        program = Path(os.environ["TMPDIR"]) / "alone" / "tidemark"
        program.parent.mkdir()
        shutil.copy(os.environ["TIDEMARK_BINARY"], program)
        done = subprocess.run([program, "agent"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        said = f"tidemark: cannot start {program.parent}/tidemark-agent: No such file or directory; `tidemark agent` needs it in the directory of tidemark\n"
        self.assertEqual((1, said), (done.returncode, done.stderr))


class Up(unittest.TestCase):
    def start(self, *arguments: str, **how) -> tuple[subprocess.Popen, str]:
        """`tidemark up` in its own directory; returns it and its health address."""
        [port] = free_ports(1)
        process = subprocess.Popen(
            [os.environ["TIDEMARK_BINARY"], "up", "--pods=false", "--listen", "127.0.0.1:0", "--metrics-addr", f"127.0.0.1:{port}", *arguments],
            stdin=subprocess.DEVNULL, **how,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, f"http://127.0.0.1:{port}"

    def test_an_unread_log_stops_nothing(self):
        out, into = os.pipe()
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(into, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(into, b"x" * 4096)
        os.set_blocking(into, True)
        data = Path(os.environ["TMPDIR"]) / "unread"
        process, health = self.start("--data-dir", str(data), "--log-level", "debug", stdout=subprocess.DEVNULL, stderr=into)
        os.close(into)
        self.assertEqual(200, get(health + "/healthz")[0])
        self.assertIn("\ntidemark_log_lines_dropped_total 0\n", get(health + "/metrics")[1])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(PATIENCE_S), "and it ends in order, without its last lines")
        os.close(out)

    def test_all_parent_directories_of_the_data_are_created(self):
        data = Path(os.environ["TMPDIR"]) / "some" / "where" / "deep"
        process, health = self.start("--data-dir", str(data), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(200, get(health + "/healthz")[0])
        self.assertTrue((data / "kubeconfig").exists())
        self.assertEqual(0o700, data.stat().st_mode & 0o777)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(PATIENCE_S))

    def test_it_does_not_start_if_its_output_fails(self):
        with open("/dev/full", "w") as full:
            process, _ = self.start("--data-dir", os.environ["TMPDIR"] + "/full", stdout=full, stderr=subprocess.PIPE, text=True)
            _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(1, process.returncode)
        self.assertIn("tidemark: writing to standard output: No space left on device\n", said)


class Manager(unittest.TestCase):
    def test_koordinators_command_line_serves_its_probes(self):
        """With Koordinator's program name and the arguments of its manifest, without an API server."""
        folder = Path(os.environ["TMPDIR"])
        program, kubeconfig, log = folder / "koord-manager", folder / "nowhere", folder / "manager.log"
        program.symlink_to(os.path.abspath(os.environ["TIDEMARK_BINARY"]))
        unused, metrics, health = free_ports(3)
        kubeconfig.write_text(json.dumps(kubeconfig_of(f"http://127.0.0.1:{unused}")))
        with open(log, "wb") as into:
            process = subprocess.Popen(
                [program, "--enable-leader-election", f"--metrics-addr=:{metrics}", f"--health-probe-addr=:{health}", "--logtostderr=true",
                 "--leader-election-namespace=koordinator-system", "--config-namespace=koordinator-system", "--v=4", "--feature-gates=",
                 "--sync-period=0", "--enable-pprof=true", f"--kubeconfig={kubeconfig}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=into,
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual((200, "ok\n"), get(f"http://127.0.0.1:{health}/healthz"))
        self.assertEqual((503, "nodes are not listed yet\n"), get(f"http://127.0.0.1:{health}/readyz"))
        self.assertEqual(404, get(f"http://127.0.0.1:{health}/metrics")[0])
        self.assertEqual(200, get(f"http://127.0.0.1:{metrics}/metrics")[0])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(PATIENCE_S))
        warnings = [line for line in log.read_text().splitlines() if "without effect" in line]
        self.assertEqual(1, len(warnings), warnings)
        self.assertIn("--enable-pprof has no effect: no profiles are served", warnings[0])


class Explain(unittest.TestCase):
    def test_an_answer_that_cannot_be_written_is_a_failure(self):
        """With a simulated API server of three answers, so it needs no cluster."""
        class Api(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                answers = {
                    "/api/v1/nodes/n1": {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}},
                    "/api/v1/pods": {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []},
                }
                body = answers.get(self.path.partition("?")[0])
                text = json.dumps(body or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}).encode()
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kubeconfig = Path(os.environ["TMPDIR"]) / "kubeconfig"
        kubeconfig.write_text(json.dumps(kubeconfig_of(f"http://127.0.0.1:{server.server_port}")))
        words = ["explain", "node", "n1", "--kubeconfig", str(kubeconfig)]
        self.assertIn("node n1: offers nothing", run(*words).stdout)
        with open("/dev/full", "w") as full:
            done = run(*words, stdout=full)
        self.assertEqual((1, "tidemark: writing to standard output: No space left on device\n"), (done.returncode, done.stderr))


if __name__ == "__main__":
    unittest.main()
