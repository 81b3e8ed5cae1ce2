package workspace

// Names returns the names in a spec.
func (s *Snapshot) Names(path string) []Name { return s.namesOf(path) }

// Paths lists the specs.
func (s *Snapshot) Paths() []string { return s.paths }
