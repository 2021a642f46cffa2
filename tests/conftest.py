"""Hypothesis without deadlines (a busy machine is slow, not wrong), and one thread for small tensors."""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("synmt", deadline=None)
settings.load_profile("synmt")
