"""The published aligners but mask-align, one file each: citation, formula, options, arithmetic."""
