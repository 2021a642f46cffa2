"""What the published aligners share: links from the attention of two translation models, one per direction.

`AttentionAligner` (aligner.py) is the base of these aligners. weights.py also serves aligners with other models.
"""

DIRECTIONS = ("forward", "backward")  # the folders of the models
GUIDE_FOLDER = "guide"  # of the aligner whose links they learn from
