"""The fixture: a ResourceManager, NodeManagers in state RUNNING, and the jobs of a test."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from support import owners
from support.yarn import leftovers, settings
from support.yarn.groups import Groups
from support.yarn.job import Job
from support.yarn.rest_job import RestJob
from support.yarn.rest import ANSWER_S, Answer, Door
from support.yarn.server import NotReady, Server, until
from support.yarn.settings import Layout, NodePorts, Ports, Totals

START_ATTEMPTS = 3  # another process may take a free port between the choice and the bind
REGISTERED = "Registered with ResourceManager as "
TAKEN = "java.net.BindException"
OTHER_HOST = "127.0.0.{}"  # all of them mean this machine
EXECUTOR = Path(__file__).parent / "container_executor.sh"


class ResourceManager(Server, Door):
    def __init__(self, ports: Ports, command: list[str], environment: dict[str, str], log: Path, name: str = "rm"):
        Server.__init__(self, name, command, environment, log)
        Door.__init__(self, ports.web)
        self.ports = ports

    def start(self) -> None:
        """Starts it and waits until it answers. Its NodeManagers return on their own: Yarn.wait_registered."""
        self.launch()
        self.until("the ResourceManager is active", self.active)

    def active(self) -> bool:
        """Its ports open seconds earlier, and nodes register: an update of a total then gets 200 but has no effect."""
        return self.state() == "ACTIVE"

    def state(self, limit_s: float = ANSWER_S) -> str:
        return self.get("/ws/v1/cluster/info", limit_s)["clusterInfo"]["haState"]

    def nodes(self) -> list[dict]:
        return (self.get("/ws/v1/cluster/nodes")["nodes"] or {}).get("node", [])

    def update_total(self, node: str, memory_mib: int, vcores: int, over_commit_ms: int = -1) -> Answer:
        """As an operator does by REST. It answers before it is done, with the old values."""
        body = {"resource": {"memory": memory_mib, "vCores": vcores}, "overCommitTimeout": over_commit_ms}
        return self.ask(f"/ws/v1/cluster/nodes/{node}/resource", "POST", body)


class NodeManager(Server, Door):
    def __init__(
        self, name: str, manager: ResourceManager, ports: NodePorts, totals: Totals, command: list[str], environment: dict[str, str], layout: Layout, host: str = settings.HERE,
    ):
        Server.__init__(self, name, command, environment, layout.logs / f"{name}.log")
        Door.__init__(self, ports.web, host)
        self.ports, self.totals, self.manager = ports, totals, manager
        self.local, self.container_logs = layout.local(name), layout.container_logs(name)

    def start(self) -> None:
        """Starts it and waits until it has registered."""
        before = self.registrations()
        self.launch()
        self.wait_registered(before)

    def registrations(self) -> int:
        """The number of registrations over all of its starts: the ResourceManager shows a node for some time after its end."""
        return self.said().count(REGISTERED)

    def wait_registered(self, before: int = 0) -> None:
        self.until(f"{self.name} is registered and RUNNING", lambda: self.registrations() > before and self.seen().get("state") == "RUNNING")

    def seen(self) -> dict:
        """The node in the ResourceManager; empty if it does not know it."""
        return next((node for node in self.manager.nodes() if node["id"].endswith(f":{self.ports.containers}")), {})

    @property
    def id(self) -> str:
        """As the ResourceManager names it: with the host name of the address, whatever was configured."""
        return self.seen()["id"]

    def total(self) -> tuple[int, int] | None:
        """MiB and cores that the ResourceManager hands out of it; None if unknown, for example just after its own start."""
        total = self.seen().get("totalResource")
        return total and (total["memory"], total["vCores"])

    def own_total(self) -> tuple[int, int]:
        """The node's own view, which follows the ResourceManager by one heartbeat."""
        info = self.get("/ws/v1/node/info")["nodeInfo"]
        return info["totalPmemAllocatedContainersMB"], info["totalVCoresAllocatedContainers"]

    def containers(self) -> list[dict]:
        return (self.get("/ws/v1/node/containers")["containers"] or {}).get("container", [])

    def first_process(self, container: str) -> int:
        """0 before it has one. The container's session and process group have this number."""
        file = next(self.local.glob(f"nmPrivate/*/{container}/{container}.pid"), None)
        text = file.read_text().strip() if file else ""
        return int(text) if text else 0

    def processes(self, container: str) -> set[int]:
        """The processes of its session, under either executor."""
        first = self.first_process(container)
        return leftovers.session(first) if first else set()


