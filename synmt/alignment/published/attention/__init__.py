"""What the published aligners share: links from the attention of two translation models, one per direction.

`AttentionMethod` (method.py) is the base of these methods. weights.py also serves aligners with other models.
"""

DIRECTIONS = ("forward", "backward")  # the folders of the models
GUIDE_FOLDER = "guide"  # of the aligner whose links they learn from
