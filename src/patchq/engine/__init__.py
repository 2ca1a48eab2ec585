"""What patchq does: stack patches, take them to another base, judge them, export them.

Nothing here prints, prompts or looks at the terminal.
"""