class Yarn:
    """`with Yarn() as yarn:` has yarn.rm and yarn.nodes, each of which can be killed, stopped, frozen and started again. Everything of it is gone
    afterwards, including processes of containers, or this fails. `site`, `core` and `capacity` are added to every yarn-site, every core-site and the scheduler's file, `java` to the options of every JVM.
    With `groups` the containers are in cgroups below that path, which is created below `below` or below the run's own group, and removed with it.
    Each of `others` also has a NodeManager, with its own address, so that frameworks see another machine, and without groups. They come last in yarn.nodes."""

    def __init__(
        self, totals: Sequence[Totals] = (Totals(),), site: Mapping[str, str] | None = None, capacity: Mapping[str, str] | None = None,
        groups: str | None = None, below: str | None = None, core: Mapping[str, str] | None = None, java: Sequence[str] = (), others: Sequence[Totals] = (),
    ):
        leftovers.clear_away()
        self.groups = Groups(groups, below) if groups is not None else None
        self._totals, self._others, self._site, self._capacity = totals, others, dict(site or {}), dict(capacity or {})
        self._core, self._java = dict(core or {}), list(java)
        self.java, self.jars = Path(os.environ["TIDEMARK_JAVA"]), Path(os.environ["TIDEMARK_HADOOP_JARS"])
        self.layout = Layout(Path(tempfile.mkdtemp(prefix=leftovers.PREFIX, dir=leftovers.PLACE)))
        owners.mark(self.layout.folder)
        self.rm: ResourceManager
        self.nodes: list[NodeManager] = []
        self.jobs: list[Job] = []
        self._servers: list[Server] = []
        self._agreed: dict[str, str] = {}

    def __enter__(self) -> "Yarn":
        try:
            if self.groups is not None:
                self.groups.make(self.layout.folder)
                shutil.copy(EXECUTOR, self.layout.executor)
                self.layout.executor.chmod(0o755)
            for attempt in range(1, START_ATTEMPTS + 1):
                try:
                    self._start()
                    break
                except NotReady:
                    self._end_servers()
                    if attempt == START_ATTEMPTS or not any(TAKEN in server.said() for server in self._servers):
                        raise
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_) -> None:
        left = self.stop()
        if left:
            raise AssertionError("left behind by YARN:\n" + "\n".join(left))

    def _start(self) -> None:
        """On new ports and with new logs for each attempt."""
        layout = self.layout
        for folder in (layout.logs, layout.home, layout.scratch):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self._servers = []
        launched: list[Server] = self._managers()
        self.nodes = [self._node(f"nm-{number}", totals) for number, totals in enumerate(self._totals)]
        self.nodes += [self._node(f"nm-{number}", totals, OTHER_HOST.format(number + 1)) for number, totals in enumerate(self._others, len(self.nodes))]
        launched += self.nodes
        self._servers += launched
        for server in launched:  # in parallel: a NodeManager waits for its ResourceManager
            server.launch()
        self.wait_registered()

    def _managers(self) -> list[Server]:
        """Sets self.rm and the common settings; returns the servers to launch with the NodeManagers. Servers started here are in self._servers."""
        ports = Ports.free()
        self._agreed = settings.common(self.layout, self.jars, ports)
        for program in ("rm", "client"):
            self._configure(program)
        self.rm = ResourceManager(ports, self._command("rm", "ResourceManager"), self._environment("rm"), self.layout.logs / "rm.log")
        return [self.rm]

    def _configure(self, program: str, own: Mapping[str, str] = {}) -> None:
        scheduler = {**settings.capacity(), **self._capacity}
        settings.write(self.layout.configuration(program), core_site={**settings.core(self.layout), **self._core}, yarn_site={**self._agreed, **own, **self._site}, capacity_scheduler=scheduler)

    def _node(self, name: str, totals: Totals, host: str = settings.HERE) -> NodeManager:
        ports = NodePorts.free()
        in_groups = self.groups is not None and host == settings.HERE
        places = settings.containers_in_groups(self.layout, self.groups.path) if in_groups else {}
        site = {**self._agreed, **settings.node(self.layout, name, ports, totals, host), **places, **self._site}
        # A service of MapReduce in it reads mapred-default.xml after yarn-site.xml.
        services = {key: value for key, value in self._site.items() if key.startswith("mapreduce.")}
        settings.write(self.layout.configuration(name), core_site={**settings.core(self.layout), **self._core}, yarn_site=site, mapred_site=services)
        return NodeManager(name, self.rm, ports, totals, self._command(name, "NodeManager"), self._environment(name), self.layout, host)

    def node_from(self, name: str, ports: NodePorts, site: str) -> NodeManager:
        """One more, with a given yarn-site.xml. The caller starts it and names its directories."""
        settings.write(self.layout.configuration(name), core_site={**settings.core(self.layout), **self._core})
        (self.layout.configuration(name) / "yarn-site.xml").write_text(site)
        node = NodeManager(name, self.rm, ports, Totals(), self._command(name, "NodeManager"), self._environment(name), self.layout)
        self.nodes.append(node)
        self._servers.append(node)
        return node

    def _command(self, program: str, kind: str) -> list[str]:
        return settings.command(self.layout, self.java, self.jars, program, kind)

    def _environment(self, program: str) -> dict[str, str]:
        return settings.environment(self.layout, self.java, program, self._java)

    @property
    def configuration(self) -> Path:
        """The HADOOP_CONF_DIR of a client."""
        return self.layout.configuration("client")

    def processes(self) -> dict[int, str]:
        """Pid → command line, of the programs and of processes in containers."""
        return leftovers.processes_of(self.layout.folder)

    def wait_registered(self) -> None:
        """Waits until every running NodeManager is RUNNING at the ResourceManager."""
        running = [server for server in self._servers if server.alive]
        nodes = [node for node in self.nodes if node in running]
        until("the nodes are RUNNING", lambda: self.rm.active() and all(node.seen().get("state") == "RUNNING" for node in nodes), servers=running)

    def submit(self, command: str, *, containers: int = 1, memory_mib: int = 128, vcores: int = 1, master_memory_mib: int = 256, queue: str = "default") -> Job:
        """A job with this many containers that each run `command` in a shell, in the background. It ends with the fixture, if not before."""
        name = f"job-{len(self.jobs)}"
        arguments = {
            "jar": next(self.jars.glob("hadoop-yarn-applications-distributedshell-*.jar")), "shell_command": command, "num_containers": containers,
            "container_memory": memory_mib, "container_vcores": vcores, "master_memory": master_memory_mib, "master_vcores": 1, "appname": name, "queue": queue,
        }
        words = [word for key, value in arguments.items() for word in (f"-{key}", str(value))]
        command, environment = self.client()
        client = Server(name, [*command, *words], environment, self.layout.logs / f"{name}.log")
        client.launch()
        return self.add(Job, client)

    def submit_by_rest(self, command: str, *, tags: Sequence[str] = (), files: Mapping[str, Path] | None = None, memory_mib: int = 256, queue: str = "default", label: str = "") -> RestJob:
        """An application whose master is `command`, which does not register. Its container must first fetch `files`, which may be missing."""
        return RestJob.submit(self.rm, [node.container_logs for node in self.nodes], command, tags, files or {}, memory_mib, queue, label)

    def client(self) -> tuple[list[str], dict[str, str]]:
        """Command and environment of the distributed shell's client, for a manual call."""
        return self._command("client", "Client"), self._environment("client")

    def admin(self, *words: str) -> None:
        """`yarn rmadmin`."""
        done = subprocess.run([*self._command("client", "Admin"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self._environment("client"))
        if done.returncode != 0:
            raise AssertionError(f"rmadmin {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")

    def add(self, kind, client: Server):
        """A job that a client started; also of another framework (frameworks.py)."""
        self.jobs.append(kind(self.rm, client, [node.container_logs for node in self.nodes]))
        return self.jobs[-1]

    def stop(self) -> list[str]:
        """Ends everything; returns the residue, normally nothing. A failure to keep logs is printed and hides no test failure."""
        self._end_servers()
        left = leftovers.end(self.layout.folder)
        keep = os.environ.get("TIDEMARK_TEST_KEPT_LOGS")
        try:
            if keep and self.layout.logs.exists():
                shutil.copytree(self.layout.logs, Path(keep) / self.layout.folder.name, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            print(f"the logs of {self.layout.folder} are not kept in {keep}: {error}", file=sys.stderr)
        return left + leftovers.take_away(self.layout.folder)

    def _end_servers(self) -> None:
        for server in [*(job.client for job in self.jobs), *self._servers]:
            server.end()
