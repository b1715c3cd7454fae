"""What people see: tables and files. Outputs show what is in a result; they compute nothing."""
