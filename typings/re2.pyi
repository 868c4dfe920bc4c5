"""The part of google-re2 that filters.patterns uses."""

class Options:
    dot_nl: bool
    log_errors: bool
    max_mem: int

class error(Exception): ...
class _Match: ...

class _Regexp:
    programsize: int

    def search(self, text: str | bytes) -> _Match | None: ...

def compile(pattern: str, options: Options) -> _Regexp: ...
