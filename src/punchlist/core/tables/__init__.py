"""Tables that the rules of shell lines and checks are data for: texts only, read by the modules that use them."""
