"""helm, promtool and Prometheus, which read what lies in deploy/: helm from the Go module that tests/support/helm pins, the others out of Debian's
package of Prometheus, which would start a server where it is installed. And the definitions of Spark Operator, for the roles of the chart."""

from pathlib import Path

from driver import debian_file, go_programs, spark_operator
from driver.console import Failed, say
from driver.go_programs import GoProgram
from driver.paths import ROOT, cache_folder

MODULE = ROOT / "tests" / "support" / "helm"
HELM_VERSION = "3.19.0"
PROMETHEUS = "prometheus"


def _helm() -> GoProgram:
    # helm takes the version of the cluster it renders for from its own Kubernetes libraries, which a linker variable names.
    chartutil = "helm.sh/helm/v3/pkg/chartutil"
    variables = (f"helm.sh/helm/v3/internal/version.version=v{HELM_VERSION}", f"{chartutil}.k8sVersionMajor=1", f"{chartutil}.k8sVersionMinor=34")
    return GoProgram("helm", "helm.sh/helm/v3/cmd/helm", HELM_VERSION, MODULE, cache_folder() / f"helm-{HELM_VERSION}", variables)


def _provide_helm() -> dict[str, str]:
    return {"TIDEMARK_HELM": str(go_programs.provide([_helm()])["helm"])}


def debian_program(package: str, program: str) -> Path:
    """The program out of Debian's package, or the kept one if the package cannot be had."""
    try:
        package, version = debian_file.known(package, debian_file.version_of)
        return debian_file.provide(package, version, f"usr/bin/{program}", cache_folder() / f"{program}-{version}" / program)
    except Failed as error:
        # By the time that the package gave it, which is when it was built.
        found = max(cache_folder().glob(f"{program}-*/{program}"), key=lambda file: file.stat().st_mtime, default=None)
        if found is None:
            raise
        say(f"kept from before, {found.parent.name}: {error}")
        return found


def _provide_promtool() -> dict[str, str]:
    return {"TIDEMARK_PROMTOOL": str(debian_program(PROMETHEUS, "promtool"))}


def _provide_prometheus() -> dict[str, str]:
    return {"TIDEMARK_PROMETHEUS": str(debian_program(PROMETHEUS, "prometheus"))}


def _provide_operator_definitions() -> dict[str, str]:
    return {"TIDEMARK_TEST_SPARK_OPERATOR_DEFINITIONS": str(spark_operator.definitions())}


# Each gives what tells the tests where its tool is. Failed with the remedy: where there is no helm for want of Go, promtool may be had, and the reverse.
PROVIDE = {"helm": _provide_helm, "promtool": _provide_promtool, "prometheus": _provide_prometheus, "operator-definitions": _provide_operator_definitions}


def stock_kubectl() -> dict[str, str]:
    """Debian's kubectl, an old one, for tests that must not need Go. Installed nowhere."""
    package, version = debian_file.known("kubernetes-client", debian_file.version_of)
    found = debian_file.provide(package, version, "usr/bin/kubectl", cache_folder() / f"kubectl-{version}" / "kubectl")
    return {"TIDEMARK_KUBECTL": str(found)}
