"""deploy/chart: what helm renders with many values, how the real API server answers, and what is refused."""

import json
import os
import tempfile
import unittest
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import CHART, NAMESPACE, RELEASE, find, helm, kubectl, must, template
from cluster.manager_case import LEASES
from cluster.test_manager import CAPACITY, STATUS
from cluster.tidemark_process import Component, wait_for
from contract.client import STRATEGIC

SITE = "<configuration><property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property></configuration>\n"
EVERYTHING = {
    "image": {"repository": "registry.example/tidemark", "digest": "sha256:" + "a" * 64, "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "pull"}],
    "nameOverride": "night",
    "commonLabels": {"team": "compute"},
    "replicas": 3,
    "manager": {"extraArgs": ["--sync-period=10m"], "extraEnv": [{"name": "TZ", "value": "UTC"}], "kubeApiQps": 0.5, "logFormat": "text"},
    "webhooks": {"certificateSecret": "given", "profile": "tidemark", "whileOff": "refuse", "port": 10443, "evictionsConfiguration": "night-evictions"},
    "agent": {
        "enabled": True, "podSource": "api-server", "mode": "observe", "kernelLog": True, "metricsHost": "127.0.0.1", "metricsPort": 9999, "extraArgs": ["--kube-api-qps=2"], "maxUnavailable": 3,
        "copilots": [{"socket": "/run/yarn/copilot.sock", "group": "kubepods/besteffort/hadoop-yarn"}],
        "kubelet": {"endpoint": "https://10.0.0.1:10250", "caFile": "/etc/kubernetes/pki/ca.crt", "cgroupRoot": "/kube", "rootDir": "/data/kubelet", "podLogsDir": "/data/logs", "seeVolumes": True},
        "resources": {"limits": {"memory": "1Gi"}}, "nodeSelector": {"a": "b"}, "tolerations": [], "affinity": {"podAntiAffinity": {}}, "podAnnotations": {"x": "y"}, "podLabels": {"z": "1"},
        "uninstall": {"waitSeconds": 600},
    },
    "console": {
        "enabled": True, "replicas": 3, "tlsSecret": "console-tls", "hosts": ["console.example.com", "tidemark.example"], "metricsPort": 9092, "logLevel": "debug", "logFormat": "text", "extraArgs": ["--log-level=warn"],
        "oidc": {"issuer": "https://login.example.com", "clientId": "tidemark", "clientSecret": "console-oidc", "caConfigMap": "console-oidc-ca", "scopes": ["openid", "groups"]},
        "gateway": {"url": "https://tidemark-gateway:8998", "caConfigMap": "gateway-ca"},
        "resources": {"limits": {"memory": "1Gi"}}, "priorityClassName": "system-cluster-critical", "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}}, "podAnnotations": {"x": "y"}, "podLabels": {"z": "1"},
    },
    "gateway": {
        "enabled": True, "replicas": 3, "accessSecret": "gateway-access", "tlsSecret": "gateway-tls", "postgresSecret": "gateway-postgres", "persistence": {"storageClass": "fast", "size": "5Gi"},
        "routes": {"kubernetesPercent": 20, "kubernetesWaitingMax": 7, "rules": [{"queue": "night", "side": "kubernetes", "ban": True, "from": "22:00", "to": "07:00", "days": ["mon"]}]},
        "sparkNamespaces": ["default", "kube-public"], "sparkImage": "registry.example/spark:3.5.9", "sparkYarnJars": "local:/opt/spark/jars/*", "hadoopConf": {"yarn-site.xml": SITE, "core-site.xml": "<configuration/>"}, "yarnUser": "spark",
        "kerberos": {"keytabSecret": "gateway-keytab", "principal": "tidemark/_HOST@EXAMPLE.COM", "spnegoSecret": "gateway-http", "krb5Conf": "[libdefaults]\n  default_realm = EXAMPLE.COM\n"},
        "metricsPort": 9093, "logLevel": "debug", "logFormat": "text", "extraArgs": ["--kubernetes-percent=20"], "resources": {"limits": {"memory": "1Gi"}}, "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}], "affinity": {"podAntiAffinity": {}}, "podAnnotations": {"x": "y"}, "podLabels": {"z": "1"},
    },
    "yarnOperator": {
        "enabled": True, "replicas": 3, "mode": "observe", "yarnUser": "yarn", "rounding": "peer", "millicoresPerVcore": 1000000, "poll": "500ms", "kubeApiQps": 0.5, "kubeApiBurst": 7, "metricsPort": 9091, "logLevel": "debug",
        "hadoopConf": {"yarn-site.xml": SITE, "core-site.xml": "<configuration/>", "second.yarn-site.xml": SITE}, "extraArgs": ["--lost-hold=20m"], "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "resources": {"limits": {"memory": "1Gi"}}, "priorityClassName": "system-cluster-critical", "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}}, "podAnnotations": {"x": "y"}, "podLabels": {"z": "1"},
        "kerberos": {"keytabSecret": "yarn-keytab", "principal": "tidemark/_HOST@EXAMPLE.COM", "krb5Conf": "[libdefaults]\n  default_realm = EXAMPLE.COM\n"},
    },
    "yarnCopilot": {
        "enabled": True, "nodeManagerEndpoint": "https://localhost:8044", "socket": "/run/copilot/yarn.sock", "group": "kube/besteffort/yarn", "adopt": True, "allowUsers": [4711, 4712],
        "hadoopConfDir": "/etc/hadoop/conf", "localDirs": ["/d1/yarn", "/d2/yarn"], "localDirsLimitMiB": 1000000, "diskReadLimitMiB": 200, "diskWriteLimitMiB": 100, "queueClasses": ["etl=transcode", "root.adhoc=query"], "metricsHost": "127.0.0.1", "metricsPort": 9998, "logLevel": "debug", "logFormat": "text",
        "extraArgs": ["--list-age=2s"], "maxUnavailable": 3, "resources": {"limits": {"memory": "1Gi"}}, "nodeSelector": {"a": "b"}, "tolerations": [], "affinity": {"podAntiAffinity": {}},
        "podAnnotations": {"x": "y"}, "podLabels": {"z": "1"},
        "kerberos": {"keytabSecret": "copilot-keytab", "principal": "tidemark/_HOST@EXAMPLE.COM", "krb5Conf": "[libdefaults]\n  default_realm = EXAMPLE.COM\n"},
    },
    "nodeManager": {
        "enabled": True, "image": {"repository": "registry.example/node-manager", "tag": "3", "pullPolicy": "Always"}, "command": ["/bin/run"], "javaOptions": "-Xmx1g",
        "hadoopConf": {"yarn-site.xml": SITE, "core-site.xml": "<configuration/>"}, "localDirs": ["/d1/yarn", "/d2/yarn"], "logDirs": ["/d1/logs"], "recoveryDir": "/d1/recovery", "stateDir": "/d1/state",
        "webPort": 8999, "webHost": "127.0.0.1", "updateStrategy": "RollingUpdate", "maxUnavailable": "10%", "terminationGracePeriodSeconds": 60, "priorityClassName": "system-cluster-critical",
        "resources": {"requests": {"cpu": 1}}, "extraEnv": [{"name": "TZ", "value": "UTC"}], "extraVolumes": [{"name": "jdk", "hostPath": {"path": "/usr/lib/jvm"}}],
        "extraVolumeMounts": [{"name": "jdk", "mountPath": "/usr/lib/jvm"}], "nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}], "affinity": {"podAntiAffinity": {}},
        "podAnnotations": {"x": "y"}, "podLabels": {"z": "1"},
    },
    "settings": {
        "sloControllerConfig": {
            "colocation-config": {"enable": True, "cpuReclaimThresholdPercent": 65, "nodeConfigs": [{"name": "a", "nodeSelector": {"matchLabels": {"a": "b"}}}]},
            "resource-threshold-config": {"clusterStrategy": {"enable": True}},
        },
        "tidemarkConfig": {
            "schema": 1, "mode": "enforce",
            "pools": [{"name": "canary", "nodeSelector": {"matchLabels": {"stage": "canary"}}, "canary": True}],
            "rollout": {"nodesPerMinute": 240, "canarySoak": "10m"},
        },
    },
    "stream": {"url": "https://collector.example/tidemark", "secret": "collector", "caKey": "ca.crt", "tokenKey": "token"},
    "access": {
        "viewers": [{"kind": "Group", "name": "everyone", "apiGroup": "rbac.authorization.k8s.io"}],
        "operators": [{"kind": "User", "name": "sre", "apiGroup": "rbac.authorization.k8s.io"}],
    },
    "serviceAccount": {"annotations": {"a/b": "c"}},
    "service": {"annotations": {"prometheus.io/scrape": "true"}, "metricsPort": 9090},
    "podDisruptionBudget": {"maxUnavailable": "50%"},
    "dashboard": {"create": True},
    "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
    "priorityClassName": "system-cluster-critical",
    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}},
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "b"}}}],
    "podAnnotations": {"x": "y"},
    "podLabels": {"z": "1"},
}
LEAST = {
    "replicas": 1, "webhooks": {"enabled": False}, "journal": {"enabled": False}, "settings": {"create": False}, "serviceAccount": {"create": False, "name": "mine"}, "rbac": {"create": False},
    "podDisruptionBudget": {"create": False},
}
# Wrong values, and the text that the message must contain.
BAD = [
    ({"replica": 2}, "replica"),
    ({"replicas": 0}, "replicas"),
    ({"replicas": "two"}, "replicas"),
    ({"image": {"digest": "latest"}}, "digest"),
    ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ({"manager": {"logLevel": "loud"}}, "logLevel"),
    ({"manager": {"extraArgs": ["sync-period"]}}, "extraArgs"),
    ({"manager": {"workers": 65}}, "workers"),
    ({"stream": {"url": "collector.example"}}, "url"),
    ({"settings": {"sloControllerConfig": {"colocation-config": {"cpuReclaimThresholdPercent": 101}}}}, "cpuReclaimThresholdPercent"),
    ({"settings": {"sloControllerConfig": {"colocation-config": "{}"}}}, "colocation-config"),
    ({"settings": {"tidemarkConfig": {"schema": 2}}}, "schema"),
    ({"access": {"operators": [{"kind": "Team", "name": "sre"}]}}, "kind"),
    ({"webhooks": {"whileOff": "maybe"}}, "whileOff"),
    ({"agent": {"podSource": "etcd"}}, "podSource"),
    ({"agent": {"copilots": [{"socket": "copilot.sock", "group": "a"}]}}, "socket"),
    ({"agent": {"image": "tidemark"}}, "image"),
    ({"agent": {"maxUnavailable": 0}}, "maxUnavailable"),
    ({"agent": {"uninstall": {"waitSeconds": 0}}}, "waitSeconds"),
    ({"agent": {"uninstall": {"off": True}}}, "off"),
    ({"agent": {"kubelet": {"rootDir": "kubelet"}}}, "rootDir"),
    ({"agent": {"mode": "off"}}, "mode"),
    ({"console": {"hosts": ["https://console.example.com"]}}, "hosts"),
    ({"console": {"tls": "console-tls"}}, "tls"),
    ({"console": {"oidc": {"issuer": "http://login.example.com"}}}, "issuer"),
    ({"console": {"gateway": {"url": "http://tidemark-gateway:8998"}}}, "url"),
    ({"gateway": {"sparkNamespaces": []}}, "sparkNamespaces"),
    ({"gateway": {"persistence": {"size": "lots"}}}, "size"),
    ({"gateway": {"postgres": "host=db"}}, "postgres"),
    ({"yarnOperator": {"rounding": "up"}}, "rounding"),
    ({"yarnOperator": {"millicoresPerVcore": 0}}, "millicoresPerVcore"),
    ({"yarnOperator": {"poll": "5"}}, "poll"),
    ({"yarnOperator": {"hadoopConf": {"conf/yarn-site.xml": "x"}}}, "conf/yarn-site.xml"),
    ({"yarnOperator": {"image": "tidemark"}}, "image"),
    ({"yarnCopilot": {"socket": "copilot.sock"}}, "socket"),
    ({"yarnCopilot": {"allowUsers": ["ada"]}}, "allowUsers"),
    ({"yarnCopilot": {"queueClasses": ["etl"]}}, "queueClasses"),
    ({"yarnCopilot": {"localDirs": ["yarn"]}}, "localDirs"),
    ({"yarnCopilot": {"nodeManagerEndpoint": "localhost"}}, "nodeManagerEndpoint"),
    ({"nodeManager": {"localDirs": []}}, "localDirs"),
    ({"nodeManager": {"recoveryDir": "recovery"}}, "recoveryDir"),
    ({"nodeManager": {"updateStrategy": "Recreate"}}, "updateStrategy"),
    ({"journal": {"persistence": {"size": "lots"}}}, "size"),
    ({"journal": {"persistence": {"existingClaim": "mine"}}}, "existingClaim"),
    ({"service": {"metricsPort": 80}}, "metricsPort"),
    ({"resources": {"requests": {"memory": "lots"}}}, "memory"),
    ({"commonLabels": {"a": 1}}, "commonLabels"),
]


