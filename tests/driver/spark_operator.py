"""Spark Operator, built from the Go module that pins its version, and the definitions of its objects."""

import json
import subprocess
from pathlib import Path

from driver import go_programs, processes
from driver.console import Failed
from driver.go_programs import GoProgram
from driver.paths import ROOT, cache_folder

VERSION = "2.5.1"
MODULE = ROOT / "bench/peer/spark_operator"
PROGRAM = GoProgram("spark-operator", "github.com/kubeflow/spark-operator/v2/cmd/operator", VERSION, MODULE, cache_folder() / f"spark-operator-{VERSION}")


def provide() -> Path:
    """The program. Failed with the remedy if it cannot be built here."""
    return go_programs.provide([PROGRAM])[PROGRAM.name]


def definitions() -> Path:
    """The folder of the CustomResourceDefinitions."""
    go, reason = go_programs.find_go()
    if go is None:
        raise Failed(reason)
    try:
        module = processes.capture([go, "mod", "download", "-json", "github.com/kubeflow/spark-operator/v2"], cwd=MODULE)
    except subprocess.CalledProcessError as error:
        raise Failed(f"go cannot download Spark Operator: is a module proxy reachable?\n{error.stderr}")
    return Path(json.loads(module)["Dir"]) / "config/crd/bases"
