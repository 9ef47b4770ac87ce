"""How etcd and kube-apiserver are started: command lines, certificates, tokens and the kubeconfig."""

import base64
import json
import secrets
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from support.ports import free

# The audit logs the requests of service accounts and their answers: tests compare them with the roles in deploy/chart. It also logs all writes to the
# status of a node: a test compares them with a manager's own audit.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "Metadata", "verbs": ["patch"], "resources": [{"group": "", "resources": ["nodes/status"]}]},
        {"level": "None"},
    ],
}

# user → groups. `nobody` has only the rights of any authenticated user, which is almost nothing: for tests of refusals.
USERS = {"admin": "system:masters", "nobody": ""}
CERTIFICATE_USER = "certificate-admin"


@dataclass(frozen=True)
class Ports:
    etcd_client: int
    etcd_peer: int
    apiserver: int

    @staticmethod
    def free() -> "Ports":
        """Three free ports. Another process may take one before us: the supervisor then tries again."""
        return Ports(*free(3))


@dataclass(frozen=True)
class Layout:
    """The files of one cluster in its state directory, and the data of etcd."""

    state: Path
    etcd: Path

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def control(self) -> Path:
        return self.state / "control"

    @property
    def audit_policy(self) -> Path:
        return self.state / "audit-policy.json"

    @property
    def authentication(self) -> Path:
        return self.state / "authentication.json"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.log"

    @property
    def description(self) -> Path:
        return self.state / "cluster.json"


def etcd_command(layout: Layout, ports: Ports) -> list[str]:
    client, peer = f"http://127.0.0.1:{ports.etcd_client}", f"http://127.0.0.1:{ports.etcd_peer}"
    return [
        "etcd", "--name=tidemark", f"--data-dir={layout.etcd}",
        f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=tidemark={peer}",
    ]


def apiserver_command(layout: Layout, ports: Ports, program: Path) -> list[str]:
    pki = layout.pki
    return [
        str(program),
        f"--etcd-servers=http://127.0.0.1:{ports.etcd_client}",
        "--bind-address=127.0.0.1", f"--secure-port={ports.apiserver}",
        f"--cert-dir={pki}", f"--tls-cert-file={pki / 'server.crt'}", f"--tls-private-key-file={pki / 'server.key'}",
        f"--client-ca-file={pki / 'ca.crt'}", f"--token-auth-file={pki / 'tokens.csv'}",
        # At kubelets, for the logs of pods. A kubelet of the tests listens on the loopback, which its InternalIP may not be.
        f"--kubelet-client-certificate={pki / 'client.crt'}", f"--kubelet-client-key={pki / 'client.key'}", "--kubelet-preferred-address-types=Hostname",
        f"--service-account-key-file={pki / 'service-account.pub'}",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount",  # no controller here makes service accounts
        "--endpoint-reconciler-type=none", "--allow-privileged=true", "--profiling=false",
        f"--audit-policy-file={layout.audit_policy}", f"--audit-log-path={layout.audit_log}",
        f"--authentication-config={layout.authentication}",
    ]


def write_credentials(layout: Layout) -> None:
    """A CA, a serving certificate, a client certificate, a service account key and one token per user."""
    pki = layout.pki
    pki.mkdir(mode=0o700)
    for name in ("ca", "server", "client", "service-account"):
        _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", pki / f"{name}.key")
    # The API server reads public keys only in their own form, not from a PKCS#8 private key.
    _openssl("pkey", "-in", pki / "service-account.key", "-pubout", "-out", pki / "service-account.pub")
    _openssl("req", "-x509", "-new", "-key", pki / "ca.key", "-subj", "/CN=tidemark test CA", "-days", "30", "-out", pki / "ca.crt")
    sign(pki, "server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes\nextendedKeyUsage=serverAuth\n")
    sign(pki, "client", f"/O=system:masters/CN={CERTIFICATE_USER}", "extendedKeyUsage=clientAuth\n")
    rows = []
    for user, groups in USERS.items():
        token = secrets.token_hex(16)
        (pki / f"{user}.token").write_text(token)
        rows.append(f'{token},{user},{user}' + (f',"{groups}"' if groups else ""))
    (pki / "tokens.csv").write_text("\n".join(rows) + "\n")


def write_audit_policy(layout: Layout) -> None:
    layout.audit_policy.write_text(json.dumps(AUDIT_POLICY))


def write_authentication(layout: Layout) -> None:
    """No issuer of OpenID Connect. The API server reads the file again when a test adds one."""
    layout.authentication.write_text(json.dumps({"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration", "jwt": []}))


def write_kubeconfig(layout: Layout, ports: Ports) -> None:
    """Contexts: `admin` (token, the current one), `token-file`, `certificate`, `nobody`."""
    pki = layout.pki

    def data(name: str) -> str:
        return base64.b64encode((pki / name).read_bytes()).decode()

    users = {user: {"token": (pki / f"{user}.token").read_text()} for user in USERS}
    users["token-file"] = {"tokenFile": str(pki / "admin.token")}
    users["certificate"] = {"client-certificate-data": data("client.crt"), "client-key-data": data("client.key")}
    lines = [
        "apiVersion: v1", "kind: Config", "clusters:", "- name: tidemark", "  cluster:",
        f"    server: https://127.0.0.1:{ports.apiserver}", f"    certificate-authority-data: {data('ca.crt')}", "contexts:",
    ]
    for name in users:
        lines += [f"- name: {name}", "  context:", "    cluster: tidemark", f"    user: {name}"]
    lines += ["current-context: admin", "users:"]
    for name, fields in users.items():
        lines += [f"- name: {name}", "  user:"] + [f"    {key}: {value}" for key, value in fields.items()]
    layout.kubeconfig.touch(mode=0o600)
    layout.kubeconfig.write_text("\n".join(lines) + "\n")


def write_control(layout: Layout, python: str, module_path: Path) -> None:
    """An executable that controls this cluster, for tests in any language: `$TIDEMARK_TEST_CLUSTER_CONTROL kill apiserver`."""
    layout.control.write_text(
        "#!/bin/sh\n"
        f'PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="{module_path}" exec "{python}" -m support.cluster.control --state "{layout.state}" "$@"\n'
    )
    layout.control.chmod(0o755)


def write_description(layout: Layout, ports: Ports) -> None:
    text = json.dumps({"kubeconfig": str(layout.kubeconfig), "control": str(layout.control), "logs": str(layout.logs), **asdict(ports)})
    scratch = layout.description.with_suffix(".new")
    scratch.write_text(text + "\n")
    scratch.rename(layout.description)


def sign(pki: Path, name: str, subject: str, extensions: str) -> None:
    """NAME.crt for NAME.key, signed by the CA in the same directory."""
    extension_file = pki / f"{name}.ext"
    extension_file.write_text(extensions)
    _openssl("req", "-new", "-key", pki / f"{name}.key", "-subj", subject, "-out", pki / f"{name}.csr")
    _openssl(
        "x509", "-req", "-in", pki / f"{name}.csr", "-CA", pki / "ca.crt", "-CAkey", pki / "ca.key", "-CAcreateserial",
        "-days", "30", "-extfile", extension_file, "-out", pki / f"{name}.crt",
    )


def _openssl(*arguments) -> None:
    subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
