"""An agent that plays no hands: claims come in, and each is one run. To copy from."""
