"""Tables, heat maps, curves and HTML pages that show what a model has learned.

matplotlib is imported only to draw a picture.
"""

from typing import Literal

PictureForm = Literal["png", "svg", "pdf"]
