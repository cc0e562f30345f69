"""Jobs as batch systems list them: what a row says, and the forms in which it is written."""
