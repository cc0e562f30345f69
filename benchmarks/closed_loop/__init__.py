"""A fault, its diagnosis, the first remedy, the rerun: does it help?"""
