"""Render boards for a terminal. Pure: values in, lines of styled text out; the command line prints them."""