@chart.needs_helm
class Chart(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.api = colocation.client()
        chart.ensure_namespace(cls.api)

    @classmethod
    def tearDownClass(cls):
        cls.api.close()

    def tearDown(self):
        for component in getattr(self, "components", []):  # a running component would recreate what is deleted here
            component.stop()
        helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--no-hooks")
        colocation.delete_settings(self.api)
        chart.delete_webhooks(self.api)
        self.api.request("DELETE", f"{LEASES}/koordinator-manager")

    def test_lint_finds_nothing(self):
        for values in ({}, EVERYTHING, LEAST):
            shown = must(helm("lint", "--strict", CHART, values=values))
            self.assertNotIn("WARNING", shown.replace("symbolic link", ""))

    def test_the_api_server_accepts_all_rendered_objects(self):
        for name, values in (("defaults", {}), ("everything", EVERYTHING), ("least", LEAST)):
            with self.subTest(name):
                found = chart.objects(template(values))
                self.assertIn("Deployment", [each["kind"] for each in found])

    def test_wrong_values_are_refused_with_their_place(self):
        for values, named in BAD:
            with self.subTest(values=values):
                done = helm("template", RELEASE, CHART, values=values)
                self.assertNotEqual(0, done.returncode)
                self.assertIn("values don't meet the specifications of the schema", done.stderr)
                self.assertIn(named, done.stderr)
        done = helm("template", RELEASE, CHART, values={"serviceAccount": {"create": False}})
        self.assertIn("serviceAccount.name must say whose account it is", done.stderr)
        done = helm("template", RELEASE, CHART, values={"console": {"enabled": True}})
        self.assertIn("console.enabled needs a certificate: set console.tlsSecret", done.stderr)
        done = helm("template", RELEASE, CHART, values={"gateway": {"enabled": True, "tlsSecret": "x"}})
        self.assertIn("gateway.enabled needs authentication: set gateway.tlsSecret", done.stderr)
        done = helm("template", RELEASE, CHART, values={"gateway": {"enabled": True, "tlsSecret": "gateway-tls", "accessSecret": "gateway-access", "replicas": 2}})
        self.assertIn("gateway.replicas above 1 need a store that replicas share", done.stderr)
        for values, why in (
            ({"localDirsLimitMiB": 5}, "yarnCopilot.localDirsLimitMiB: of which folders?"), ({"diskWriteLimitMiB": 5}, ".diskWriteLimitMiB: on which disks?"),
            ({"kerberos": {"keytabSecret": "x"}}, "wants to know the realm and the ResourceManagers"), ({"kerberos": {"principal": "x"}}, "principal is one of a keytab"),
        ):
            done = helm("template", RELEASE, CHART, values={"yarnCopilot": {"enabled": True, **values}})
            self.assertNotEqual(0, done.returncode)
            self.assertIn(why, done.stderr)

    def test_pods_meet_the_restricted_standard(self):
        """Pod Security Standards, level `restricted`, checked by the API server."""
        self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "pod-security", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
        found = chart.objects(template(EVERYTHING))
        what_an_uninstallation_runs = chart.find(found, "Job")
        for of in (chart.deployment(found), chart.deployment(found, "yarn-operator"), chart.deployment(found, "console"), chart.deployment(found, "gateway"), what_an_uninstallation_runs):
            with self.subTest(of["metadata"]["name"]):
                spec = of["spec"]["template"]["spec"]
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "restricted", "namespace": "pod-security"}, "spec": spec}
                answer = self.api.request("POST", "/api/v1/namespaces/pod-security/pods", pod, dryRun="All")
                self.assertEqual(201, answer.status, answer.body)
                container = spec["containers"][0]
                self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
                container["securityContext"]["allowPrivilegeEscalation"] = True  # proves that the check is active
                self.assertEqual(403, self.api.request("POST", "/api/v1/namespaces/pod-security/pods", pod, dryRun="All").status)

    def test_a_persistent_journal_is_a_claim_of_each_replica(self):
        wanted = {"journal": {"persistence": {"enabled": True, "storageClass": "fast", "size": "5Gi"}}}
        must(helm("lint", "--strict", CHART, values=wanted))
        found = chart.objects(template(wanted))
        manager = chart.find(found, "StatefulSet")["spec"]
        self.assertNotIn("Deployment", [each["kind"] for each in found])
        [claim] = manager["volumeClaimTemplates"]
        self.assertEqual(("journal", ["ReadWriteOnce"], "fast", "5Gi"), (
            claim["metadata"]["name"], claim["spec"]["accessModes"], claim["spec"]["storageClassName"], claim["spec"]["resources"]["requests"]["storage"],
        ))
        service = chart.find(found, "Service", manager["serviceName"])["spec"]
        self.assertEqual("None", service["clusterIP"], "the headless service gives pods of a StatefulSet their names")
        self.assertLessEqual(service["selector"].items(), manager["template"]["metadata"]["labels"].items())
        # Its pods are those of the Deployment, except for the volume of the journal.
        plain = chart.deployment(chart.objects(template({})))["spec"]["template"]
        self.assertEqual(["journal"], [each["name"] for each in plain["spec"].pop("volumes")])
        self.assertEqual(plain, manager["template"])
        self.assertIn({"name": "journal", "mountPath": "/journal"}, plain["spec"]["containers"][0]["volumeMounts"])
        self.assertNotIn("storageClassName", template({"journal": {"persistence": {"enabled": True}}}), "the cluster's own")
        self.assertIn("kind: Deployment", template({"journal": {"enabled": False, "persistence": {"enabled": True}}}, "--show-only", "templates/deployment.yaml"))

        # Enabled and disabled again in a running release.
        kinds = lambda: must(kubectl("-n", NAMESPACE, "get", "deployment,statefulset", "-l", "app.kubernetes.io/component=manager", "-o", "name")).split()
        must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE))
        must(helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values=wanted))
        self.assertEqual(["statefulset.apps/tidemark-manager"], kinds())
        must(helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values={"journal": {"persistence": {"enabled": False}}}))
        self.assertEqual(["deployment.apps/tidemark-manager"], kinds())

    def test_a_gateway_without_postgresql_has_one_replica_and_a_claim(self):
        found = chart.objects(template({"gateway": {"enabled": True, "tlsSecret": "gateway-tls", "accessSecret": "gateway-access", "persistence": {"size": "3Gi"}}}))
        claim = chart.find(found, "PersistentVolumeClaim")
        self.assertEqual(("3Gi", "keep"), (claim["spec"]["resources"]["requests"]["storage"], claim["metadata"]["annotations"]["helm.sh/resource-policy"]))
        gateway = chart.deployment(found, "gateway")["spec"]
        self.assertEqual((1, "Recreate"), (gateway["replicas"], gateway["strategy"]["type"]))
        self.assertIn({"name": "runs", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}, gateway["template"]["spec"]["volumes"])
        self.assertNotIn("PersistentVolumeClaim", [each["kind"] for each in chart.objects(template(EVERYTHING))])

    def test_install_upgrade_and_uninstall(self):
        must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE))
        settings = json.loads(must(kubectl("-n", NAMESPACE, "get", "configmap", "slo-controller-config", "-o", "json")))
        self.assertEqual({"enable": True}, json.loads(settings["data"]["colocation-config"]))
        self.assertEqual({"clusterStrategy": {"enable": True}}, json.loads(settings["data"]["resource-threshold-config"]), "a pool that is switched on is protected")
        must(helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values={"replicas": 3, "agent": {"enabled": True}, "yarnOperator": {"enabled": True, "hadoopConf": {"yarn-site.xml": SITE}}}))
        self.assertEqual("3", must(kubectl("-n", NAMESPACE, "get", "deployment", "tidemark-manager", "-o", "jsonpath={.spec.replicas}")))
        # A manual edit survives upgrades and rollbacks, also to the revision that created the settings.
        by_hand = {"data": {"colocation-config": '{"enable": false}', "resource-threshold-config": "{}"}}
        self.api.request("PATCH", f"{colocation.SETTINGS}/slo-controller-config", by_hand, content=colocation.MERGE)
        must(helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values={"replicas": 2}))
        self.assertEqual(by_hand["data"], self.api.request("GET", f"{colocation.SETTINGS}/slo-controller-config")["data"])
        must(helm("rollback", RELEASE, "1", "--namespace", NAMESPACE))
        self.assertEqual(by_hand["data"], self.api.request("GET", f"{colocation.SETTINGS}/slo-controller-config")["data"])
        must(helm("uninstall", RELEASE, "--namespace", NAMESPACE))
        label = "app.kubernetes.io/instance=tidemark"
        kinds = (
            "deployment,daemonset,service,serviceaccount,poddisruptionbudget,role,rolebinding,clusterrole,clusterrolebinding,configmap,"
            "validatingadmissionpolicy,validatingadmissionpolicybinding,validatingwebhookconfiguration"
        )
        left = must(kubectl("get", kinds, "-A", "-l", label, "-o", "name")).split()
        # Settings stay after the release is gone, as docs/guide/upgrade-and-remove.md says.
        self.assertEqual(["configmap/slo-controller-config", "configmap/tidemark-config"], sorted(left))
        must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE))
        self.assertEqual(by_hand["data"], self.api.request("GET", f"{colocation.SETTINGS}/slo-controller-config")["data"], "installed again")

    def test_agents_are_not_uninstalled_while_limits_are_in_force(self):
        """If no hook switches them off (see test_chart_uninstall.py), the API server still checks each node's condition."""
        agents = {"enabled": True, "uninstall": {"runOff": False}}

        def shown(node: str, reason: str, message: str) -> None:
            condition = {"type": "TidemarkIsolation", "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
            colocation.must(self.api.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"conditions": [condition]}}, content=STRATEGIC))

        def uninstalled(*how: str):
            return helm("uninstall", RELEASE, "--namespace", NAMESPACE, *how)

        for name in ("off-a", "off-b", "off-never-had-one"):
            colocation.put_node(self.api, name, capacity=CAPACITY)
            self.addCleanup(colocation.delete, self.api, name)
        shown("off-a", "Off", "cpuSuppress: restore; batchLimits: restore; ordered by sre: a file of his")
        shown("off-b", "Enforcing", "cpuSuppress: enforce (1 file); batchLimits: enforce (12 files)")
        must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE, values={"agent": agents}))
        probe = {"metadata": {"name": "tidemark-agent-off-first"}}
        wait_for(lambda: self.api.request("POST", colocation.SETTINGS, probe, dryRun="All").status == 422, "the policy in force")
        for reason, message in (
            ("Enforcing", "batchLimits: enforce (12 files)"), ("Off", "cpuSuppress: restore; batchLimits: enforce (1 file)"), ("Enforcing", "cpuSuppress: enforce"),
            ("Observing", "oomOrder: restore (7 processes); cpuSuppress: restore (1 file); ordered by sre: why"),
            ("Unable", "cpuSuppress: restore; nothing can be written: no room"), ("Waiting", "cpuSuppress: keep"),
        ):
            with self.subTest(reason, message=message):
                shown("off-b", reason, message)
                wait_for(lambda: message in self.api.request("POST", colocation.SETTINGS, probe, dryRun="All").body.decode(), "the policy to see it")
                refused = uninstalled()
                self.assertNotEqual(0, refused.returncode)
                self.assertIn(f"the agent of node off-b may have files of the kernel in force ({reason}: {message}). Before it is uninstalled: tidemark off cluster", refused.stderr)
                must(kubectl("-n", NAMESPACE, "get", "daemonset/tidemark-agent", "deployment/tidemark-manager", "serviceaccount/tidemark-agent"))
                must(helm("rollback", RELEASE, "1", "--namespace", NAMESPACE))  # until the rollback helm refuses upgrades
                refused = helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values={"agent": {"enabled": False}})
                self.assertNotEqual(0, refused.returncode)
                self.assertIn(f"the agent of node off-b may have files of the kernel in force ({reason}: {message}). Before the agents go", refused.stderr)
        # The order's author may write any reason.
        shown("off-b", "OffLocally", "cpuSuppress: restore; batchLimits: restore; ordered by sre: cleanup (3 files); cpuSuppress: enforce (2 files)")
        wait_for(lambda: self.api.request("POST", colocation.SETTINGS, probe, dryRun="All").status == 201, "the policy to see it")
        without = {"agent": {"enabled": True, "daemonSet": False}}
        must(helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values=without))
        self.assertEqual(404, self.api.request("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/tidemark-agent").status)
        must(helm("upgrade", RELEASE, CHART, "--namespace", NAMESPACE, values={"agent": agents}))
        must(uninstalled())
        label = "app.kubernetes.io/component=agent"
        self.assertEqual("", must(kubectl("get", "daemonset,serviceaccount,configmap,validatingadmissionpolicy,validatingadmissionpolicybinding", "-A", "-l", label, "-o", "name")))

    def test_uninstall_without_the_check_is_possible(self):
        colocation.put_node(self.api, "off-not", capacity=CAPACITY)
        self.addCleanup(colocation.delete, self.api, "off-not")
        condition = {"type": "TidemarkIsolation", "status": "True", "reason": "Enforcing", "message": "m (1 file)", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        colocation.must(self.api.request("PATCH", "/api/v1/nodes/off-not/status", {"status": {"conditions": [condition]}}, content=STRATEGIC))
        must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE, values={"agent": {"enabled": True}}))
        must(helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--no-hooks"))

    def test_existing_settings_are_not_taken_over_silently(self):
        colocation.put_settings(self.api, {"enable": True})
        done = helm("install", RELEASE, CHART, "--namespace", NAMESPACE)
        self.assertNotEqual(0, done.returncode)
        self.assertIn("the ConfigMap koordinator-system/slo-controller-config already exists: settings.create=false", done.stderr)
        must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE, values={"settings": {"create": False}}))
        self.assertEqual({"colocation-config": '{"enable": true}'}, self.api.request("GET", f"{colocation.SETTINGS}/slo-controller-config")["data"])

    def test_the_plain_manifests_equal_the_chart(self):
        self.assertEqual(chart.plain_manifests(), (chart.ROOT / "deploy" / "manager.yaml").read_text(), "regenerate deploy/manager.yaml: its first line has the command")

    def test_the_crds_equal_deploy_crds(self):
        self.assertEqual(sorted(f.name for f in (chart.ROOT / "deploy" / "crds").glob("*.yaml")), sorted(f.name for f in (CHART / "crds").glob("*.yaml")))
        self.assertTrue((CHART / "crds").is_symlink())
        rendered = template({}, "--include-crds")
        self.assertEqual(11, rendered.count("kind: CustomResourceDefinition"))
        self.assertNotIn("kind: CustomResourceDefinition", template({}))

    def test_a_package_of_the_chart_is_self_contained(self):
        """The links to deploy/crds and deploy/monitoring are files in it."""
        with tempfile.TemporaryDirectory() as folder:
            must(helm("package", CHART, "--destination", folder))
            (package,) = Path(folder).glob("*.tgz")
            everything = {"prometheusRule": {"create": True}, "dashboard": {"create": True}}
            packed = must(helm("template", RELEASE, package, "--namespace", NAMESPACE, "--include-crds", values=everything))
        self.assertEqual(template(everything, "--include-crds"), packed)

    def test_an_older_cluster_is_refused(self):
        done = helm("template", RELEASE, CHART, "--kube-version", "1.24.0")
        self.assertIn("chart requires kubeVersion: >=1.25", done.stderr)

    def test_the_agents_accept_every_flag(self):
        """They run on a real node in tests/node/test_daemonset.py; this test sets every value."""
        container = self.on_each_node("agent")
        self.assertNotEqual("koordlet", container["name"], "this name identifies Koordinator's agent")
        flags = {flag.split("=")[0] for flag in container["args"]}
        shown = must(chart.run([os.environ["TIDEMARK_BINARY"], "agent", "--help"]))
        self.assertEqual([], [flag for flag in sorted(flags) if flag not in shown])
        for wanted in ("--kubelet-ca-file=/kubelet-ca.crt", "--kubelet-cgroup-root=/kube", "--metrics-addr=127.0.0.1:9999", "--mode=observe", "--kube-api-qps=2", "--copilot=/host/copilot-0/copilot.sock=kubepods/besteffort/hadoop-yarn", "--copilot=/host/copilot-1/yarn.sock=kube/besteffort/yarn", "--stream-token-file=/stream/token"):
            self.assertIn(wanted, container["args"])
        self.assertEqual(["DAC_OVERRIDE", "KILL", "SYSLOG"], container["securityContext"]["capabilities"]["add"])
        self.assertIn("--kernel-log=syslog", container["args"])
        self.assertNotIn("SYSLOG", template({"agent": {"enabled": True}}), "only if the operator enables it")

    def test_agents_start_in_the_mode_of_the_settings(self):
        """Before a manager sends them settings, and also if none ever does."""
        def mode(values: dict) -> list[str]:
            agents = find(chart.objects(template({**values, "agent": {"enabled": True, **values.get("agent", {})}}, "--show-only", "templates/agent_daemonset.yaml")), "DaemonSet")
            return [flag for flag in agents["spec"]["template"]["spec"]["containers"][0]["args"] if flag.startswith("--mode=")]

        self.assertEqual(["--mode=observe"], mode({}))
        self.assertEqual(["--mode=enforce"], mode({"settings": {"create": False}}), "it replaces Koordinator's agent")
        self.assertEqual(["--mode=enforce"], mode({"settings": {"tidemarkConfig": None}}), "the same with Koordinator's settings alone")
        self.assertEqual(["--mode=enforce"], mode({"agent": {"mode": "enforce"}}), "the explicit mode")

    def on_each_node(self, component: str) -> dict:
        """The container of the copilot."""
        found = [each for each in chart.objects(template(EVERYTHING)) if each["kind"] == "DaemonSet" and each["metadata"]["labels"]["app.kubernetes.io/component"] == component]
        return found[0]["spec"]["template"]["spec"]["containers"][0]

    def test_the_copilots_accept_every_flag(self):
        container = self.on_each_node("yarn-copilot")
        shown = must(chart.run([os.environ["TIDEMARK_BINARY"], "yarn-copilot", "--help"]))
        self.assertEqual([], [flag for flag in sorted({flag.split("=")[0] for flag in container["args"]}) if flag not in shown])
        for wanted in ("--server-endpoint=/host/copilot/yarn.sock", "--allow-users=4711,4712", "--queue-class=etl=transcode", "--adopt=true", "--millicores-per-vcore=1000000", "--hadoop-conf-dir=/host/hadoop-conf", "--list-age=2s",
                       "--nm-local-dirs=/host/local/d1/yarn,/host/local/d2/yarn", "--local-dirs-limit-mib=1000000", "--disk-read-limit-mib=200", "--disk-write-limit-mib=100",
                       "--kerberos-keytab=/etc/tidemark-keytab/keytab", "--kerberos-principal=tidemark/_HOST@EXAMPLE.COM"):
            self.assertIn(wanted, container["args"])
        self.assertEqual([{"name": "KRB5_CONFIG", "value": "/etc/tidemark-krb5/krb5.conf"}], container["env"])
        mounted = {each["mountPath"] for each in container["volumeMounts"]}
        self.assertEqual({"/host/cgroup", "/host/copilot", "/host/hadoop-conf", "/host/local/d1/yarn", "/host/local/d2/yarn", "/etc/tidemark-keytab", "/etc/tidemark-krb5", "/var/lib/tidemark/yarn-copilot"}, mounted)
        # Its command in the pod, except for the directories of the machine.
        folder = self.enterContext(tempfile.TemporaryDirectory())
        (Path(folder) / "yarn-site.xml").write_text(SITE)
        here = {"--server-endpoint": f"{folder}/yarn.sock", "--cgroup-root-dir": "/sys/fs/cgroup", "--hadoop-conf-dir": folder, "--audit-file": f"{folder}/audit.jsonl", "--metrics-addr": "127.0.0.1:0", "--adopt": "false",
                "--disk-read-limit-mib": "0", "--disk-write-limit-mib": "0"}  # limits above 0 need --adopt on cgroup v1
        component = Component(*chart.command_here(container, here))
        self.components = [component]
        wait_for(lambda: "serving socket=" in component.log, "an open socket", component)
        self.assertFalse(component.ready(), "no NodeManager runs")
        self.assertNotIn("yarn-copilot", template({}))

    def test_a_node_manager_leaves_nothing_of_its_containers_in_its_pod(self):
        """It runs on a real node in tests/yarn/test_node_manager_pod.py; this test sets every value."""
        container = self.on_each_node("node-manager")
        found = chart.objects(template(EVERYTHING))
        daemon_set = next(each for each in found if each["kind"] == "DaemonSet" and each["metadata"]["labels"]["app.kubernetes.io/component"] == "node-manager")
        spec = daemon_set["spec"]["template"]["spec"]
        self.assertEqual((True, True, False), (spec["hostPID"], spec["hostNetwork"], spec["automountServiceAccountToken"]))
        self.assertEqual({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}}, daemon_set["spec"]["updateStrategy"])
        self.assertEqual({"cpu": "1", "memory": "1Gi"}, container["resources"]["requests"], "its own request, without the amounts of YARN containers")
        volumes = {each["name"]: each.get("hostPath", {}).get("path") for each in spec["volumes"]}
        mounted = {each["mountPath"]: volumes[each["name"]] for each in container["volumeMounts"]}
        same = ("/sys/fs/cgroup", "/d1/yarn", "/d2/yarn", "/d1/logs", "/d1/recovery", "/usr/lib/jvm")
        self.assertEqual({"/etc/hadoop/conf": "/d1/state/conf", "/tmp": "/d1/state/tmp", **{path: path for path in same}}, mounted, "all of the machine; what containers write has the same path")
        plain = chart.objects(template({"nodeManager": {"enabled": True, "hadoopConfDir": "/c"}}, "--show-only", "templates/node_manager_daemonset.yaml"))
        for given in ({}, {"hadoopConf": {"core-site.xml": "x"}}, {"hadoopConfDir": "/c", "existingConfigMap": "c"}):
            refused = helm("template", RELEASE, CHART, values={"nodeManager": {"enabled": True, **given}})
            self.assertEqual((1, True), (refused.returncode, "yarn-site.xml" in refused.stderr), f"{given}: {refused.stderr[-600:]}")
        self.assertEqual(["OnDelete"], [each["spec"]["updateStrategy"]["type"] for each in plain])
        self.assertNotIn("node-manager", template({}))

    def test_the_manager_accepts_every_flag_and_answers_the_probes(self):
        container = chart.container(chart.objects(template({**EVERYTHING, "webhooks": {}})))
        self.assertEqual("/tidemark", container["command"][0])
        component = Component(*chart.command_here(container, {"--journal-dir": self.enterContext(tempfile.TemporaryDirectory())}), "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"])
        self.components = [component]
        wait_for(component.ready, "a ready manager", component)
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertIn(f"--metrics-addr=:{ports['metrics']}", container["args"])
        self.assertIn(f"--health-probe-addr=:{ports['health']}", container["args"])
        self.assertNotIn("without effect", component.log)
        self.assertEqual({"/healthz", "/readyz"}, {container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")})

    def test_the_yarn_operator_accepts_every_flag_and_reads_its_mounts(self):
        found = chart.objects(template({**EVERYTHING, "nameOverride": ""}))
        container = chart.container(found, "yarn-operator")
        files = find(found, "ConfigMap", "yarn-config")["data"]
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in files.items():
            (folder / name).write_text(text)
        spec = chart.deployment(found, "yarn-operator")["spec"]["template"]["spec"]
        mounted = {volume["name"]: (volume.get("configMap") or {}).get("name") or volume["secret"]["secretName"] for volume in spec["volumes"]}
        self.assertEqual({"/etc/hadoop-conf": "yarn-config", "/etc/tidemark-keytab": "yarn-keytab", "/etc/tidemark-krb5": f"{RELEASE}-yarn-operator-krb5"}, {mount["mountPath"]: mounted[mount["name"]] for mount in container["volumeMounts"]})
        self.assertIn("--hadoop-conf-dir=/etc/hadoop-conf", container["args"])
        component = Component(*chart.command_here(container, {"--hadoop-conf-dir": str(folder)}), "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--log-format=text")
        self.components = [component]
        wait_for(component.ready, "a ready operator", component)
        self.assertIn("yarn_clusters=2", component.log)
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertIn(f"--metrics-addr=:{ports['metrics']}", container["args"])
        self.assertIn(f"--health-probe-addr=:{ports['health']}", container["args"])
        self.assertEqual({"/healthz", "/readyz"}, {container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")})
        for wanted in ("--mode=observe", "--yarn-user=yarn", "--rounding=peer", "--millicores-per-vcore=1000000", "--poll=500ms", "--kube-api-qps=0.5", "--kube-api-burst=7", "--lost-hold=20m", "--kerberos-keytab=/etc/tidemark-keytab/keytab", "--kerberos-principal=tidemark/_HOST@EXAMPLE.COM"):
            self.assertIn(wanted, container["args"])
        self.assertIn({"name": "KRB5_CONFIG", "value": "/etc/tidemark-krb5/krb5.conf"}, container["env"])
        self.assertIn({"name": "TZ", "value": "UTC"}, container["env"])
        self.assertIn("default_realm = EXAMPLE.COM", find(found, "ConfigMap", f"{RELEASE}-yarn-operator-krb5")["data"]["krb5.conf"])

    def test_the_yarn_operator_is_optional_and_needs_a_resource_manager(self):
        self.assertNotIn("yarn-operator", template({}))
        for conf in ({}, {"hadoopConf": {"core-site.xml": SITE}}, {"hadoopConf": {".yarn-site.xml": SITE}}):
            done = helm("template", RELEASE, CHART, values={"yarnOperator": {"enabled": True, **conf}})
            self.assertIn("yarnOperator.enabled wants to know where the ResourceManager is: give yarn-site.xml", done.stderr)
        done = helm("template", RELEASE, CHART, values={"yarnOperator": {"enabled": True, "existingConfigMap": "mine", "hadoopConf": {"yarn-site.xml": SITE}}})
        self.assertIn("yarnOperator.hadoopConf and yarnOperator.existingConfigMap: give one of both", done.stderr)
        for kerberos, why in (({"keytabSecret": "x"}, "keytabSecret wants to know the realm"), ({"principal": "x"}, "principal is one of a keytab")):
            done = helm("template", RELEASE, CHART, values={"yarnOperator": {"enabled": True, "existingConfigMap": "mine", "kerberos": kerberos}})
            self.assertIn(why, done.stderr)
        found = chart.objects(template({"yarnOperator": {"enabled": True, "existingConfigMap": "mine"}, "settings": {"create": False}}))
        self.assertEqual([], [each["metadata"]["name"] for each in found if each["kind"] == "ConfigMap"])
        spec = chart.deployment(found, "yarn-operator")["spec"]["template"]["spec"]
        self.assertEqual("mine", spec["volumes"][0]["configMap"]["name"])
        self.assertIn("--yarn-user=tidemark", spec["containers"][0]["args"])

    def test_edited_files_restart_the_pods_of_the_yarn_operator(self):
        def annotations(text: str) -> dict:
            values = {"yarnOperator": {"enabled": True, "hadoopConf": {"yarn-site.xml": text}}}
            return chart.deployment(chart.objects(template(values)), "yarn-operator")["spec"]["template"]["metadata"]["annotations"]

        self.assertEqual(annotations(SITE), annotations(SITE))
        self.assertNotEqual(annotations(SITE), annotations(SITE + " "))

    def test_the_manager_accepts_the_shipped_settings(self):
        sample = (chart.ROOT / "deploy" / "samples" / "settings.yaml").read_text()
        component = Component(
            "manager", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--leader-elect=false", "--metrics-addr=127.0.0.1:0", "--webhooks=off"
        )
        self.components = [component]
        wait_for(component.ready, "a ready manager", component)
        for name, manifest in (("sample", sample), ("defaults", template({}, "--show-only", "templates/settings.yaml")),
                               ("everything", template(EVERYTHING, "--show-only", "templates/settings.yaml"))):
            revision = component.metrics().get("tidemark_settings_revision", 0)
            must(kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=manifest))
            wait_for(lambda: component.metrics().get("tidemark_settings_revision", 0) > revision, f"the settings of {name}", component)
            self.assertEqual(1, component.metrics()["tidemark_manager_config_good"], name)
        self.assertNotIn("settings refused", component.log)

    def test_as_installed_it_observes_until_ordered_on(self):
        must(kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=template({}, "--show-only", "templates/settings.yaml")))
        self.addCleanup(self.api.request, "DELETE", f"{colocation.SETTINGS}/tidemark-state")
        colocation.put_node(self.api, "observed", capacity=CAPACITY)
        self.addCleanup(colocation.delete, self.api, "observed")
        colocation.put_metric(self.api, "observed", STATUS)
        component = Component(
            "manager", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--leader-elect=false", "--metrics-addr=127.0.0.1:0", "--webhooks=off"
        )
        self.components = [component]
        wanted = 'tidemark_observed_wanted_batch_cpu_cores{pool="default"}'
        wait_for(lambda: component.ready() and component.metrics().get(wanted) == 17.2, "a decision in observe mode", component)
        self.assertEqual({}, colocation.offered(self.api, "observed"))
        must(chart.run([os.environ["TIDEMARK_BINARY"], "on", "pool", "default", "--yes", "--reason=test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]))
        wait_for(lambda: colocation.offered(self.api, "observed").get("kubernetes.io/batch-cpu") == "17200", "an offer", component)

    def test_the_notes_say_whether_anything_is_sold(self):
        self.assertIn("By these values it only observes", must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE, "--dry-run=server")))
        everything = must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE, "--dry-run=server", values=EVERYTHING))
        self.assertIn("By these values co-location is ON", everything)
        self.assertIn("rollout status deployment/night-yarn-operator", everything)
        self.assertIn("Settings are not made here", must(helm("install", RELEASE, CHART, "--namespace", NAMESPACE, "--dry-run=server", values=LEAST)))


if __name__ == "__main__":
    unittest.main()
