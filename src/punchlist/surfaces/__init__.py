"""What people look at in a terminal. Pure: values in, lines of styled text out; printing is the command line's."""
