"""What the roles of deploy/chart grant, what the API server was asked for, and programs that run with these roles."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import ACCOUNT, NAMESPACE, RELEASE, find, helm, must
from cluster.colocation import MERGE, SETTINGS, TIDEMARK_CONFIG
from cluster.manager_case import WithManager
from cluster.tidemark_process import Component, wait_for

PEOPLE = ("viewer", "operator")
STATE = "tidemark-state"
OURS = (
    '{"schema": 1, "mode": "enforce", "rollout": {"nodesPerMinute": %d, "canarySoak": "1s"}, "evictions": {"breaker": {"atLeast": 1}}, "calendar": "nights", "calendars": [{"name": "nights", "zone": "UTC",'
    ' "entries": [{"name": "long-ago", "from": "2020-01-01T00:00", "to": "2020-01-02T00:00", "cpu": 60}]}],'
    ' "pools": [{"name": "gentle", "nodeSelector": {"matchLabels": {"gentle": "yes"}}, "profile": "tidemark"}]}'
)
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
WEBHOOK_SECRET = "koordinator-webhook-certs"
PODS = "/api/v1/namespaces/default/pods"
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
POD_SPEC = {"containers": [{"name": "main", "image": "none"}]}


@dataclass(frozen=True)
class Grant:
    """The smallest unit that a role can grant."""

    namespace: str | None  # None: all namespaces
    group: str
    resource: str
    verb: str
    name: str | None  # None: any

    def covers(self, request: "Grant") -> bool:
        return (
            self.namespace in (None, request.namespace) and self.name in (None, request.name)
            and (self.group, self.resource, self.verb) == (request.group, request.resource, request.verb)
        )

    def __str__(self) -> str:
        where = "everywhere" if self.namespace is None else f"in {self.namespace}"
        return f"{self.verb} {self.resource}{'.' + self.group if self.group else ''} {self.name or ''} {where}"


def grants_of(found: list[dict], account: str) -> set[Grant]:
    """The grants of the rendered bindings to this service account."""
    given = set()
    for binding in found:
        if not binding["kind"].endswith("RoleBinding") or account not in [subject["name"] for subject in binding["subjects"]]:
            continue
        role = find(found, binding["roleRef"]["kind"], binding["roleRef"]["name"])
        namespace = role["metadata"].get("namespace")
        given |= {
            Grant(namespace, group, resource, verb, name)
            for rule in role["rules"] if "resources" in rule for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"] for name in rule.get("resourceNames", [None])
        }
    return given


def asked_by(account: str, since: int) -> tuple[set[Grant], list[str]]:
    """The requests of this account for objects of our kinds, and those that the API server forbade."""
    asked, forbidden = set(), []
    with open(os.environ["TIDEMARK_TEST_AUDIT_LOG"], "rb") as log:
        log.seek(since)
        lines = [line for line in log.read().split(b"\n")[:-1] if line]  # the last one may be incomplete
    for line in lines:
        event = json.loads(line)
        about = event.get("objectRef")
        if event["user"]["username"] != f"system:serviceaccount:{NAMESPACE}:{account}" or about is None:
            continue
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        request = Grant(about.get("namespace"), about.get("apiGroup", ""), resource, event["verb"], about.get("name"))
        asked.add(request)
        if event.get("responseStatus", {}).get("code") in (401, 403):
            forbidden.append(str(request))
    return asked, sorted(set(forbidden))


def spare(given: set[Grant], asked: set[Grant]) -> list[str]:
    """Grants that were not needed: without any one of them, no request would have been forbidden."""
    return sorted(str(grant) for grant in given if not any(
        grant.covers(request) and not any(other.covers(request) for other in given - {grant}) for request in asked
    ))


class ChartRoles(WithManager):
    """The installed chart and its accounts; each test has its own installation."""

    def setUp(self):
        chart.ensure_namespace(self.api)
        colocation.delete_settings(self.api)
        chart.delete_webhooks(self.api)
        self.api.request("DELETE", f"{SETTINGS}/{STATE}")  # left by earlier tests; this test creates it
        self.addCleanup(self.api.request, "DELETE", f"{SETTINGS}/{STATE}")
        self.since = Path(os.environ["TIDEMARK_TEST_AUDIT_LOG"]).stat().st_size
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        subject = [{"kind": "ServiceAccount", "namespace": NAMESPACE}]
        self.values = {
            "settings": {"create": False}, "manager": {"logFormat": "text"},
            "rbac": {"recommendations": True}, "agent": {"enabled": True},
            "access": {f"{role}s": [{**subject[0], "name": role}] for role in PEOPLE},
        }
        self.addCleanup(chart.delete_webhooks, self.api)
        self.addCleanup(helm, "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--no-hooks")
        self.install({})
        for role in PEOPLE:
            self.api.request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": role}})
            self.addCleanup(self.api.request, "DELETE", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{role}")

    def see_console(self, account: str, *form: str) -> Component:
        """A console with the rights of this account, which read everything that it shows."""
        console = Component("console", "--kubeconfig", chart.kubeconfig_of(account, self.folder), *(form or [f"--config-namespace={NAMESPACE}", "--listen=127.0.0.1:0", "--metrics-addr=127.0.0.1:0"]))
        self.addCleanup(console.stop)
        wait_for(console.ready, "a console that read the cluster", console)
        return console

    def install(self, more: dict) -> None:
        values = {**self.values, **more}
        must(helm("upgrade", "--install", RELEASE, chart.CHART, "--namespace", NAMESPACE, values=values))
        self.rendered = chart.objects(chart.template(values))

    def start(self, certificates: Path | None = None) -> Component:
        """As the chart's Deployment does, with free ports and with the directory that it mounts."""
        folders = {"--journal-dir": tempfile.mkdtemp(dir=self.folder), "--webhook-cert-dir": str(certificates)}
        component = Component(*chart.command_here(chart.container(self.rendered), folders), "--kubeconfig", chart.kubeconfig_of(ACCOUNT, self.folder))
        self.components = [*getattr(self, "components", []), component]
        self.addCleanup(component.stop)
        wait_for(component.ready, "a ready manager", component)
        return component

    def command(self, role: str, *words: str) -> subprocess.CompletedProcess:
        kubeconfig = chart.kubeconfig_of(role, self.folder)
        return chart.run([os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", kubeconfig])

    def put_tidemark_config(self, text: str) -> None:
        made = self.api.request("POST", SETTINGS, {"metadata": {"name": TIDEMARK_CONFIG}, "data": {"config.yaml": text}})
        if made.status == 409:
            self.api.request("PATCH", f"{SETTINGS}/{TIDEMARK_CONFIG}", {"data": {"config.yaml": text}}, content=MERGE)

    def offers(self, node: str, batch_cpu: str | None, component: Component) -> None:
        wait_for(
            lambda: colocation.offered(self.api, node).get("kubernetes.io/batch-cpu") == batch_cpu, f"batch-cpu {batch_cpu} on {node}", component
        )

    def profile(self, app: str, priority_class: str, **more) -> None:
        body = {
            "apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile",
            "metadata": {"name": f"roles-{app}", "labels": {"config.koordinator.sh/controller-managed": "true"}},
            "spec": {"selector": {"matchLabels": {"app": app}}, "labels": {"by": "profile"}, "priorityClassName": priority_class, **more},
        }
        colocation.must(self.api.request("POST", PROFILES, body))
        self.addCleanup(self.api.request, "DELETE", f"{PROFILES}/roles-{app}")

    def patch_as_manager(self, *what: str):
        """Returns a function that patches one object with kubectl and the manager's token."""
        kubeconfig = chart.kubeconfig_of(ACCOUNT, self.folder)

        def patch(body: dict, *flags: str) -> subprocess.CompletedProcess:
            return chart.run([os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", str(kubeconfig), "patch", *what, "--type=merge", "-p", json.dumps(body), *flags])

        return patch

    def put_missed_pod(self, name: str, namespace: str = "default", **spec) -> None:
        pods = PODS.replace("/default/", f"/{namespace}/")
        colocation.must(self.api.request("POST", pods, {"metadata": {"name": name, "labels": {"app": "missed"}}, "spec": {**POD_SPEC, **spec}}))
        self.addCleanup(self.api.request, "DELETE", f"{pods}/{name}", gracePeriodSeconds=0)
