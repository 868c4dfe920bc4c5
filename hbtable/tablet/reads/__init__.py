"""A read's way through a tablet: which sources, which columns, and a page as it fills."""
