"""What containerd and the kubelet are started with. Everything lies in the folder of the node; nothing listens but on loopback."""

import json
from dataclasses import dataclass
from pathlib import Path

from support.node import image


@dataclass(frozen=True)
class Layout:
    """The files of one node under its state folder. Sockets have short names: an address has room for 107 bytes."""

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
        """What the node writes where programs have their places built in: /run, /var/lib, /var/log."""
        return self.state / "covered" / kind / place.strip("/").replace("/", "-")

    @property
    def tunables(self) -> Path:
        return self.state / "tunables"

    @property
    def record(self) -> Path:
        return self.state / "node.json"


# The kubelet sets these for the whole kernel and will not start without them. The node sees files with what it wants to read instead.
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
    """Only there so that the node counts as ready: pods of this node use the network of the machine, and no plugin is called."""
    return json.dumps({"cniVersion": "0.4.0", "name": "none", "plugins": [{"type": "none"}]})


# Nothing of the machine is to push pods out: what runs beside us fills its disk and memory as it likes.
EVICTS_NEVER = {"memory.available": "1Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"}


def kubelet(layout: Layout, cgroup: str, ports: tuple[int, int], authority: Path, evicts: dict[str, str] = EVICTS_NEVER, reserved: dict[str, str] | None = None) -> str:
    """`reserved`: what of the machine no pod may have. All of them together have a limit then."""
    port, health = ports
    return json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        "address": "127.0.0.1", "port": port, "readOnlyPort": 0, "healthzPort": health, "healthzBindAddress": "127.0.0.1",
        "tlsCertFile": str(layout.kubelet / "pki" / "server.crt"), "tlsPrivateKeyFile": str(layout.kubelet / "pki" / "server.key"),
        # Who asks is asked back at the API server: who are you, and may you get nodes/pods of this node?
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True, "cacheTTL": "1s"}, "x509": {"clientCAFile": str(authority)}},
        "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "1s", "cacheUnauthorizedTTL": "1s"}},
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cgroup}", "failCgroupV1": False, "failSwapOn": False, "oomScoreAdj": 0,
        "podLogsDir": str(layout.state / "pod-logs"), "resolvConf": "", "makeIPTablesUtilChains": False, "maxPods": 210,
        "serializeImagePulls": False, "enableControllerAttachDetach": False, "nodeStatusUpdateFrequency": "5s", "syncFrequency": "10s",
        "evictionHard": evicts, "systemReserved": reserved or {},
        "imageGCHighThresholdPercent": 100,
    }, indent=1)
