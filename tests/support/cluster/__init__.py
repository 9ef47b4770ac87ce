"""A real etcd and a real kube-apiserver on free loopback ports, in their own directory.

  server.py     the supervisor: owns the two processes, answers commands on a Unix socket, takes everything down with itself
  control.py    the client: `python -m support.cluster.control COMMAND STATE-FOLDER …`, used by ./dev cluster and by tests
  programs.py   the command lines, certificates, tokens and the kubeconfig
"""
