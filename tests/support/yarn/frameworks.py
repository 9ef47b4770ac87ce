"""Jobs of frameworks on a YARN of the fixture: MapReduce and Spark with default settings except sizes."""

import os
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.yarn import settings
from support.yarn.job import Job
from support.yarn.server import Server
from support.yarn.yarn import Yarn

SOURCES = Path(__file__).parent / "jobs"
# For a NodeManager: maps leave their output there.
SHUFFLE = {
    "yarn.nodemanager.aux-services": "mapreduce_shuffle",
    "yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
    "mapreduce.shuffle.port": "0",  # the default 13562 works only once per machine
}
CLIENT_HEAP_MIB = 192
LOOPBACK = "127.0.0.1"


class MapReduce(Job):
    MASTER_LOG = "syslog"

    def __init__(self, *arguments, output: Path):
        super().__init__(*arguments)
        self._output = output

    def sum(self) -> int:
        """The output of its reduce; only once it has finished."""
        return int((self._output / "part-r-00000").read_text())

    def failures_by_host(self) -> Counter[str]:
        """Failed maps by host, as its master counts them: by default three exclude a host, if it is less than a third of all."""
        return Counter(re.findall(r"\d+ failures on node (\S+)", self.masters()))

    def counters(self) -> dict[str, int]:
        """The counters that its client printed at the end: "Failed map tasks", "Killed map tasks", "Launched map tasks" and more; without zeros."""
        return {name: int(value) for name, value in re.findall(r"^\s+((?:Failed|Killed|Launched) \w+ tasks)=(\d+)$", self.client.said(), re.M)}


class Spark(Job):
    MASTER_LOG = "stderr"

    def preempted(self) -> set[str]:
        """Containers of executors that its driver saw as preempted."""
        return set(re.findall(r"Container (container_\w+).* was preempted", self.masters()))

    def failed(self) -> set[str]:
        """Containers that it counts against the node, and towards the end of the application."""
        return set(re.findall(r"Container from a bad node: (container_\w+)", self.masters()))


def map_reduce(yarn: Yarn, maps: int, seconds: int, *, map_memory_mib: int = 256, master_memory_mib: int = 512, until: Path | None = None, tags: str = "") -> MapReduce:
    """With `until` no map ends before that file exists. `tags` as its user sets them, separated by commas."""
    name = f"job-{len(yarn.jobs)}"
    classes = _compile(("SleepingMaps",), yarn.jars, yarn.layout.folder / "classes-map-reduce")
    output = yarn.layout.scratch / f"{name}-output"
    settings.write(
        yarn.configuration,
        mapred_site={
            "mapreduce.framework.name": "yarn", "mapreduce.application.classpath": f"{classes},{yarn.jars}/*", "yarn.app.mapreduce.am.staging-dir": str(yarn.layout.scratch / "staging"),
            "yarn.app.mapreduce.am.resource.mb": str(master_memory_mib), "yarn.app.mapreduce.am.command-opts": f"-Xmx{master_memory_mib // 2}m",
            **{f"mapreduce.{kind}.memory.mb": str(map_memory_mib) for kind in ("map", "reduce")}, **{f"mapreduce.{kind}.java.opts": f"-Xmx{map_memory_mib // 2}m" for kind in ("map", "reduce")},
            "mapreduce.task.io.sort.mb": "16",  # the default 100 does not fit into this small heap
            **({"mapreduce.job.tags": tags} if tags else {}),
        },
    )
    words = ["-cp", f"{yarn.configuration}:{classes}:{yarn.jars}/*", "SleepingMaps", str(maps), str(seconds), str(output), *([str(until)] if until else [])]
    return yarn.add(lambda *arguments: MapReduce(*arguments, output=output), _client(yarn, name, words))


def spark(yarn: Yarn, tasks: int, seconds: int, *, executors: int = 2, memory_mib: int = 512, until: Path | None = None) -> Spark:
    """With `until` no task ends before that file exists."""
    return spark_program(yarn, "SleepingTasks", str(tasks), str(seconds), *([str(until)] if until else []), executors=executors, memory_mib=memory_mib)


def spark_program(yarn: Yarn, program: str, *arguments: str, executors: int = 2, memory_mib: int = 512, more: Mapping[str, str] = {}) -> Spark:
    """One of `jobs`, with `more` settings."""
    name = f"job-{len(yarn.jobs)}"
    jars, jar = Path(os.environ["TIDEMARK_SPARK_JARS"]), spark_jar(yarn, program)
    conf = {
        **more, "spark.yarn.jars": f"local:{jars}/*", "spark.yarn.stagingDir": f"file://{yarn.layout.scratch}/staging",
        "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": LOOPBACK, "spark.executorEnv.SPARK_LOCAL_IP": LOOPBACK,
    }
    words = ["-cp", f"{yarn.configuration}:{jars}/*", "org.apache.spark.deploy.SparkSubmit", "--master", "yarn", "--deploy-mode", "cluster", "--class", program]
    words += ["--num-executors", str(executors), "--executor-memory", f"{memory_mib}m", "--driver-memory", f"{memory_mib}m"]
    words += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    return yarn.add(Spark, _client(yarn, name, [*words, str(jar), *arguments]))


def spark_jar(yarn: Yarn, *names: str) -> Path:
    """The jar of these programs of `jobs`."""
    classes = _compile(names or ("SleepingTasks",), Path(os.environ["TIDEMARK_SPARK_JARS"]), yarn.layout.folder / "classes-spark")
    jar = classes / "job.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.glob("*.class"):
            archive.write(file, file.name)
    return jar


def _client(yarn: Yarn, name: str, words: list[str]) -> Server:
    environment = settings.environment(yarn.layout, yarn.java, "client")
    client = Server(name, [str(yarn.java), f"-Xmx{CLIENT_HEAP_MIB}m", *words], environment, yarn.layout.logs / f"{name}.log")
    client.launch()
    return client


def _compile(names: Sequence[str], jars: Path, folder: Path) -> Path:
    """The directory of their classes, where containers find them too: all run on this machine."""
    folder.mkdir(exist_ok=True)
    compiler = Path(os.environ["TIDEMARK_JAVA"]).with_name("javac")
    command = [compiler, "-proc:none", "-d", folder, "-cp", f"{jars}/*", *(SOURCES / f"{name}.java" for name in names)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(names)}: not compiled:\n{done.stderr}")
    return folder
