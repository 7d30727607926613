"""These are lessons for the tests of the checker to copy and run; they are not tests themselves."""

collect_ignore_glob = ["*"]
