"""helm and promtool, which read what lies in deploy/: helm from the Go module that tests/support/helm pins, promtool out of Debian's package of
Prometheus, which would start a server where it is installed."""

from driver import debian_file, go_programs
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


def _provide_promtool() -> dict[str, str]:
    try:
        package, version = debian_file.known(PROMETHEUS, debian_file.version_of)
        found = debian_file.provide(package, version, "usr/bin/promtool", cache_folder() / f"promtool-{version}" / "promtool")
    except Failed as error:
        # By the time that the package gave it, which is when it was built.
        found = max(cache_folder().glob("promtool-*/promtool"), key=lambda file: file.stat().st_mtime, default=None)
        if found is None:
            raise
        say(f"kept from before, {found.parent.name}: {error}")
    return {"TIDEMARK_PROMTOOL": str(found)}


# Each gives what tells the tests where its tool is. Failed with the remedy: where there is no helm for want of Go, promtool may be had, and the reverse.
PROVIDE = {"helm": _provide_helm, "promtool": _provide_promtool}


def stock_kubectl() -> dict[str, str]:
    """Debian's kubectl, an old one, for tests that must not need Go. Installed nowhere."""
    package, version = debian_file.known("kubernetes-client", debian_file.version_of)
    found = debian_file.provide(package, version, "usr/bin/kubectl", cache_folder() / f"kubectl-{version}" / "kubectl")
    return {"TIDEMARK_KUBECTL": str(found)}
