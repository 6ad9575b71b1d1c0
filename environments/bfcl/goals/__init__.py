"""What users of the benchmark's services want: goals that are carried out in a task's own world while they are put into words.

scene.py     a world in which a goal is tried: it executes calls, and keeps what was said and done
registry.py  `@goal`: a function that carries out one thing that a user wants, and returns the words of that user turn
story.py     several goals in turn, tied together by the things that earlier ones left behind, as one `coevolve.Goal`
The other modules hold the goals, one or two modules for each class of the benchmark.
"""
