"""Campaigns that look for silently wrong densities, crashes and lost files.

`make truth`, `make fuzz` and `make faults` run them; a short seeded part of each is in `make test`.
"""
