"""Notifying people of incidents: what is reported (`groups`), kept until it is delivered (`outbox`), and sent
(`sender`, `targets`)."""
