"""A real PostgreSQL server of a test's own, on loopback, without durability: its directory is deleted with the test."""

import os
import pwd
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import owners, ports
from support.yarn.server import Server

DEBIAN = "/usr/lib/postgresql"
USER = "postgres"  # the server refuses to run as root
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "unix_socket_directories": "", "listen_addresses": "127.0.0.1"}


def programs() -> Path | None:
    """The directory of initdb and postgres."""
    found = sorted(Path(DEBIAN).glob("*/bin/postgres"))
    return found[-1].parent if found else None


class Postgres:
    """`with Postgres() as server:` runs it; `server.where` is its address as libpq reads it."""

    def __init__(self):
        self.bin = programs()
        if self.bin is None:
            raise unittest.SkipTest("PostgreSQL is not installed")
        self.folder = Path(tempfile.mkdtemp(prefix="tidemark-postgres-", dir="/tmp"))  # the directory of a test run is closed to other users
        owners.mark(self.folder)
        self._as_user = []
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            self._as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--pdeathsig", "KILL", "--"]
            self.folder.chmod(0o755)
            self.data.mkdir(mode=0o700)
            os.chown(self.data, user.pw_uid, user.pw_gid)
        self._server: Server | None = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def __enter__(self) -> "Postgres":
        try:
            done = subprocess.run(
                [*self._as_user, self.bin / "initdb", "--no-sync", "--auth=trust", f"--username={USER}", f"--pgdata={self.data}"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, cwd="/",
            )
            if done.returncode != 0:
                raise AssertionError(f"initdb: {done.stdout}{done.stderr}")
            (port,) = ports.free(1)
            settings = [word for name, value in {**FAST, "port": port}.items() for word in ("-c", f"{name}={value}")]
            self._server = Server("postgres", [*self._as_user, str(self.bin / "postgres"), "-D", str(self.data), *settings], {**os.environ}, self.folder / "postgres.log")
            self._server.launch()
            self.where = f"host=127.0.0.1 port={port} user={USER} dbname=postgres"
            self._server.until("the server is ready", lambda: "ready to accept connections" in self._server.said())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if self._server is not None:
            self._server.end()
        shutil.rmtree(self.folder, ignore_errors=True)
