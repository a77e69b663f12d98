package session

import "ostraka/planner"

// setSource gives the binder the text that error positions refer to.
func setSource(pc *planner.Context, text string) { pc.Source = text }
