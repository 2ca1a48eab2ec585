"""The only room that talks to git: a hermetic process, objects, merging, history, remotes."""
