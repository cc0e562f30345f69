"""Turns a remedy into a change of the user's own file, writes it, undoes it, and sends actions to a live
run."""
