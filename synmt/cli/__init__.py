"""The commands, one file each: options, then one call into the rooms below. No logic."""
