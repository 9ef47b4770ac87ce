"""The Kubernetes programs that tests run against, from the Go module that tests/support/kubernetes pins."""

from pathlib import Path

from driver import go_programs
from driver.go_programs import GoProgram, find_go  # noqa: F401  find_go: whether a cluster is possible
from driver.paths import KUBERNETES_VERSION, ROOT, kubernetes_folder

MODULE = ROOT / "tests" / "support" / "kubernetes"


CLUSTER = ("kube-apiserver", "kubectl")
NODE = ("kubelet",)


def _programs(names: tuple[str, ...]) -> list[GoProgram]:
    version = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES_VERSION.split(".")
    variables = (f"{version}.gitVersion=v{KUBERNETES_VERSION}", f"{version}.gitMajor={major}", f"{version}.gitMinor={minor}")
    return [
        GoProgram(name, f"k8s.io/kubernetes/cmd/{name}", KUBERNETES_VERSION, MODULE, kubernetes_folder(), variables)
        for name in names
    ]


def built(names: tuple[str, ...] = CLUSTER) -> dict[str, Path]:
    return {program.name: program.path for program in _programs(names) if program.there()}


def provide(names: tuple[str, ...] = CLUSTER) -> dict[str, Path]:
    """Those programs, built when they are not there. Failed with the remedy when that is impossible."""
    return go_programs.provide(_programs(names))
