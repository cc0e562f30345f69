#!/usr/bin/env bash
# EpilogSlurmctld for jobs whose script does not call hrmdoc: the verdict by the log and Slurm's own exit code
# (SLURM_JOB_EXIT_CODE2, such as 0:9). It speaks to this job alone: a log may hold anybody's text, and drains no node.
set -u
LOG=${HRMDOC_LOG:-${SLURM_JOB_WORK_DIR:-.}/slurm-$SLURM_JOB_ID.out}
call=0
said=$(timeout 60 hrmdoc verdict --status "${SLURM_JOB_EXIT_CODE2:-0:0}" "$LOG") || call=$?
case $call in
0 | 10 | 11 | 12 | 13) scontrol update JobId="$SLURM_JOB_ID" Comment="${said:0:200}" || true ;;
esac
case $call in
10 | 11)
  if [ "${SLURM_JOB_RESTART_COUNT:-0}" -lt "${RESTARTS:-3}" ]; then scontrol requeue "$SLURM_JOB_ID"; fi
  ;;
esac
exit 0
