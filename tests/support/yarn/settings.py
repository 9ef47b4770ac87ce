"""The configuration of a run's Hadoop programs: directories of site files, written from dictionaries, and command lines."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from support.ports import free

HEAP_MIB = {"ResourceManager": 256, "NodeManager": 192, "Client": 192, "Admin": 128, "ZooKeeper": 96, "LogServer": 128}
SERVER = "org.apache.hadoop.yarn.server"
HERE = "127.0.0.1"
MAIN = {
    "ResourceManager": f"{SERVER}.resourcemanager.ResourceManager",
    "NodeManager": f"{SERVER}.nodemanager.NodeManager",
    "Client": "org.apache.hadoop.yarn.applications.distributedshell.Client",
    "Admin": "org.apache.hadoop.yarn.client.cli.RMAdminCLI",
    "ZooKeeper": "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "LogServer": f"{SERVER}.applicationhistoryservice.ApplicationHistoryServer",
}
# Hadoop uses reflection on these packages, which are closed since Java 17.
OPENED = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "util.concurrent", "io", "net")]
LOG4J = """log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


@dataclass(frozen=True)
class Totals:
    """The amount of a node in yarn-site."""

    memory_mib: int = 2048
    vcores: int = 4


@dataclass(frozen=True)
class Ports:
    """Ports of the ResourceManager; the defaults are 8032, 8030, 8031, 8033 and 8088."""

    client: int
    scheduler: int
    tracker: int
    admin: int
    web: int

    @staticmethod
    def free() -> "Ports":
        return Ports(*free(5))


@dataclass(frozen=True)
class NodePorts:
    containers: int
    localizer: int
    web: int

    @staticmethod
    def free() -> "NodePorts":
        return NodePorts(*free(3))


@dataclass(frozen=True)
class Layout:
    """The files of one run in its directory."""

    folder: Path

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def scratch(self) -> Path:
        return self.folder / "tmp"

    def configuration(self, program: str) -> Path:
        return self.folder / program / "conf"

    def local(self, node: str) -> Path:
        return self.folder / node / "local"

    def container_logs(self, node: str) -> Path:
        return self.logs / f"{node}-containers"

    @property
    def executor(self) -> Path:
        return self.folder / "container-executor"


def core(layout: Layout) -> dict[str, str]:
    return {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(layout.scratch)}


def common(layout: Layout, jars: Path, ports: Ports) -> dict[str, str]:
    """Common settings of ResourceManager, NodeManagers, clients and application masters."""
    return {**_addresses(ports), "yarn.resourcemanager.hostname": "127.0.0.1", **_shared(layout, jars)}


def common_of_pair(layout: Layout, jars: Path, members: Mapping[str, Ports], zookeeper: int, session_ms: int) -> dict[str, str]:
    """The same for ResourceManagers in HA, by their ids: ZooKeeper elects the active one and stores the persistent state."""
    return {
        **{key: value for name, ports in members.items() for key, value in _addresses(ports, f".{name}").items()},
        "yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": ",".join(members), "yarn.resourcemanager.cluster-id": "pair",
        "yarn.resourcemanager.recovery.enabled": "true", "yarn.resourcemanager.store.class": f"{SERVER}.resourcemanager.recovery.ZKRMStateStore",
        "hadoop.zk.address": f"127.0.0.1:{zookeeper}", "hadoop.zk.timeout-ms": str(session_ms),
        "ipc.client.rpc-timeout.ms": "2000",  # the default is two minutes: a NodeManager waits this long for a frozen ResourceManager before it tries the other
        **_shared(layout, jars),
    }


def _addresses(ports: Ports, of: str = "") -> dict[str, str]:
    at = {"address": ports.client, "scheduler.address": ports.scheduler, "resource-tracker.address": ports.tracker, "admin.address": ports.admin, "webapp.address": ports.web}
    return {f"yarn.resourcemanager.{name}{of}": f"127.0.0.1:{port}" for name, port in at.items()}


def _shared(layout: Layout, jars: Path) -> dict[str, str]:
    return {
        "yarn.resourcemanager.bind-host": "127.0.0.1",
        "yarn.resourcemanager.scheduler.class": f"{SERVER}.resourcemanager.scheduler.capacity.CapacityScheduler",
        "yarn.scheduler.minimum-allocation-mb": "128", "yarn.scheduler.maximum-allocation-mb": "8192",
        "yarn.scheduler.minimum-allocation-vcores": "1", "yarn.scheduler.maximum-allocation-vcores": "8",
        "yarn.application.classpath": f"{layout.configuration('client')},{jars}/*",
        # The defaults are one second, and half a minute until a ResourceManager is tried again: a test would mostly wait for these.
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "250", "yarn.resourcemanager.connect.retry-interval.ms": "1000",
        "yarn.webapp.ui2.enable": "false",  # its files are in no jar
        # By default these are shared by all ResourceManagers of one user on a machine, which delete each other's files at start.
        "yarn.node-attribute.fs-store.root-dir": f"file://{layout.scratch}/node-attribute", "yarn.node-labels.fs-store.root-dir": f"file://{layout.scratch}/node-labels",
    }


