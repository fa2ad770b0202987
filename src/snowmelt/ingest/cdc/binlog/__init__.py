"""Sources whose log is a binlog: MariaDB, and MySQL."""
