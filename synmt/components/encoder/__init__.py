"""Components of the encoder, one file each, which no other file of synmt imports."""