def node(layout: Layout, name: str, ports: NodePorts, totals: Totals, here: str = HERE) -> dict[str, str]:
    return {
        "yarn.nodemanager.hostname": here, "yarn.nodemanager.bind-host": here, "yarn.nodemanager.address": f"{here}:{ports.containers}",
        "yarn.nodemanager.localizer.address": f"{here}:{ports.localizer}", "yarn.nodemanager.webapp.address": f"{here}:{ports.web}",
        "yarn.nodemanager.resource.memory-mb": str(totals.memory_mib), "yarn.nodemanager.resource.cpu-vcores": str(totals.vcores),
        "yarn.nodemanager.local-dirs": str(layout.local(name)), "yarn.nodemanager.log-dirs": str(layout.container_logs(name)),
        # The machine's disk may be fuller than a cluster's, and a JVM reserves more address space than its memory.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
        "yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.env-whitelist": "JAVA_HOME,PATH,JAVA_TOOL_OPTIONS",
    }


def containers_in_groups(layout: Layout, path: str) -> dict[str, str]:
    """For a NodeManager that puts containers below an existing group, with container_executor.sh."""
    executor, node = "yarn.nodemanager.linux-container-executor", "yarn.nodemanager"
    return {
        f"{node}.container-executor.class": f"{SERVER}.nodemanager.LinuxContainerExecutor",
        f"{executor}.path": str(layout.executor), f"{executor}.group": "root", f"{executor}.nonsecure-mode.limit-users": "false",
        f"{executor}.cgroups.hierarchy": f"/{path}", f"{executor}.cgroups.mount": "false",
        f"{node}.resource.cpu.enabled": "true", f"{node}.resource.memory.enabled": "true",
    }


def capacity() -> dict[str, str]:
    """One queue with everything, in which masters may use all. Both memory and cores count."""
    prefix = "yarn.scheduler.capacity"
    return {
        f"{prefix}.root.queues": "default", f"{prefix}.root.default.capacity": "100", f"{prefix}.maximum-am-resource-percent": "1",
        f"{prefix}.resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    }


def write(folder: Path, **sites: dict[str, str]) -> None:
    """One file each (`core_site` is core-site.xml), and logging to standard output."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in sites.items():
        lines = [f"  <property><name>{escape(key)}</name><value>{escape(value)}</value></property>" for key, value in values.items()]
        (folder / f"{name.replace('_', '-')}.xml").write_text("\n".join(["<configuration>", *lines, "</configuration>"]) + "\n")
    (folder / "log4j.properties").write_text(LOG4J)


def write_zookeeper(file: Path, data: Path, port: int) -> None:
    """One server. A tick is the unit of a session's length: a session lasts 2 to 20 ticks."""
    data.mkdir(parents=True, exist_ok=True)
    values = {"dataDir": data, "clientPort": port, "clientPortAddress": "127.0.0.1", "tickTime": 500, "admin.enableServer": "false", "4lw.commands.whitelist": "ruok"}
    file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))


def java_options(layout: Layout) -> list[str]:
    """For every JVM, including those in containers: nothing is written into the machine's /tmp or a home directory, and a short-lived JVM starts fast: verification of
    Hadoop's classes would take a sixth of it."""
    return [
        *OPENED, f"-Duser.home={layout.home}", f"-Djava.io.tmpdir={layout.scratch}", "-Djava.net.preferIPv4Stack=true", "-XX:-UsePerfData", "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
    ]


def command(layout: Layout, java: Path, jars: Path, program: str, kind: str) -> list[str]:
    """The jars come first: a JVM uses shared classes only if its class path begins as the archive's did. They have no site file."""
    archive = os.environ.get("TIDEMARK_HADOOP_CLASSES")
    shared = [f"-XX:SharedArchiveFile={archive}"] if archive else []
    return [str(java), f"-Xmx{HEAP_MIB[kind]}m", *shared, "-cp", f"{jars}/*:{layout.configuration(program)}", MAIN[kind]]


def environment(layout: Layout, java: Path, program: str, more_java: Sequence[str] = ()) -> dict[str, str]:
    """Contains the directory of the run, by which its processes are found (leftovers.py)."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HADOOP_", "YARN_"))}
    return {
        **inherited, "JAVA_HOME": str(java.parents[1]), "HADOOP_CONF_DIR": str(layout.configuration(program)),
        "JAVA_TOOL_OPTIONS": " ".join([*java_options(layout), *more_java]),  # a NodeManager passes it on to containers
    }
