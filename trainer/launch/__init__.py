"""How the processes of a run are started: in the background, as a batch job, by torchrun."""
