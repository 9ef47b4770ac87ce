"""What the group `yarn` wants: Java from Debian, and the jars of Hadoop and Spark, for which Maven comes from Debian as well; and a node, for what YARN shares with
Kubernetes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from driver import maven_jars, node, packages, processes, python_packages, s3_server, spark_operator
from driver.console import Failed, loud, say, step
from driver.paths import LOGS, PYTHON_PATH

JAVA_MAJOR = 17  # the one that Debian 12 has. Hadoop asks newer ones (24 and up) for what they have no more
DEBIAN_JAVA = "java-17-openjdk-*/bin/java"
JVMS = Path("/usr/lib/jvm")
CLASSES_S = 600
SYSTEM_PROGRAMS = "/usr/sbin:/sbin"  # where a KDC is, and no user's PATH leads


def provide() -> tuple[dict[str, str], str]:
    """The environment of the tests, or why there can be no YARN here, with the remedy."""
    hadoop, remedy = java_and_hadoop(packages.YARN)
    if remedy:
        return {}, remedy
    try:
        spark = maven_jars.SPARK.provide()
    except Failed as error:
        return {}, str(error)
    shared, remedy = node.provide()
    if remedy:
        loud(f"no node can be made here, which tests of yarn skip: {remedy}")
    return {**shared, **hadoop, **_classes(hadoop), **_clients(), "TIDEMARK_SPARK_JARS": str(spark), "TIDEMARK_TEST_KEPT_LOGS": str(LOGS / "yarn")}, ""


def _clients() -> dict[str, str]:
    """The Pythons that have the clients of the gateway, and pyspark; Spark Operator and an S3 server. Their tests are skipped without them."""
    found = {}
    for name, packages_of in (("TIDEMARK_GATEWAY_CLIENTS", python_packages.GATEWAY_CLIENTS), ("TIDEMARK_PYSPARK", python_packages.PYSPARK)):
        try:
            found[name] = str(packages_of.provide())
        except Failed as error:
            loud(f"tests that need {packages_of.name} are skipped: {error}")
    try:
        found["TIDEMARK_TEST_SPARK_OPERATOR"] = str(spark_operator.provide())
        found["TIDEMARK_TEST_SPARK_OPERATOR_DEFINITIONS"] = str(spark_operator.definitions())
    except Failed as error:
        loud(f"tests that need Spark Operator are skipped: {error}")
    try:
        found["TIDEMARK_TEST_S3_SERVER"] = str(s3_server.provide())
    except Failed as error:
        loud(f"tests that need an S3 server are skipped: {error}")
    return found


def _classes(hadoop: dict[str, str]) -> dict[str, str]:
    """The archive of class data that the JVMs share, made once for this machine and this Java. Without it they start, but a third slower."""
    java, jars = Path(hadoop["TIDEMARK_JAVA"]), Path(hadoop["TIDEMARK_HADOOP_JARS"])
    archive = jars.with_name(f"classes-{(java.parents[1] / 'lib/server/libjvm.so').stat().st_mtime_ns}.jsa")
    if not archive.exists():
        with step("making the archive of Hadoop's classes, once for this machine"):
            done = processes.run([sys.executable, "-m", "support.yarn.classes", archive], env={**os.environ, **hadoop, "PYTHONPATH": PYTHON_PATH}, timeout_s=CLASSES_S)
        if done.code != 0:
            say("the archive of Hadoop's classes cannot be made; the JVMs start without it")
            return {}
    return {"TIDEMARK_HADOOP_CLASSES": str(archive)}


def java_and_hadoop(wanted: dict[str, str] = packages.HADOOP) -> tuple[dict[str, str], str]:
    """The part of it that a ResourceManager and a NodeManager alone need."""
    try:
        packages.setup([package for package, program in wanted.items() if _lacks(program)])
        java = find_java()
        if java is None:
            raise Failed(f"wanted Java {JAVA_MAJOR} with its compiler, found none on the PATH and none in {JVMS}")
        return {"TIDEMARK_JAVA": java, "TIDEMARK_HADOOP_JARS": str(maven_jars.HADOOP.provide())}, ""
    except Failed as error:
        return {}, str(error)


def _jars_are_there() -> bool:
    return all(each.there() for each in maven_jars.ALL)


def _lacks(program: str) -> bool:
    if program == "javac":
        return find_java() is None
    if program == "mvn" and _jars_are_there():
        return False
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PROGRAMS}") is None


def find_java(candidates: list[str | Path | None] | None = None) -> str | None:
    """One of the right version, with a compiler beside it, of those on the PATH and Debian's: what is first on the PATH may be another."""
    if candidates is None:
        candidates = [shutil.which("java"), *sorted(JVMS.glob(DEBIAN_JAVA))]
    for java in filter(None, candidates):
        java = os.path.realpath(java)
        if os.access(java, os.X_OK) and os.access(Path(java).with_name("javac"), os.X_OK) and _major(java) == JAVA_MAJOR:
            return java
    return None


def _major(java: str | Path) -> int:
    told = subprocess.run([java, "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stderr
    match = re.search(r'version "(\d+)', told)
    return int(match[1]) if match else 0


def clear_away() -> None:
    """What a killed test left of its containers, which outlive their NodeManager, and then of its node. Also called where a signal ends the driver."""
    from support.yarn import leftovers

    cleared, left = leftovers.clear_away()
    for folder in cleared:
        say(f"ended what was left of {folder}")
    for line in left:
        print(f"left: {line}", file=sys.stderr)
    node.clear_away()
