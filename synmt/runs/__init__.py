"""Runs of several systems as a unit: from one file with data, systems and seeds to the table of a paper.

Laws, each with a test:

- Finished work is not done again. Work of other options or data is refused by the first difference, before anything is
  trained; translations, and parses of tests, are made again instead. A thing without a note is not the run's own.
- All tasks, done one at a time, in any order that respects what they need, twice or at once, give the table of one run;
  so does a run that was interrupted anywhere. Whatever a run has started ends with it, even if it is killed.
- Everything that can be refused is refused before any work: options, data, and what does not fit together.
- Any name of a file, system or test gives the same table; no two things of a run have one place.
- All systems read the same words, and text is parsed as training reads it.
- An option with several values is chosen on dev, by its mean over all seeds.
- What a process said last is the error of the run.
"""
