from setuptools import find_packages, setup

packages = find_packages(include=["hrmdoc", "hrmdoc.*"])
for name in ("trainer", "rules", "playbooks", "docs"):
    packages += [f"hrmdoc.{name}", *(f"hrmdoc.{name}.{sub}" for sub in find_packages(name))]
setup(packages=packages)
