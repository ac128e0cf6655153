"""Pure rules: given a state and a command, the next state and the events. No I/O, no clock, no randomness."""
