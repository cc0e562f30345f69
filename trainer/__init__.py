"""The HRM trainer: what hrmdoc's demo and fault lab train.

It meets the agent in files only (the run directory).
"""
