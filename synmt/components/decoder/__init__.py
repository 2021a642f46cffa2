"""Components of the decoder, one file each, which no other file of synmt imports."""
