"""The configuration of containerd and the kubelet. All files are in the directory of the node; all ports listen on loopback only."""

import json
from dataclasses import dataclass
from pathlib import Path

from support.node import image


@dataclass(frozen=True)
class Layout:
    """The files of one node in its state directory. Sockets have short names: an address has at most 107 bytes."""

    state: Path

    @property
    def containerd(self) -> Path:
        return self.state / "containerd"

    @property
    def socket(self) -> Path:
        return self.state / "containerd.sock"

    @property
    def kubelet(self) -> Path:
        return self.state / "kubelet"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    def covered(self, place: str, kind: str = "files") -> Path:
        """Replaces built-in paths of programs: /run, /var/lib, /var/log."""
        return self.state / "covered" / kind / place.strip("/").replace("/", "-")

    @property
    def tunables(self) -> Path:
        return self.state / "tunables"

    @property
    def record(self) -> Path:
        return self.state / "node.json"


# The kubelet sets these for the whole kernel and does not start otherwise. The node sees files with the expected values instead.
TUNABLES = {
    "vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1, "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}


def containerd(layout: Layout) -> str:
    disabled = ["io.containerd.internal.v1.opt", *(f"io.containerd.snapshotter.v1.{name}" for name in ("aufs", "btrfs", "devmapper", "zfs"))]
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""version = 2
root = "{layout.containerd / 'root'}"
state = "{layout.containerd / 'state'}"
oom_score = 0
disabled_plugins = {json.dumps(disabled)}
[grpc]
address = "{layout.socket}"
[{cri}]
sandbox_image = "{image.NAME}"
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"
stream_server_port = "0"
[{cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
SystemdCgroup = false
Root = "{layout.containerd / 'runc'}"
[{cri}.cni]
bin_dir = "{layout.state / 'cni' / 'bin'}"
conf_dir = "{layout.state / 'cni' / 'conf'}"
"""


def cni() -> str:
    """Only makes the node ready: its pods use the machine's network, and no plugin is called."""
    return json.dumps({"cniVersion": "0.4.0", "name": "none", "plugins": [{"type": "none"}]})


# The machine must not cause evictions: other programs use its disk and memory.
EVICTS_NEVER = {"memory.available": "1Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"}


def kubelet(layout: Layout, cgroup: str, ports: tuple[int, int], authority: Path, evicts: dict[str, str] = EVICTS_NEVER, reserved: dict[str, str] | None = None) -> str:
    """`reserved`: resources that no pod may have. All pods together then have a limit."""
    port, health = ports
    return json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        "address": "127.0.0.1", "port": port, "readOnlyPort": 0, "healthzPort": health, "healthzBindAddress": "127.0.0.1",
        "tlsCertFile": str(layout.kubelet / "pki" / "server.crt"), "tlsPrivateKeyFile": str(layout.kubelet / "pki" / "server.key"),
        # The kubelet checks each client at the API server: its identity, and its right to get nodes/pods of this node.
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True, "cacheTTL": "1s"}, "x509": {"clientCAFile": str(authority)}},
        "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "1s", "cacheUnauthorizedTTL": "1s"}},
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cgroup}", "failCgroupV1": False, "failSwapOn": False, "oomScoreAdj": 0,
        "podLogsDir": str(layout.state / "pod-logs"), "resolvConf": "", "makeIPTablesUtilChains": False, "maxPods": 210,
        "serializeImagePulls": False, "enableControllerAttachDetach": False, "nodeStatusUpdateFrequency": "5s", "syncFrequency": "10s",
        "evictionHard": evicts, "systemReserved": reserved or {},
        "imageGCHighThresholdPercent": 100,
    }, indent=1)
