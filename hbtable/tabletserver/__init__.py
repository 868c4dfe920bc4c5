"""The tablet server (paper, sections 5.2-5.4): serves a set of tablets, compacts and splits them, guards its lock."""
