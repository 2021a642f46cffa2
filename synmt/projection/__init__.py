"""Projects trees over word links, from parsed sentences to their translations. No torch.

`votes` collects evidence for arcs and tags from the sources of a target. `tree` turns it into one tree, or uses a
`grammar`: log-linear models of `features`, trained on the evidence of a whole corpus. `stream` reads and writes lines.
`markup` carries inline markup over links.
"""
