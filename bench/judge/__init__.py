"""The judge on simulated traffic: how often it is wrong, how soon it sees harm, and what the rules of others do on the same streams."""
