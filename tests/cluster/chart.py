"""Helpers for tests of deploy/chart: render it with helm, read it back through the API server, and act as its service accounts."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from contract.client import Client, Target
from support.patience import PATIENCE_S as LIMIT_S

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "chart"
NAMESPACE = "koordinator-system"
RELEASE = "tidemark"
ACCOUNT = "tidemark-manager"
YARN_OPERATOR = "tidemark-yarn-operator"

needs_helm = unittest.skipUnless(os.environ.get("TIDEMARK_HELM"), "no helm: ./dev test cluster builds it if Go is installed")


def run(command: list, given: str | None = None) -> subprocess.CompletedProcess:
    how = {"input": given} if given is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT_S, **how)


def must(done: subprocess.CompletedProcess) -> str:
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(done.args)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def helm(*words: str, values: dict | None = None) -> subprocess.CompletedProcess:
    """Runs helm. `values` become a values file after the chart's own; the helm settings of the machine are not used."""
    with tempfile.TemporaryDirectory() as home:
        extra = []
        if values is not None:
            file = Path(home) / "values.json"
            file.write_text(json.dumps(values))  # JSON is YAML too
            extra = ["--values", file]
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "HELM_CACHE_HOME": home, "HELM_CONFIG_HOME": home, "HELM_DATA_HOME": home,
            "KUBECONFIG": os.environ.get("TIDEMARK_TEST_KUBECONFIG", ""),
        }
        return subprocess.run(
            [os.environ["TIDEMARK_HELM"], *map(str, [*words, *extra])],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, env=environment,
        )


def template(values: dict | None = None, *more: str) -> str:
    return must(helm("template", RELEASE, CHART, "--namespace", NAMESPACE, *more, values=values))


def plain_manifests() -> str:
    """deploy/manager.yaml, for an installation without helm. It has no settings: they would overwrite those on the cluster."""
    head = "# Made from deploy/chart by: PYTHONPATH=tests TIDEMARK_HELM=… python3 -m cluster.chart > deploy/manager.yaml\n"
    return head + template({"settings": {"create": False}})


def kubectl(*words, given: str | None = None) -> subprocess.CompletedProcess:
    return run([os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], *words], given)


def objects(manifests: str) -> list[dict]:
    """The objects as the API server reads them; nothing is stored. Unknown fields and bad values are refused."""
    shown = must(kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-", given=manifests))
    read = json.loads(shown)
    return read["items"] if read["kind"] == "List" else [read]


def find(found: list[dict], kind: str, name: str | None = None) -> dict:
    matching = [each for each in found if each["kind"] == kind and name in (None, each["metadata"]["name"])]
    if len(matching) != 1:
        raise AssertionError(f"wanted one {kind} {name or ''}, found {[each['metadata']['name'] for each in matching]}")
    return matching[0]


def deployment(found: list[dict], component: str = "manager") -> dict:
    return find([each for each in found if each["metadata"].get("labels", {}).get("app.kubernetes.io/component") == component], "Deployment")


def container(found: list[dict], component: str = "manager") -> dict:
    return deployment(found, component)["spec"]["template"]["spec"]["containers"][0]


def command_here(of: dict, folders: dict[str, str] | None = None) -> list[str]:
    """The command of this container, with free ports of this machine; the API server finds the webhooks by address."""
    served = {"--metrics-addr": "127.0.0.1:0", "--health-probe-addr": "127.0.0.1:0", "--webhook-addr": "127.0.0.1:0"}
    served |= folders or {}  # of mounted volumes
    flags = [f"{name}{sign}{served.get(name, value)}" for name, sign, value in (flag.partition("=") for flag in of["args"])]
    webhooks = ["--webhook-host=127.0.0.1"] if "--webhooks=on" in flags else []
    return [*of["command"][1:], *flags, *webhooks]


def delete_webhooks(api: Client) -> None:
    """Deletes the webhook objects that a manager created."""
    for path in (
        *(f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/koordinator-{kind}-webhook-configuration" for kind in ("mutating", "validating")),
        f"/api/v1/namespaces/{NAMESPACE}/secrets/koordinator-webhook-certs",
    ):
        api.request("DELETE", path)


def ensure_namespace(api: Client) -> None:
    answer = api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    assert answer.status in (201, 409), answer.status


def token(account: str) -> str:
    return must(kubectl("create", "token", account, "--namespace", NAMESPACE, "--duration=1h")).strip()


def client_of(account: str) -> Client:
    return Client(Target(os.environ["TIDEMARK_TEST_SERVER"], os.environ["TIDEMARK_TEST_CA_FILE"], token(account)))


def kubeconfig_of(account: str, folder: str) -> str:
    """A kubeconfig with this service account only."""
    file = Path(folder) / f"{account}.kubeconfig"
    file.touch(mode=0o600)
    file.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": os.environ["TIDEMARK_TEST_SERVER"], "certificate-authority": os.environ["TIDEMARK_TEST_CA_FILE"]}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
        "users": [{"name": "u", "user": {"token": token(account)}}],
    }))
    return str(file)


if __name__ == "__main__":
    print(plain_manifests(), end="")
