"""`hbtable shadow`: a proxy that answers from one server, repeats every call on another, and tells what differs."""
