"""A real node of Kubernetes on this machine: containerd and a kubelet, registered at a real API server, with pods that work.

  node.py       the fixture: starts, runs pods, takes everything down; and what a killed run left behind
  inside.py     process 1 of the node: everything of the node runs in a PID and a mount namespace of its own, and ends with it
  settings.py   what containerd and the kubelet are configured with
  cgroups.py    the folder of the run in every cgroup hierarchy, and nothing outside it
  image.py      the one image, made without a registry; work.c is the program in it
  pods.py       pods of a given QoS that use what they are told to
"""
