"""A real KDC of MIT Kerberos in its own directory on loopback ports, and Hadoop's settings for it."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support import owners, ports
from support.yarn.server import Server

REALM = "TIDEMARK.TEST"
HOST = "localhost"  # the name of 127.0.0.1
START_ATTEMPTS = 3
SERVICE_LIFE = "1 hour"


class Kdc:
    """`with Kdc() as kdc:` runs it; it can be stopped and started again. The realm's database stays as long as the directory."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tidemark-kdc-"))
        owners.mark(self.folder)
        self.krb5_conf = self.folder / "krb5.conf"
        self._log = self.folder / "kdc.log"
        self._server: Server

    def __enter__(self) -> "Kdc":
        try:
            for attempt in range(1, START_ATTEMPTS + 1):
                self._write(*ports.free(1))
                if attempt == 1:
                    self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "without meaning: the directory is deleted with the test")
                self._server = Server("kdc", ["krb5kdc", "-n"], self.environment, self.folder / "krb5kdc.out")
                try:
                    self.start()
                    break
                except AssertionError:
                    self._server.end()
                    if attempt == START_ATTEMPTS:
                        raise
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if hasattr(self, "_server"):
            self._server.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        """For every program of Kerberos, including the KDC. The user's own caches are not touched."""
        mine = {"KRB5_CONFIG": str(self.krb5_conf), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"), "KRB5CCNAME": f"FILE:{self.folder}/nobody"}
        return {**os.environ, **mine, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}

    def start(self) -> None:
        said = self._said()
        self._server.launch()
        try:
            self._server.until("the KDC begins", lambda: "commencing operation" in self._said()[len(said):])
        except Exception as error:
            raise AssertionError(f"{error}\n{self._said()[-2000:]}")

    @property
    def alive(self) -> bool:
        return self._server.alive

    def stop(self) -> None:
        self._server.kill()

    def freeze(self) -> None:
        """It keeps its port but does not answer."""
        self._server.freeze()

    def resume(self) -> None:
        self._server.resume()

    def add(self, principal: str, life: str = SERVICE_LIFE) -> Path:
        """With a random key in the keytab."""
        self.admin(f'addprinc -randkey -maxlife "{life}" {principal}')
        return self.keytab(principal)

    def keytab(self, *principals: str, keep_keys: bool = True) -> Path:
        """Keys of these principals; without `keep_keys` they get new keys, and older keytabs become invalid."""
        file = self.folder / f"{'-'.join(principals).replace('/', '_')}{'' if keep_keys else '-new'}.keytab"
        self.admin(f"ktadd {'-norandkey ' if keep_keys else ''}-k {file} {' '.join(principals)}")
        return file

    def kinit(self, keytab: Path, principal: str, life: str = "1h") -> str:
        """A ticket in its own cache, as a user has it; returns the value of KRB5CCNAME."""
        cache = f"FILE:{self.folder}/cache-{principal.replace('/', '_')}"
        self._run("kinit", "-c", cache, "-l", life, "-kt", str(keytab), principal)
        return cache

    def logins_of(self, principal: str) -> int:
        """Logins of the principal, as the KDC counts them."""
        return sum("AS_REQ" in line and "ISSUE" in line and f" {principal}@{REALM} for krbtgt/" in line for line in self._said().splitlines())

    def tickets_for(self, service: str) -> int:
        """Tickets that it issued, for any principal."""
        return sum("TGS_REQ" in line and "ISSUE" in line and f" for {service}@{REALM}" in line for line in self._said().splitlines())

    def admin(self, command: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", command)

    def _run(self, *words: str) -> str:
        done = subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if done.returncode != 0 or "while " in done.stderr:  # kadmin.local exits with 0 even then
            raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _said(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def _write(self, port: int) -> None:
        (self.folder / "kdc.conf").write_text(f"""[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {REALM} = {{
    database_name = {self.folder}/principal
    key_stash_file = {self.folder}/stash
    acl_file = {self.folder}/kadm5.acl
    max_life = 24h
  }}
[logging]
  kdc = FILE:{self._log}
""")
        self.krb5_conf.write_text(f"""[libdefaults]
  default_realm = {REALM}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  rdns = false
[realms]
  {REALM} = {{
    kdc = 127.0.0.1:{port}
  }}
""")


def core(protections: str) -> dict[str, str]:
    return {"hadoop.security.authentication": "kerberos", "hadoop.security.authorization": "true", "hadoop.rpc.protection": protections}


def site(rm_keytab: Path, nm_keytab: Path, admins: str) -> dict[str, str]:
    return {
        "yarn.resourcemanager.principal": f"rm/_HOST@{REALM}", "yarn.resourcemanager.keytab": str(rm_keytab),
        "yarn.nodemanager.principal": f"nm/_HOST@{REALM}", "yarn.nodemanager.keytab": str(nm_keytab),
        "yarn.admin.acl": admins, "yarn.acl.enable": "true",
    }


def java(kdc: Kdc) -> list[str]:
    return [f"-Djava.security.krb5.conf={kdc.krb5_conf}"]
