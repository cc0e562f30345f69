"""Changes the code a little, again and again, and counts which changes no test notices: see `__main__`."""
