"""Random inputs for every reader, and random command lines for every command that trains, translates or aligns."""
