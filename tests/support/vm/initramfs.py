"""The content of the guest as an archive that a kernel unpacks into its first file system (cpio, "newc"). It needs no root: device files are only entries."""

import os
import re
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

BUSYBOX = "/bin/busybox"
INIT = Path(__file__).with_name("init.sh")
FOLDERS = ("/bin", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/tmp")
CONSOLE = (5, 1)  # the kernel opens it for process 1 before anything is mounted
ELF = b"\x7fELF"


def make(busybox: Path, files: dict[str, Path | bytes]) -> bytes:
    """`files`: path in the guest → a file or its content. Programs bring their libraries; content that starts with #! is executable."""
    whole: dict[str, Path | bytes] = {BUSYBOX: busybox, "/init": INIT.read_bytes(), **files}
    for each in (busybox, *files.values()):
        if isinstance(each, Path):
            whole |= {name: path for name, path in libraries(each).items() if name not in whole}
    archive = _Archive()
    for folder in sorted({*FOLDERS, *(str(parent) for name in whole for parent in PurePosixPath(name).parents)} - {"/"}):
        archive.add(folder, stat.S_IFDIR | 0o755)
    archive.add("/dev/console", stat.S_IFCHR | 0o600, device=CONSOLE)
    for name, file in whole.items():
        content = file if isinstance(file, bytes) else file.read_bytes()
        archive.add(name, stat.S_IFREG | (0o755 if content.startswith((ELF, b"#!")) else 0o644), content)
    return archive.whole()


def libraries(program: Path, first: Sequence[Path] = ()) -> dict[str, Path]:
    """The shared libraries that it needs here, where the loader looks for them, with the directories `first` before others; none for static programs and other files."""
    with open(program, "rb") as file:
        if file.read(len(ELF)) != ELF:
            return {}
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, first))} if first else None
    done = subprocess.run(["ldd", str(program)], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        if "not a dynamic executable" in done.stderr + done.stdout or "statically linked" in done.stdout:
            return {}
        raise ValueError(f"ldd {program}: {(done.stderr or done.stdout).strip()}")
    return parse_ldd(done.stdout, program)


def parse_ldd(text: str, program: Path) -> dict[str, Path]:
    found = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"\s*(?:(\S+) => )?(\S.*?) \(0x[0-9a-f]+\)", line):
            if match[2].startswith("/"):
                found[match[2]] = Path(match[2])
        elif "not found" in line:
            raise ValueError(f"{program} needs a library that is not here: {line.strip()}")
    return found


class _Archive:
    def __init__(self):
        self._parts: list[bytes] = []
        self._entries = 0

    def add(self, path: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        if not path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise ValueError(f"wanted a path in the guest from its root, found `{path}`")
        self._entry(path[1:], mode, content, device)

    def _entry(self, name: str, mode: int, content: bytes, device: tuple[int, int]) -> None:
        self._entries += 1
        encoded = name.encode() + b"\0"
        # number, mode, uid, gid, links, time, size, device of the file (2), device number of a device file (2), length of the name, check sum
        fields = (self._entries, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        self._parts += [header, b"\0" * (-len(header) % 4), content, b"\0" * (-len(content) % 4)]

    def whole(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"", (0, 0))
        return b"".join(self._parts)
