"""The command line: thin, over the service layer."""
