"""Other runtimes that models are compared with; each is an extra package."""
