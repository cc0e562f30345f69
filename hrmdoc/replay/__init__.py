"""Known incidents, played on this machine: a healthy twin, the fault, the doctor at work, the healed run."""
