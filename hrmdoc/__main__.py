from hrmdoc.cli.main import run

run()
