"""When dynamic tables are refreshed: a pure tick that decides, and a runner that carries out."""
