"""The manual: pages written by hand, the playbooks, and a reference that is made of the rules, the
settings, the commands and the docstrings, all as Markdown. `hrmdoc docs` shows it from an installed package;
the same pages are what the site is built of."""
