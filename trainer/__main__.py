"""`python -m hrmdoc.trainer [train|evaluate] ...`."""

import os
import sys

from .launch.env import world_size
from .main import main

status = main(sys.argv[1:])
if world_size(os.environ) > 1:
    # A split model and a failed run keep the process group, whose threads let go of tensors when they please.
    # If one does so while the interpreter ends, the process aborts: a run that went well would count as
    # failed, and be started again.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
sys.exit(status)
