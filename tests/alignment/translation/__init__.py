"""What all aligners on translation models share, and the laws of each."""
