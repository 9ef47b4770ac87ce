"""Records the objects that stock spark-submit creates on Kubernetes: record.py SPARK_HOME/jars [NAME...]

It starts a recording API server on loopback and runs org.apache.spark.deploy.SparkSubmit once for each case of cases.json. It writes
the objects of each case to VERSION/NAME.json: ConfigMap, Pod, Service, in this order.
"""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).parent
UID = "11111111-2222-3333-4444-555555555555"


class Recorder(BaseHTTPRequestHandler):
    """Answers a write with the object and a uid, a read with NotFound."""

    protocol_version = "HTTP/1.1"
    objects: list[dict] = []

    def _answer(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _write(self, status: int) -> None:
        written = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Recorder.objects.append(written)
        stored = {**written, "metadata": {**written["metadata"], "uid": UID, "resourceVersion": "7"}}
        self._answer(status, stored)

    def do_POST(self) -> None:
        self._write(201)

    def do_PATCH(self) -> None:
        self._write(200)

    def do_PUT(self) -> None:
        self._write(200)

    def do_GET(self) -> None:
        self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})

    def log_message(self, *_) -> None:
        pass


def record(jars: Path, arguments: list[str]) -> list[dict]:
    Recorder.objects = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    master = f"k8s://http://127.0.0.1:{server.server_port}"
    words = ["--master", master, "--deploy-mode", "cluster", "--conf", "spark.kubernetes.submission.waitAppCompletion=false", *arguments]
    command = ["java", "-Xmx256m", "--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED",
               "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "-cp", f"{jars}/*", "org.apache.spark.deploy.SparkSubmit", *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "HADOOP"))}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          env={**environment, "SPARK_USER": "someone", "HADOOP_USER_NAME": "someone"})
    server.shutdown()
    if done.returncode != 0:
        raise SystemExit(f"{words} failed:\n{done.stderr}")
    text = re.sub(rf"127\.0\.0\.1(\\+:|:){server.server_port}", r"127.0.0.1\g<1>6443", json.dumps(Recorder.objects))
    order = ["ConfigMap", "Pod", "Service"]
    return sorted(json.loads(text), key=lambda each: order.index(each["kind"]) if each["kind"] in order else len(order))


def main() -> None:
    jars, wanted = Path(sys.argv[1]), sys.argv[2:]
    version = next(jars.glob("spark-core_*.jar")).stem.rsplit("-", 1)[1]
    (HERE / version).mkdir(exist_ok=True)
    for name, arguments in json.loads((HERE / "cases.json").read_text()).items():
        if not wanted or name in wanted:
            (HERE / version / f"{name}.json").write_text(json.dumps(record(jars, arguments), indent=1) + "\n")
            print(name)


main()
