"""./dev release and ./dev image: static binaries, their SBOMs, images."""
