"""The supervisor of one cluster: python -m support.cluster.server --state DIR --etcd DIR --kube-apiserver FILE.

Single-threaded: it waits on its socket and on SIGCHLD, and runs one command at a time. Commands and answers are lines of JSON.
The kernel kills etcd and kube-apiserver when the supervisor dies, for any reason (PR_SET_PDEATHSIG through setpriv). The supervisor
dies with the process that started it in the same way, unless it was started to stay.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from support.cluster import programs
from support.cluster.programs import Layout, Ports
from support.patience import PATIENCE_S

START_ATTEMPTS = 3  # another process may take a free port between the choice and the bind
REQUEST_MAX_BYTES = 4096


class NotReady(Exception):
    pass


class Cluster:
    def __init__(self, layout: Layout, apiserver: Path):
        self._layout = layout
        self._apiserver = apiserver
        self._ports = Ports.free()
        self._running: dict[str, subprocess.Popen] = {}
        self._starts: dict[str, int] = {"etcd": 0, "apiserver": 0}

    # -- life of the whole

    def create(self) -> None:
        self._layout.logs.mkdir()
        programs.write_credentials(self._layout)
        programs.write_audit_policy(self._layout)
        programs.write_authentication(self._layout)
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                self.start("etcd")
                self.start("apiserver")
                break
            except NotReady:
                self.end()
                if attempt == START_ATTEMPTS:
                    raise
                shutil.rmtree(self._layout.etcd, ignore_errors=True)
                self._ports = Ports.free()
        programs.write_kubeconfig(self._layout, self._ports)
        programs.write_control(self._layout, sys.executable, Path(__file__).resolve().parents[2])
        programs.write_description(self._layout, self._ports)  # last: its existence means that the cluster is ready

    def end(self) -> None:
        for name in ("apiserver", "etcd"):
            if name in self._running:
                self.kill(name)

    # -- commands

    def start(self, name: str) -> None:
        if self.alive(name):
            self.wait_ready(name)
            return
        command = (
            programs.etcd_command(self._layout, self._ports)
            if name == "etcd"
            else programs.apiserver_command(self._layout, self._ports, self._apiserver)
        )
        with open(self._layout.logs / f"{name}.log", "ab") as log:
            self._running[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )
        self._starts[name] += 1
        self.wait_ready(name)

    def kill(self, name: str) -> None:
        """SIGKILL, like a power loss. Data and ports stay for the next start."""
        child = self._running.pop(name, None)
        if child is not None:
            child.kill()
            child.wait()

    def signal(self, name: str, number: int) -> None:
        if not self.alive(name):
            raise NotReady(f"{name} is not running")
        self._running[name].send_signal(number)
        if number == signal.SIGSTOP:  # the next status shows it
            os.waitid(os.P_PID, self._running[name].pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def alive(self, name: str) -> bool:
        return name in self._running and self._running[name].poll() is None

    def status(self) -> dict:
        result = {}
        for name in ("etcd", "apiserver"):
            child = self._running.get(name)
            code = child.poll() if child else None
            state = "stopped" if child is None else f"died with code {code}" if code is not None else "paused" if _paused(child.pid) else "running"
            result[name] = {"state": state, "pid": child.pid if child else 0, "starts": self._starts[name]}
        return result

    def wait_ready(self, name: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        last = "no answer"
        while time.monotonic() < deadline:
            if not self.alive(name):
                raise NotReady(f"{name} died with code {self._running[name].returncode}: see {self._layout.logs / name}.log")
            try:
                ready, last = self._probe(name)
                if ready:
                    return
            except (OSError, http.client.HTTPException) as error:
                last = str(error)
            time.sleep(0.05)
        raise NotReady(f"{name} not ready after {PATIENCE_S} s ({last}): see {self._layout.logs / name}.log")

    def _probe(self, name: str) -> tuple[bool, str]:
        if name == "etcd":
            request, context = urllib.request.Request(f"http://127.0.0.1:{self._ports.etcd_client}/health"), None
        else:
            # The default namespace is created shortly after /readyz succeeds, and nothing can be created without it.
            token = (self._layout.pki / "admin.token").read_text()
            url = f"https://127.0.0.1:{self._ports.apiserver}"
            context = ssl.create_default_context(cafile=self._layout.pki / "ca.crt")
            for path in ("/readyz", "/api/v1/namespaces/default"):
                request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
                status = self._get(request, context)
                if status != 200:
                    return False, f"{path} answers {status}"
            return True, ""
        status = self._get(request, context)
        return status == 200, f"/health answers {status}"

    @staticmethod
    def _get(request: urllib.request.Request, context) -> int:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        try:
            with opener.open(request, timeout=5) as response:
                response.read()
                return response.status
        except urllib.error.HTTPError as error:
            return error.code


def _paused(pid: int) -> bool:
    """Whether a signal stopped our child, from any sender: it lives, and does not answer."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return False


def obey(cluster: Cluster, request: dict) -> dict:
    command, name = request.get("command"), request.get("program", "")
    if command in ("kill", "start", "restart", "pause", "resume") and name not in ("etcd", "apiserver"):
        return {"error": f"`{command}` wants a program: etcd or apiserver, found `{name}`"}
    match command:
        case "status":
            return cluster.status()
        case "kill":
            cluster.kill(name)
        case "start":
            cluster.start(name)
        case "restart":
            cluster.kill(name)
            cluster.start(name)
        case "pause":
            cluster.signal(name, signal.SIGSTOP)
        case "resume":
            cluster.signal(name, signal.SIGCONT)
        case "stop":
            cluster.end()
        case _:
            return {"error": f"unknown command `{command}`: status, kill, start, restart, pause, resume, stop"}
    return {"ok": True}


def serve(cluster: Cluster, listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(10)
            try:
                line = connection.makefile("rb").readline(REQUEST_MAX_BYTES)
                request = json.loads(line)
                answer = obey(cluster, request)
            except (NotReady, ValueError, OSError, AttributeError) as error:
                request, answer = {}, {"error": str(error)}
            try:
                connection.sendall(json.dumps(answer).encode() + b"\n")
            except OSError:
                pass  # the client is gone, but the command was executed
        if request.get("command") == "stop":
            return


def main() -> int:
    parser = argparse.ArgumentParser(prog="cluster server")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--etcd", type=Path, required=True)
    parser.add_argument("--kube-apiserver", type=Path, required=True)
    options = parser.parse_args()
    layout = Layout(options.state.resolve(), options.etcd.resolve())
    layout.state.mkdir(parents=True, exist_ok=True)
    os.chdir(layout.state)  # a Unix socket's path has at most 107 bytes: bind it by its short name

    def terminate(*_):
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, terminate)
    cluster = Cluster(layout, options.kube_apiserver.resolve())
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("control.sock")
    os.chmod("control.sock", 0o600)
    listener.listen()
    try:
        cluster.create()
        serve(cluster, listener)
    except NotReady as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    finally:
        cluster.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
