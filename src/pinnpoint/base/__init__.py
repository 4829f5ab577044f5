"""What everything stands on: errors, arrays, files, threads, memory, the version. Knows no mathematics."""
