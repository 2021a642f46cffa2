"""Builds chains.c where there is a C compiler; without the result, NumPy does the same work. The rest is in
pyproject.toml."""

import hashlib
from pathlib import Path

from setuptools import Extension, setup

SOURCE = "synmt/alignment/chains.c"
digest = hashlib.sha256(Path(SOURCE).read_bytes()).hexdigest()
chains = Extension(
    "synmt.alignment._chains",  # loaded with ctypes, so it is no Python module and needs no headers of Python
    [SOURCE],
    define_macros=[("SOURCE", f'"{digest}"')],
    extra_compile_args=["-std=gnu11", "-O2", "-ffp-contract=off", "-fno-wrapv", "-Wno-psabi", "-g0"],
    libraries=["m"],
    optional=True,
)
# Always compiled anew, since an interrupted build may have left half a file that looks up to date.
setup(ext_modules=[chains], options={"build_ext": {"force": True}})
