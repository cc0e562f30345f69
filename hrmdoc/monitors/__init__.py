"""What the machine shows of a run while it is watched: GPU, processor, memory, processes, disk, network and
the limits of its container. One file a sensor; a sampler reads them in a thread of its own."""
