"""`hrmdoc mcp`: what an assistant may ask of runs, over the Model Context Protocol."""
