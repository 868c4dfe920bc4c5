r"""The shell for people: a line editor (prompt_toolkit) with history, completion, colour, hints, pager.

loop.py reads, runs and shows; completion.py, highlighting.py and hints.py help with typing; history.py keeps what was
typed; specials.py has what is not HBase's: use, \watch, \x; redirection.py reads > file and |! command; paging.py shows
long answers.
"""
