"""The Kubernetes programs that tests run against, from the Go module that tests/support/kubernetes pins."""

from pathlib import Path

from driver import go_programs
from driver.go_programs import GoProgram, find_go  # noqa: F401  find_go: for whoever asks whether there can be a cluster
from driver.paths import KUBERNETES_VERSION, ROOT, kubernetes_folder

MODULE = ROOT / "tests" / "support" / "kubernetes"


def _programs() -> list[GoProgram]:
    version = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES_VERSION.split(".")
    variables = (f"{version}.gitVersion=v{KUBERNETES_VERSION}", f"{version}.gitMajor={major}", f"{version}.gitMinor={minor}")
    return [
        GoProgram(name, f"k8s.io/kubernetes/cmd/{name}", KUBERNETES_VERSION, MODULE, kubernetes_folder(), variables)
        for name in ("kube-apiserver", "kubectl")
    ]


def built() -> dict[str, Path]:
    return {program.name: program.path for program in _programs() if program.there()}


def complete() -> bool:
    return len(built()) == len(_programs())


def provide() -> dict[str, Path]:
    """All programs, built when they are not there. Failed with the remedy when that is impossible."""
    return go_programs.provide(_programs())
