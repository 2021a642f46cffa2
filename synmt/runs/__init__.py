"""Runs of several systems as a unit: from one file with data, systems and seeds to the table of a paper."""
