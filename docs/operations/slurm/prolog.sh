#!/usr/bin/env bash
# Prolog of slurmd: a node that cannot train takes no job. Any status but 0 drains the node and requeues the job.
# Only what this machine says of itself counts here; no log of a job does.
set -u
scratch=${SCRATCH:-/tmp}
free=$(df --output=avail -B1G "$scratch" | tail -1)
if [ "$free" -lt "${LEAST_GB:-5}" ]; then
  echo "hrmdoc: $free GB are free in $scratch, ${LEAST_GB:-5} are wanted" >&2
  exit 1
fi
if command -v nvidia-smi >/dev/null && ! timeout 20 nvidia-smi -L >/dev/null; then
  echo "hrmdoc: the driver does not answer" >&2
  exit 1
fi
exit 0
