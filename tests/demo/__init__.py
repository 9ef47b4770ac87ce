"""The example of ./dev up and of the interference bench: a web server with work to do for each request, an open loop of requests to it, and
offline work that takes every processor it can get; side by side in plain groups, and as tasks of `tidemark up`."""
