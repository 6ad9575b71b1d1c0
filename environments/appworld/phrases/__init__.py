"""Phrases of the apps' APIs, from which realizer.py words any steps.

A module for each app has three tables by the name of the API, without the app:

- WISHES: clauses for a change ("like {song_id}"), several for the same thing. A clause fits only a call that has exactly the arguments in
  its braces (besides paging and values equal to the default), so an API gets clauses for each set of arguments that a user may mean. What
  stands in a brace is written as people write it (values.py), an id as the thing that it is: the title in quotation marks, the name.
- QUESTIONS: for a lookup, by the field of its answer, questions for that field ("How long is {song_id}?").
- REFUSED: APIs that no user asks an assistant for without more context; steps with one of them that changes something are not worded.

A lookup that is in no table only serves the calls after it, and is not worded.
"""
