"""The published neural aligners, each a leaf: its file or folder can be deleted with its line in PUBLISHED of the
registry (synmt/alignment/__init__.py), and with the aligners that learn from its links.

attention/ is what they share. Nothing else in synmt imports from this folder.
"""
