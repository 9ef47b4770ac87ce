"""Pages of the console on `tidemark up` with its agent, an online service, and offline tasks of three classes: all values are measured."""

import re
import unittest
from pathlib import Path

from browser.cluster_data import Api
from browser.people import WithPeople
from cluster.local_case import LocalCase, batch_job
from cluster.tidemark_process import Component, wait_for
from support import ports

HERE = Path(__file__).parent
LIMIT_S = 300
MEMORY = 64 << 20
SETTINGS = """apiVersion: v1
kind: ConfigMap
metadata: {name: tidemark-config, namespace: koordinator-system}
data:
  config.yaml: |
    {schema: 1, mode: enforce, profiles: {sampleEvery: 1s, storeEvery: 1s}}
"""


def hashes(mebibytes: int) -> list[str]:
    """A program that has this much memory and computes twice a second."""
    return ["python3", "-c", f"import hashlib, time\ndata = bytearray({mebibytes} << 20)\nwhile True:\n    hashlib.sha256(data)\n    time.sleep(0.5)"]


def task(name: str, kind: str, command: list[str], memory: str = str(MEMORY), pods: int = 1) -> dict:
    job = batch_job(name, command, memory)
    job["spec"] |= {"parallelism": pods, "completions": pods}
    job["spec"]["template"]["metadata"]["labels"]["tidemark.io/class"] = kind
    return job


def service(name: str, workload: str, business: str, command: list[str]) -> dict:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": workload, "uid": "00000000-0000-0000-0000-000000000001", "controller": True}
    container = {"name": "main", "image": "local", "command": command, "resources": {"requests": {"cpu": "100m", "memory": "32Mi"}}}
    meta = {"name": name, "labels": {"tidemark.io/business": business}, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}


class Machine(WithPeople, LocalCase):
    def run_component(self, *arguments: str) -> Component:
        settings = self.folder / "settings.yaml"
        settings.write_text(SETTINGS)
        return Component(*arguments, "--settings", str(settings), "--journal-dir", str(self.folder / "journal"))

    def test_pages(self):
        url = re.search(r"^console +(http://\S+)$", self.component.log, re.M)[1]
        web = ports.free(2)
        serve = ["python3", "-m", "http.server", "--bind=127.0.0.1", "--directory", str(self.folder)]
        ask = f"""import time, urllib.request
while True:
    for port in {web}:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{{port}}/").read()
        except OSError:  # it does not serve yet
            time.sleep(1)
    time.sleep(0.02)"""
        self.apply(
            *(service(f"web-{i}", "web", "shop", [*serve, str(port)]) for i, port in enumerate(web)),
            service("checkout-0", "checkout", "shop", ["python3", "-c", ask]),
            service("index-0", "index", "search", hashes(12)),
            task("encode", "transcode", hashes(24), pods=2), task("nightly", "report", hashes(40)), task("model", "training", hashes(20)),
            task("archive", "report", ["true"], memory="1Pi"), task("broken", "report", ["sh", "-c", "exit 3"]),
        )
        wait_for(lambda: sorted(self.phases().values()) == ["Failed", "Pending", *8 * ["Running"]], "the pods", self.component)
        pods = {each["metadata"]["name"]: each["metadata"]["uid"] for each in self.get("pods")["items"]}
        held, evicted = (next(name for name in pods if name.startswith(job)) for job in ("nightly", "encode"))
        api = Api(Path(self.kubeconfig))

        def evict(_: str) -> None:
            api.call("POST", f"/api/v1/namespaces/default/pods/{evicted}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": evicted}})

        self.run_in_browser(
            HERE / "machine.test.mjs", LIMIT_S, self.component, TIDEMARK_CONSOLE_URL=url, TIDEMARK_TASK=f"default/{held}", TIDEMARK_EVICTED=evicted, TIDEMARK_EVICT_URL=self.control_server(evict)
        )
        self.assertEqual(str(MEMORY), self.file(pods[held], "memory.limit_in_bytes") or self.file(pods[held], "memory.max"))


if __name__ == "__main__":
    unittest.main()
