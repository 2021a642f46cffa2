"""Runs: from one file with data, systems and seeds to the results table of a paper.

Laws, each with a test:

- Finished work is not repeated. Output of other options or data is refused before any training starts, with a message
  that names the first difference; translations, and parses of tests, are made again instead. A run never touches a path
  without a record in the log of its step.
- The steps, done in any order, repeatedly or in parallel, give the same table as a single run, and so does a run that
  was interrupted at any point. All processes of a run end with it, even if it is killed.
- Whatever can be refused is refused before any work: options, data and incompatible combinations. The commands
  themselves check the options.
- The names of files, systems and tests do not affect the table; no two outputs of a run share a path.
- All systems read the same words, and text is parsed in the same way as in training.
- All systems learn from the same pairs in the same batches unless the run file chooses otherwise; the table says in
  what their training differs.
- An option with several values is tuned on dev, by its mean score over all seeds.
- The last message of a process is the error of the run.
"""
