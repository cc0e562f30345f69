"""Telling people of incidents: what is told (`groups`), kept until it is delivered (`outbox`), and sent
(`sender`, `targets`)."""
