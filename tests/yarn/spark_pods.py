"""Real Spark drivers and executors as pods of the test node: a webhook of the API server gives each pod of Spark what an image would contain, from this machine.

The pods use the machine's network: the node has no CNI plugin. Drivers listen on the loopback, and executors find the name of the driver's Service in their hosts file."""

import base64
import json
import os
import re
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.cluster.programs import sign
from support.node import image

IMAGE = image.NAME
HOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
# What a program of the machine needs in its own root.
OF_THE_MACHINE = ["/bin", "/lib", "/lib64", "/usr", "/etc/nsswitch.conf", "/etc/passwd", "/etc/java-17-openjdk"]
OPENED = " ".join(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref",
    "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
))
# As the entrypoint of Spark's image.
ENTRY = """
set -f  # the class path stays one word
role=$1; shift
export SPARK_LOCAL_IP=127.0.0.1
java="{java} {opened} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Djava.net.preferIPv4Stack=true -Djava.io.tmpdir=$SPARK_LOCAL_DIRS -cp {jars}/*"
case $role in
  driver)
    exec $java -Xmx512m org.apache.spark.deploy.SparkSubmit --conf spark.driver.bindAddress=127.0.0.1 --deploy-mode client "$@" ;;
  executor)
    exec $java -Xmx$SPARK_EXECUTOR_MEMORY org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend --driver-url $SPARK_DRIVER_URL --executor-id $SPARK_EXECUTOR_ID \\
      --cores $SPARK_EXECUTOR_CORES --app-id $SPARK_APPLICATION_ID --hostname 127.0.0.1 --resourceProfileId $SPARK_RESOURCE_PROFILE_ID --podName $SPARK_EXECUTOR_POD_NAME ;;
esac
"""


class SparkPods:
    """`with SparkPods(api, node, folders, scratch):` while it lasts, pods of Spark run on the node. They see the folders of the machine."""

    def __init__(self, api, node: str, folders: list[Path], scratch: Path):
        self._api, self._node, self._scratch = api, node, scratch
        jars = os.environ["TIDEMARK_SPARK_JARS"]
        self._entry = ENTRY.format(java=os.environ["TIDEMARK_JAVA"], opened=OPENED, jars=jars)
        self._places = [place for place in OF_THE_MACHINE if os.path.exists(place)] + [jars, *map(str, folders)]

    def __enter__(self) -> "SparkPods":
        authority = Path(os.environ["TIDEMARK_TEST_CA_FILE"])
        pki = self._scratch / "spark-pods-pki"
        pki.mkdir()
        for name in ("ca.crt", "ca.key"):
            (pki / name).symlink_to(authority.parent / name)
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", pki / "hook.key"], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        sign(pki, "hook", "/CN=hook", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "hook.crt", pki / "hook.key")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._api.request("DELETE", f"{HOOK}/spark-pods")
        made = self._api.request("POST", HOOK, {
            "metadata": {"name": "spark-pods"},
            "webhooks": [{
                "name": "spark-pods.tidemark.test", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 10,
                "clientConfig": {"url": f"https://127.0.0.1:{self._server.server_address[1]}/", "caBundle": base64.b64encode(authority.read_bytes()).decode()},
                "objectSelector": {"matchExpressions": [{"key": "spark-role", "operator": "Exists"}]},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            }],
        })
        if made.status != 201:
            raise AssertionError(made.body)
        return self

    def __exit__(self, *_) -> None:
        self._api.close()
        self._api.request("DELETE", f"{HOOK}/spark-pods")
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type:
        pods = self

        class Hook(BaseHTTPRequestHandler):
            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                patch = json.dumps(pods.patch(request["object"])).encode()
                answer = {"uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
                body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Hook

    def patch(self, pod: dict) -> list[dict]:
        spec = pod["spec"]
        if any(volume["name"].startswith("machine-") for volume in spec.get("volumes", [])):
            return []  # a test sends a pod once more
        container = spec["containers"][0]
        environment = {each["name"]: each.get("value", "") for each in container.get("env", [])}
        driver = re.search(r"@([^:]+):", environment.get("SPARK_DRIVER_URL", ""))
        mounted = [{"name": f"machine-{i}", "mountPath": place} for i, place in enumerate(self._places)]
        changed = {
            **spec, "nodeName": self._node, "hostNetwork": True, "dnsPolicy": "Default", "tolerations": [{"operator": "Exists"}], "terminationGracePeriodSeconds": 5,
            "hostAliases": [{"ip": "127.0.0.1", "hostnames": [driver[1]]}] if driver else [],
            "volumes": spec.get("volumes", []) + [{"name": f"machine-{i}", "hostPath": {"path": os.path.realpath(place)}} for i, place in enumerate(self._places)],
            "containers": [{
                **container, "command": ["/bin/sh", "-c", self._entry, "entry"], "volumeMounts": container.get("volumeMounts", []) + mounted,
                "lifecycle": {}, "ports": [],
            }],
        }
        return [{"op": "replace", "path": "/spec", "value": changed}]
