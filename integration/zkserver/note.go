package zkserver

import "github.com/zkrecipes/zkrecipes/integration/internal/notes"

// note says something once to whoever runs the tests.
func note(text string) { notes.Say("zkserver", text) }
