"""`hbtable shell`: the HBase shell people know, over the Thrift port of a server.

language/   tokens.py -> parser.py -> syntax.py -> evaluate.py   Ruby's call syntax by a grammar of our own, never eval;
            literals.py (how a value is shown)
talking     connection.py (one Thrift client of both services), scanning.py
commands    catalogue.py (all names, lazily), commands/   one idea per file; arguments/ reads what they are given
answers/    output.py and its formats, text.py
running     invocation.py (what the command line said), session.py (a script's lines in order), main.py, prompt/ (for
            people)

The words are HBase's here: *region* for a tablet. Nothing but the standard library and thriftpy2 is loaded before the
first answer, because a shell that is used one command at a time must start at once.
"""
