"""./dev setup: everything by Debian package name. Costs one dpkg-query when nothing is missing."""

import os
import subprocess

from driver import processes
from driver.console import Failed, say, step

# Why each is here: docs/decisions/0001-dependencies.md.
PACKAGES = [
    # compile, link, format, lint
    "clang-19", "lld-19", "llvm-19", "libclang-rt-19-dev", "clang-tidy-19", "clang-format-19",
    "g++", "mold", "ccache", "ninja-build", "cmake", "pkg-config", "tzdata",
    # libraries, each with its static archive
    "libssl-dev", "libnghttp2-dev", "libyaml-cpp-dev", "libsqlite3-dev", "libexpat1-dev", "zlib1g-dev", "libgtest-dev",
    # shared, for tidemark-hadoop alone
    "libkrb5-dev",
    # the test fixture and the driver
    "etcd-server", "openssl", "jq", "curl", "ca-certificates", "git", "util-linux",
]
# Package → its program. Only the groups `node`, `vm` and `yarn` want these, and install what is missing when they begin. Asked by program: a machine
# that runs containers may have them from elsewhere, and Debian's would push those out.
NODE = {"containerd": "containerd", "runc": "runc", "busybox-static": "busybox"}
VM = {"qemu-system-x86": "qemu-system-x86_64", "busybox-static": "busybox"}
HADOOP = {"openjdk-17-jdk-headless": "javac", "maven": "mvn"}
YARN = {
    **HADOOP,
    "krb5-kdc": "krb5kdc", "krb5-admin-server": "kadmin.local", "krb5-user": "kinit",  # a KDC of a test's own: the machine's is not started
    "postgresql-15": "pg_ctlcluster", "libpq5": "pg_ctlcluster",  # a server of a test's own as well, and the library that the gateway loads
}
BROWSER = {"chromium": "chromium", "nodejs": "node", "npm": "npm"}
CHINESE_FONT = "fonts-wqy-zenhei"
# The same of a release for another architecture: it is started once, in emulation.
EMULATOR = {"qemu-user-static": "qemu-aarch64-static"}


def missing(packages) -> list[str]:
    """Packages that are not fully installed, in the order given."""
    if not packages:
        return []
    found = subprocess.run(
        ["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\n", *packages],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    installed = {line.split()[0] for line in found.stdout.splitlines() if line.endswith(" installed")}
    return [package for package in packages if package not in installed]


def install_line(packages) -> str:
    return "apt-get install -y --no-install-recommends " + " ".join(packages)


def setup(packages=PACKAGES) -> None:
    try:
        absent = missing(packages)
    except FileNotFoundError:
        raise Failed("dpkg-query is missing: this is not Debian. Install by hand what these packages hold: " + " ".join(packages))
    if not absent:
        return
    if os.geteuid() != 0:
        raise Failed(f"{len(absent)} packages are missing and only root can install them. Run as root:\n  {install_line(absent)}")
    say("missing packages: " + " ".join(absent))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with step("apt-get update"):
        if processes.run(["apt-get", "update", "-qq"], env=environment).code != 0:
            raise Failed("apt-get update failed: is a package mirror reachable?")
    with step(f"installing {len(absent)} packages"):
        if processes.run(install_line(absent).split(), env=environment).code != 0:
            raise Failed(f"apt-get could not install them. Try by hand:\n  {install_line(absent)}")
    still = missing(packages)
    if still:
        raise Failed("apt-get succeeded, and yet these are not installed: " + " ".join(still))
