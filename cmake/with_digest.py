"""Runs a compiler that makes a precompiled header, and leaves a digest of everything it read beside it (FILE.pch.sum).

ccache takes that digest for the header's content where CCACHE_PCH_EXTSUM is set, so that objects of one clone serve another."""

import hashlib
import os
import re
import subprocess
import sys

command = sys.argv[1:]
code = subprocess.run(command).returncode
made = command[command.index("-o") + 1]
if code == 0 and made.endswith(".pch"):
    depends = command[command.index("-MF") + 1]
    with open(depends) as file:
        words = re.findall(r"(?:\\.|\S)+", re.split(r":\s", file.read(), maxsplit=1)[1].replace("\\\n", " "))
    read = [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]  # as make writes names
    here = os.path.dirname(os.path.abspath(made))
    # What is named by a path of this clone differs between clones by that path alone.
    digest = hashlib.sha256("\0".join(word for word in command if "/" not in word).encode())
    for name in sorted(read):
        with open(name, "rb") as file:
            content = file.read()
        digest.update(hashlib.sha256(content).digest() if os.path.dirname(os.path.abspath(name)) != here else b"")
    with open(made + ".sum", "w") as file:
        file.write(digest.hexdigest() + "\n")
sys.exit(code)
