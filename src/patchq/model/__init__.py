"""Pure facts and their files: nothing here runs git or looks at a terminal."""
