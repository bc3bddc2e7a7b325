"""Settings of the whole suite."""

import os

# As the command line does, before anything imports PyTorch: without spinning threads the suite is
# much faster on a machine that does other work too.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
