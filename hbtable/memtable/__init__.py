"""Recent writes of a tablet's locality group, sorted, in memory (paper, section 5.3). Pure and hot."""
