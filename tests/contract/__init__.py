"""The behavior of a Kubernetes API server as cases that run against any server. See README.md."""
