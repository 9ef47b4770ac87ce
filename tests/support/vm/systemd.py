"""systemd as process 1 of a guest: `Vm(files={**systemd.files(), …})`. It is Debian's, from its packages (driver/vm.py), with one service that runs the guest's commands."""

import os
from pathlib import Path

from support.vm import initramfs

PROGRAMS = {"/lib/systemd/systemd": "lib/systemd/systemd", "/bin/systemctl": "bin/systemctl", "/bin/systemd-run": "usr/bin/systemd-run"}
LIBRARIES = ("usr/lib/x86_64-linux-gnu/systemd", "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
# The default dependencies of service units, and the target that starts them.
TARGETS = ("sysinit", "local-fs", "swap", "basic", "sockets", "timers", "paths", "slices", "multi-user", "shutdown")
# A test may run out of memory, and may kill any process except process 1.
SERVICE = b"""[Unit]
Description=runs what the test sends
DefaultDependencies=no
[Service]
ExecStart=/init
StandardOutput=null
OOMPolicy=continue
"""
TARGET = b"""[Unit]
Description=all that there is
DefaultDependencies=no
Wants=guest.service
"""


def files() -> dict[str, bytes]:
    root = Path(os.environ["TIDEMARK_VM_SYSTEMD"])
    found = {"/etc/systemd/system/guest.service": SERVICE, "/etc/systemd/system/default.target": TARGET}
    found |= {f"/lib/systemd/system/{name}.target": (root / f"lib/systemd/system/{name}.target").read_bytes() for name in TARGETS}
    for place, program in PROGRAMS.items():
        needed = initramfs.libraries(root / program, [root / folder for folder in LIBRARIES])
        found[place] = (root / program).read_bytes()
        # Files of the packages keep their paths; the rest is from this machine.
        found |= {f"/{path.relative_to(root)}" if path.is_relative_to(root) else name: path.read_bytes() for name, path in needed.items()}
    return found
