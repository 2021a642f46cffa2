"""Aligners that read word links from two translation models, one per direction."""

DIRECTIONS = ("forward", "backward")  # the folders of the models
GUIDE_FOLDER = "guide"  # of the aligner whose links they learn from
