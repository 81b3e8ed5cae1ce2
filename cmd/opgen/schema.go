package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/spec"
)

// schemas holds functions that return the JSON Schemas, by name. docs/schema holds them, under the names with
// .json, where their ids point to.
var schemas = map[string]func() ([]byte, error){
	"spec":   func() ([]byte, error) { return keys.Schema("spec of opgen", schemaID("spec"), spec.Tables()...) },
	"config": func() ([]byte, error) { return keys.Schema(config.Name, schemaID("config"), config.Keys) },
}

func schemaID(name string) string {
	return "https://raw.githubusercontent.com/opgen/opgen/main/docs/schema/" + name + ".json"
}

// schema prints a JSON Schema.
func (c *command) schema() int {
	of := schemas[c.args[0]]
	if of == nil {
		return c.fail(fmt.Errorf("schema: want one of %s, got %q", strings.Join(slices.Sorted(maps.Keys(schemas)), ", "), c.args[0]))
	}
	text, err := of()
	if err != nil {
		return c.fail(err)
	}
	if _, err := c.stdout.Write(text); err != nil {
		return c.fail(err)
	}
	return clean
}
