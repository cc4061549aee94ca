"""Puts the program into the wheel, and says where it runs."""

import os
import re
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def is_static(program):
    """Whether the program names no dynamic loader, such as /lib64/ld-linux-x86-64.so.2."""
    return not re.search(rb"/lib\w*/ld-[a-z]", Path(program).read_bytes())


def platforms(program, architecture):
    # A static program needs no C library, so it runs with each of them. No package index takes the other kind of wheel.
    names = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
    names = names if is_static(program) else ["linux"]
    return ".".join(f"{name}_{architecture}" for name in names)


class ProgramBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        program = os.environ["PRONY_PROGRAM"]
        platform = platforms(program, os.environ["PRONY_ARCHITECTURE"])
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        build_data["shared_scripts"][program] = "prony"
