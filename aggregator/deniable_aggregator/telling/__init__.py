"""From an answer to a document: the one place that chooses, orders, folds and words.

`tell` makes the document of an answer. Media draw it: they may leave a minor column out for want of
room, and never round, choose or word.
"""
