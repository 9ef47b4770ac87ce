"""The online side: Debian's nginx, which compresses a page anew for each request, and the program that asks it (demo/load)."""

import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from driver import debian_file
from driver.console import Failed
from driver.paths import cache_folder
from support import ports

PAGE = "page.txt"
PAGE_BYTES = 8000  # some tenths of a millisecond of a processor; a server with nothing to do for a request shows no interference
PACKAGE = "nginx"


def provide_nginx() -> Path:
    """That of this machine, or the one file out of its package: installing the package would start a server on all addresses."""
    found = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if found:
        return Path(found)
    version = debian_file.known(PACKAGE, _version)
    return debian_file.provide(PACKAGE, version, "usr/sbin/nginx", cache_folder() / f"nginx-{version}" / "nginx")


def _version(text: str) -> str:
    match = re.search(r"^Version: (\S+)$", text, re.M)
    if not match:
        raise Failed(f"wanted `Version: …` in the package {PACKAGE}, found:\n{text}")
    return match[1]


@dataclass(frozen=True)
class Service:
    nginx: Path
    load: Path
    folder: Path
    port: int

    def web_command(self) -> list[str]:
        return [str(self.nginx), "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), "-e", "stderr"]

    def load_command(self, rate: float, length_s: float, seed: int, warm_up_s: float = 1) -> list[str]:
        return [
            str(self.load), f"--url=http://127.0.0.1:{self.port}/{PAGE}", f"--rate={rate:.0f}", f"--length={length_s:.0f}s", f"--warm-up={warm_up_s:.0f}s",
            f"--seed={seed}",
        ]


def write(nginx: Path, load: Path, folder: Path, workers: int) -> Service:
    folder.mkdir(parents=True, exist_ok=True)
    service = Service(nginx, load, folder, ports.free(1)[0])
    (folder / PAGE).write_text(_page())
    (folder / "nginx.conf").write_text(_settings(folder, service.port, workers))
    return service


def _page() -> str:
    """Words that compress like text, the same each time."""
    chance = random.Random(1)
    words = ["".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(chance.randint(2, 9))) for _ in range(2000)]
    return " ".join(chance.choice(words) for _ in range(PAGE_BYTES // 6))[:PAGE_BYTES]


def _settings(folder: Path, port: int, workers: int) -> str:
    temporary = "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""# Made anew by each run.
daemon off;
user root;  # the page is in a directory that only this user may read
worker_processes {workers};
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  types {{ text/plain txt; }}
  gzip on;
  gzip_types text/plain;
  gzip_comp_level 6;
{temporary}  server {{
    listen 127.0.0.1:{port} reuseport;
    root {folder};
  }}
}}
"""
