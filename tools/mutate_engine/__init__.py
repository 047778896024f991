"""Do the engine's tests notice? A seeded sample of small faults, put into the rules one by one.

    python -m tools.mutate_engine [--sample 1000] [--seed 1]     resumes where it stopped
    python -m tools.mutate_engine --again                        survivors once more, after new tests
    python -m tools.mutate_engine --report                       what is known, survivors as Markdown

Reading order: `mutants` (which faults there are), `trial` (one fault against the tests, in a process of its own),
`swap` and `session` (the same in a session that is collected once), `campaign` (which way, and which tests first),
`record` (what is known, kept between runs).
"""
