"""A NameNode and a DataNode of a YARN fixture, with WebHDFS."""

import json
import subprocess
import urllib.request
from collections.abc import Mapping

from support.ports import free
from support.yarn import kerberos, settings
from support.yarn.server import Server
from support.yarn.yarn import Yarn

NAME_NODE, DATA_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode", "org.apache.hadoop.hdfs.server.datanode.DataNode"
HEAP_MIB = 160
FORMAT_S = 120


class Hdfs:
    """`hdfs = Hdfs()`, then `with Yarn(core=hdfs.core) as yarn, hdfs.of(yarn):`. It is the default file system of that YARN."""

    def __init__(self):
        self._rpc, self._web, *self._data = free(5)
        self.url = f"hdfs://127.0.0.1:{self._rpc}"
        self.core = {"fs.defaultFS": self.url}
        self._java: list[str] = []

    def site(self, folder) -> Mapping[str, str]:
        transfer, http, ipc = self._data
        return {
            "dfs.namenode.name.dir": f"file://{folder}/name", "dfs.datanode.data.dir": f"file://{folder}/data", "dfs.replication": "1", "dfs.namenode.rpc-address": f"127.0.0.1:{self._rpc}",
            "dfs.namenode.http-address": f"127.0.0.1:{self._web}", "dfs.datanode.address": f"127.0.0.1:{transfer}", "dfs.datanode.http.address": f"127.0.0.1:{http}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}", "dfs.datanode.hostname": "127.0.0.1", "dfs.permissions.enabled": "false", "dfs.namenode.safemode.extension": "0",
        }

    def of(self, yarn: Yarn) -> "Hdfs":
        self._yarn = yarn
        return self

    def __enter__(self) -> "Hdfs":
        yarn = self._yarn
        folder = yarn.layout.scratch / "hdfs"
        for pages in ("hdfs", "datanode", "static"):  # the servers want the folders of their pages, which no jar has
            (folder / "pages/webapps" / pages).mkdir(parents=True)
        for program in ("rm", "client", *(node.name for node in yarn.nodes)):
            settings.write(yarn.layout.configuration(program), hdfs_site=self.site(folder))
        environment = settings.environment(yarn.layout, yarn.java, "client")
        command = [str(yarn.java), f"-Xmx{HEAP_MIB}m", *self._java, "-cp", f"{yarn.jars}/*:{yarn.configuration}:{folder}/pages"]
        made = subprocess.run([*command, NAME_NODE, "-format", "-nonInteractive"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=FORMAT_S)
        if made.returncode != 0:
            raise AssertionError(made.stdout[-2000:] + made.stderr[-2000:])
        self._servers = [Server(name, [*command, main], environment, yarn.layout.logs / f"{name}.log") for name, main in (("name-node", NAME_NODE), ("data-node", DATA_NODE))]
        for server in self._servers:
            server.launch()
        self._servers[1].until("the DataNode is registered", self.ready)
        return self

    def __exit__(self, *_) -> None:
        for server in self._servers:
            server.end()

    def ready(self) -> bool:
        beans = json.loads(self.ask(f"http://127.0.0.1:{self._web}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"))["beans"]
        return any(bean["NumLiveDataNodes"] == 1 and bean["FSState"] == "Operational" for bean in beans)

    @staticmethod
    def ask(url: str, method: str = "GET", body: bytes | None = None) -> str:
        with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=30) as answer:
            return answer.read().decode()

    def _url(self, path: str, operation: str) -> str:
        return f"http://127.0.0.1:{self._web}/webhdfs/v1{path}?op={operation}&user.name=root"

    def read(self, path: str) -> str:
        return self.ask(self._url(path, "OPEN"))

    def write(self, path: str, text: str, modified_ms: int | None = None) -> None:
        place = json.loads(self.ask(f"{self._url(path, 'CREATE')}&overwrite=true&noredirect=true", "PUT"))["Location"]
        self.ask(place, "PUT", text.encode())
        if modified_ms is not None:
            self.ask(f"{self._url(path, 'SETTIMES')}&modificationtime={modified_ms}", "PUT")

    def names(self, path: str) -> list[str]:
        return [each["pathSuffix"] for each in json.loads(self.ask(self._url(path, "LISTSTATUS")))["FileStatuses"]["FileStatus"]]


class SecureHdfs(Hdfs):
    """The same with Kerberos, and SPNEGO at its WebHDFS. Its YARN has Kerberos too."""

    def __init__(self, kdc: kerberos.Kdc):
        super().__init__()
        self._java = kerberos.java(kdc)
        self._keytabs = {name: kdc.add(f"{name}/{kerberos.HOST}") for name in ("nn", "dn", "HTTP")}
        secret = kdc.folder / "http-secret"
        secret.write_text("of the cookies of one test")
        self.core |= {"hadoop.http.authentication.signature.secret.file": str(secret)}

    def site(self, folder) -> Mapping[str, str]:
        principals = {name: f"{name}/{kerberos.HOST}@{kerberos.REALM}" for name in self._keytabs}
        return {
            **super().site(folder), "dfs.namenode.http-address": f"{kerberos.HOST}:{self._web}", "dfs.namenode.kerberos.principal": principals["nn"],
            "dfs.namenode.keytab.file": str(self._keytabs["nn"]), "dfs.datanode.kerberos.principal": principals["dn"], "dfs.datanode.keytab.file": str(self._keytabs["dn"]),
            "dfs.web.authentication.kerberos.principal": principals["HTTP"], "dfs.web.authentication.kerberos.keytab": str(self._keytabs["HTTP"]),
            "hadoop.http.authentication.type": "kerberos", "hadoop.http.authentication.kerberos.principal": principals["HTTP"],
            "hadoop.http.authentication.kerberos.keytab": str(self._keytabs["HTTP"]), "dfs.block.access.token.enable": "true", "ignore.secure.ports.for.testing": "true",
        }

    def ready(self) -> bool:
        """All pages of the NameNode want a ticket."""
        return "Successfully sent block report" in self._servers[1].said()
