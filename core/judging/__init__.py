"""Tasks judged by a reader: the sample, what the reader sees of a task, the verdicts, and what they say of the sample."""
