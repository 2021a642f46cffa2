"""The real commands: in a subprocess with real pipes, or in process for laws over many inputs."""
