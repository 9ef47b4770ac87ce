"""Two ResourceManagers in HA with a ZooKeeper, which elects the active one and stores the state for the next one."""

import shutil
import socket
import time

from support.ports import free
from support.yarn import settings
from support.yarn.rest import Answer
from support.yarn.server import Server
from support.yarn.settings import Ports
from support.yarn.yarn import ResourceManager, Yarn

ASK_S = 2  # timeout for one that may not answer: the other one waits meanwhile
IDS = ("rm1", "rm2")
SESSION_MS = 4000  # the default is 10 s: ZooKeeper considers a silent ResourceManager alive for this long


class ZooKeeper(Server):
    def __init__(self, port: int, *arguments):
        super().__init__("zookeeper", *arguments)
        self.port = port

    def start(self) -> None:
        self.launch()
        self.until("ZooKeeper serves", self.serves)

    def serves(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=ASK_S) as door:
            door.sendall(b"ruok")
            return door.recv(4) == b"imok"


class Member(ResourceManager):
    def start(self) -> None:
        """Active if no other one is, otherwise on standby."""
        self.launch()
        self.wait_there()

    def wait_there(self) -> None:
        self.until(f"{self.name} takes part", lambda: self.state() in ("ACTIVE", "STANDBY"))


class Pair:
    """The currently active one, queried like a single ResourceManager. OSError if none is."""

    def __init__(self, members: list[Member]):
        self.members = members

    def active_one(self) -> Member:
        for member in self.members:
            try:
                if member.alive and not member.frozen and member.state(ASK_S) == "ACTIVE":
                    return member
            except OSError:
                continue
        raise OSError("no ResourceManager is active")

    def other(self, member: Member) -> Member:
        return next(each for each in self.members if each is not member)

    def active(self) -> bool:
        self.active_one()
        return True

    def nodes(self) -> list[dict]:
        return self.active_one().nodes()

    def get(self, path: str) -> dict:
        return self.active_one().get(path)

    def ask(self, path: str, *more, **options) -> Answer:
        return self.active_one().ask(path, *more, **options)

    def update_total(self, *arguments) -> Answer:
        return self.active_one().update_total(*arguments)


class YarnPair(Yarn):
    """Like Yarn, but yarn.rm is the active one, and yarn.rm.members are both. Each of them and yarn.zookeeper can be killed, frozen and started."""

    rm: Pair
    zookeeper: ZooKeeper

    def _managers(self) -> list[Server]:
        ports = {name: Ports.free() for name in IDS}
        (door,) = free(1)
        self._agreed = settings.common_of_pair(self.layout, self.jars, ports, door, SESSION_MS)
        self._configure("client")
        for name in IDS:
            self._configure(name, {"yarn.resourcemanager.ha.id": name})
        self.rm = Pair([Member(ports[name], self._command(name, "ResourceManager"), self._environment(name), self.layout.logs / f"{name}.log", name) for name in IDS])
        file, data = self.layout.configuration("zookeeper") / "zoo.cfg", self.layout.folder / "zookeeper" / "data"
        shutil.rmtree(data, ignore_errors=True)
        settings.write(file.parent)
        settings.write_zookeeper(file, data, door)
        # Only a power loss could lose unsynchronized data, and on a slow disk each election would wait for the sync.
        environment = settings.environment(self.layout, self.java, "zookeeper", [*self._java, "-Dzookeeper.forceSync=no"])
        self.zookeeper = ZooKeeper(door, [*self._command("zookeeper", "ZooKeeper"), str(file)], environment, self.layout.logs / "zookeeper.log")
        self._servers = [self.zookeeper]
        self.zookeeper.start()  # clients that do not find it give up soon
        return [*self.rm.members]
