"""What a GPU does with the trainer: speed, memory and utilisation by attention, batch and compilation; two
learning curves.

    python -m benchmarks.trainer.gpu [FOLDER] [--seconds 450] [--peak-tflops 989] [--data builtin:sudoku-hard]
    [--quick]

Steps are those of `hrmdoc train --benchmark`, runs those of `hrmdoc train`. Every part has a process of its
own, so that one that runs out of memory, breaks the device or compiles for too long costs only itself; what
no longer fits into the time is named as skipped. A puzzle a second is one row through one ACT step: a puzzle
that takes 16 steps counts 16 times. `--quick` runs the same code with a tiny model on any device. FOLDER
receives gpu.json and gpu.txt; without it both are printed.
"""
