"""What a Kubernetes API server answers, as cases that run against any server. See README.md."""
