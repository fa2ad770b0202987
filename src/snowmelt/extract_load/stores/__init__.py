"""Where files are: folders of this machine, buckets, SFTP and web servers, all behind one interface."""
