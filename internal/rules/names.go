package rules

import (
	"regexp"
	"slices"

	"github.com/opgen/opgen/internal/source"
)

// Snake matches names in lower case, with single underscores between words.
var Snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// Reserved lists the names that have a meaning in expressions. Attributes, slots and arguments cannot have
// them.
var Reserved = []string{"true", "false", "in", "not", "none"}

// ReservedSlots cannot be names of slots, because tasks have them.
var ReservedSlots = []string{"forward", "backward", "init", "cleanup"}

// IsSlotName reports whether a slot may have a name.
func IsSlotName(name string) bool {
	return len(name) <= source.MaxKey && Snake.MatchString(name) && !slices.Contains(Reserved, name) && !slices.Contains(ReservedSlots, name)
}
