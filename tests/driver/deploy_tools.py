"""helm and promtool, which read what lies in deploy/, from the Go modules that tests/support/helm and promtool pin.
Two modules: each wants another version of the Kubernetes libraries."""

from pathlib import Path

from driver import go_programs
from driver.go_programs import GoProgram
from driver.paths import ROOT, cache_folder

MODULES = ROOT / "tests" / "support"
HELM_VERSION = "3.19.0"
PROMETHEUS_VERSION = "3.6.0"  # as a module v0.306.0


def _programs() -> list[GoProgram]:
    # helm takes the version of the cluster it renders for from its own Kubernetes libraries, which a linker variable names.
    chartutil = "helm.sh/helm/v3/pkg/chartutil"
    helm = (f"helm.sh/helm/v3/internal/version.version=v{HELM_VERSION}", f"{chartutil}.k8sVersionMajor=1", f"{chartutil}.k8sVersionMinor=34")
    return [
        GoProgram("helm", "helm.sh/helm/v3/cmd/helm", HELM_VERSION, MODULES / "helm", cache_folder() / f"helm-{HELM_VERSION}", helm),
        GoProgram(
            "promtool", "github.com/prometheus/prometheus/cmd/promtool", PROMETHEUS_VERSION, MODULES / "promtool",
            cache_folder() / f"promtool-{PROMETHEUS_VERSION}", (f"github.com/prometheus/common/version.Version={PROMETHEUS_VERSION}",),
        ),
    ]


def complete() -> bool:
    return all(program.there() for program in _programs())


def provide() -> dict[str, str]:
    """The environment of the tests that read deploy/. Failed with the remedy when there is no Go."""
    found: dict[str, Path] = go_programs.provide(_programs())
    return {"TIDEMARK_HELM": str(found["helm"]), "TIDEMARK_PROMTOOL": str(found["promtool"])}
