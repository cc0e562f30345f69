"""Sudoku: boards, their rules, a solver, a generator, and datasets of them."""
