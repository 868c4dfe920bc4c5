"""The roles of a cluster as processes: master, tablet server, and who watches over them."""
