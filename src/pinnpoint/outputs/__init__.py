"""What a certified case leaves behind: certificate, table, field, bundle and report."""
