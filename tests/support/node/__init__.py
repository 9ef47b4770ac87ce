"""A real node of Kubernetes on this machine: containerd and a kubelet, registered at a real API server, with working pods.

  node.py       the fixture: starts, runs pods, removes everything; and the residue of a killed run
  inside.py     process 1 of the node: everything of the node runs in its own PID and mount namespace, and ends with it
  settings.py   the configuration of containerd and the kubelet
  cgroups.py    the directory of the run in every cgroup hierarchy, and nothing outside it
  image.py      the one image, made without a registry; work.c is the program in it
  pods.py       pods of a given QoS class with a given use
"""
