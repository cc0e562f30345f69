#!/usr/bin/env bash
# A batch job that goes on: sbatch job.sh. What passes is started again on the spot; a preemption, the time limit
# and a bad node put the job back into the queue; what has to be mended ends it.
#SBATCH --job-name=train
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@180
set -u
LOG=${LOG:-train.log}
COMMAND=(${COMMAND:-srun python train.py --output_dir out})

hrmdoc run --log "$LOG" --restart "${RESTARTS:-3}" --backoff "${BACKOFF:-30}" --grace 120 -- "${COMMAND[@]}" &
supervisor=$!
trap 'kill -TERM "$supervisor" 2>/dev/null' TERM INT
status=0
wait "$supervisor" || status=$?
while kill -0 "$supervisor" 2>/dev/null; do # the trap ends a wait, and the training still saves
  wait "$supervisor" && status=0 || status=$?
done

call=0
said=$(hrmdoc verdict "$LOG") || call=$?
echo "hrmdoc: $said"
scontrol update JobId="$SLURM_JOB_ID" Comment="${said:0:200}" || true
case $call in
10) scontrol requeue "$SLURM_JOB_ID" ;;
11) # this node is at fault: wait, leave it out, go on
  scontrol requeuehold "$SLURM_JOB_ID" &&
    scontrol update JobId="$SLURM_JOB_ID" ExcNodeList="${SLURMD_NODENAME:-$(hostname -s)}" &&
    scontrol release "$SLURM_JOB_ID"
  ;;
esac
exit "$status"
