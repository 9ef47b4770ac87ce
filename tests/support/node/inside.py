"""Process 1 of the node: python -m support.node.inside STATE-FOLDER KUBELET NODE-NAME NODE-IP, started by `unshare --pid --mount`.

It starts containerd, then the kubelet, and restarts a kubelet that ends, as a machine's init would. It reaps zombies. The kernel ends everything in a PID namespace with its process 1,
for any reason, and unmounts everything of a mount namespace with its last process: no shim, container or mount survives it.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.node.settings import TUNABLES, Layout
from support.patience import PATIENCE_S as SERVES_S

FAILED_START_S = 5  # a kubelet that ends earlier has not started
FAILED_STARTS_MAX = 3  # in a row: then it gives up
_started: list[subprocess.Popen] = []  # kept forever: subprocess reaps a dropped child itself, and os.wait() then never reports it
COVERED = ("/run", "/var/lib", "/var/log")  # fixed paths to which programs write


def mounts(layout: Layout) -> None:
    _run("mount", "--make-rshared", "/")  # in this namespace, which shares nothing with the machine's
    for place in COVERED:
        upper, work = layout.covered(place), layout.covered(place, "work")
        upper.mkdir(parents=True)
        work.mkdir(parents=True)
        _run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={place},upperdir={upper},workdir={work}", place)
    for name, value in TUNABLES.items():
        file = layout.tunables / name.replace("/", "-")
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{value}\n")
        _run("mount", "--bind", file, f"/proc/sys/{name}")


def _run(*command) -> None:
    subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, check=True)


def start(layout: Layout, name: str, command: list) -> int:
    with open(layout.logs / f"{name}.log", "ab") as log:
        _started.append(subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True))
    return _started[-1].pid


def serving(layout: Layout, containerd: int) -> bool:
    """Whether containerd answers, after a while. A kubelet without the socket ends at once."""
    deadline = time.monotonic() + SERVES_S
    while time.monotonic() < deadline and os.waitid(os.P_PID, containerd, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        asked = ["ctr", "--address", str(layout.socket), "--connect-timeout", "1s", "version"]
        if layout.socket.exists() and subprocess.run(asked, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return True
        time.sleep(0.05)
    return False


def main() -> int:
    layout, kubelet, name, address = Layout(Path(sys.argv[1])), sys.argv[2], sys.argv[3], sys.argv[4]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # process 1 gets only signals that it handles
    mounts(layout)
    containerd = start(layout, "containerd", ["containerd", "--config", layout.containerd / "config.toml"])
    if not serving(layout, containerd):
        print(f"containerd serves nothing after {SERVES_S} s, or has ended", flush=True)
        return 1
    command = [
        kubelet, "--config", layout.kubelet / "config.json", "--kubeconfig", layout.kubelet / "kubeconfig", "--root-dir", layout.kubelet / "root",
        "--cert-dir", layout.kubelet / "pki", "--hostname-override", name, "--node-ip", address, "--v=2",
    ]
    failed = 0
    while failed < FAILED_STARTS_MAX:
        began, pid = time.monotonic(), start(layout, "kubelet", command)
        while (ended := os.wait())[0] not in (pid, containerd):
            pass  # a shim, or a child of a shim
        what = "containerd" if ended[0] == containerd else "the kubelet"
        print(f"{what} ended with {os.waitstatus_to_exitcode(ended[1])}", flush=True)
        if ended[0] == containerd:
            return 1
        failed = failed + 1 if time.monotonic() - began < FAILED_START_S else 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
