"""What models have learnt, for the eye: tables, heat maps, curves and pages.

Imports systems and what they import; matplotlib only where a picture is drawn.
"""
