"""The schema of every rule file, one module for each sort of rule. An unknown key is refused by
`hrmdoc.rulebook`, with file, line and the nearest valid word."""
