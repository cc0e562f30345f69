"""`hrmdoc serve`: the runs below some folders as pages, live, for one person on this machine.

`board` keeps what is known of every run, `rows` and `run_page` do the work in processes of their own,
`guard` decides who is answered, `pages` draws, `app` joins them.
"""
