"""Curved boundaries: what they are by description, and maps that bend the cells of a straight mesh onto them."""
