package mcp

import (
	"regexp"

	"countersign/tools"
)

// maxName is the longest name that providers accept for a function.
const maxName = 64

var unfit = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// plainName is the name that a tool has where nothing stands in the way.
func plainName(server, tool string) (name string, exact bool) {
	name = server + "_" + unfit.ReplaceAllString(tool, "_")
	return name, len(name) <= maxName && name == server+"_"+tool
}

// markedName tells apart what would have one name: the end is a hash of the
// server's own name of the tool.
func markedName(server, tool string) string {
	const mark = 8
	name, _ := plainName(server, tool)
	return name[:min(len(name), maxName-mark-1)] + "_" + tools.Digest("mcp name", server, tool)[:mark]
}

// namer gives each tool of one server a name that it keeps.
type namer struct {
	server string
	given  map[string]string // by the server's own name
	taken  func(string) bool // by tools of others
}

// name is stable for as long as the process lives, whatever else the server lists.
// A tool that needed no change has the first claim on its name: listed tells whether
// the server has a tool of that own name.
func (n *namer) name(tool string, listed func(string) bool) string {
	if name, ok := n.given[tool]; ok {
		return name
	}
	name, exact := plainName(n.server, tool)
	if len(name) > maxName || n.used(name) || !exact && listed(name[len(n.server)+1:]) {
		name = markedName(n.server, tool)
	}
	n.given[tool] = name
	return name
}

func (n *namer) used(name string) bool {
	for _, given := range n.given {
		if given == name {
			return true
		}
	}
	return n.taken(name)
}
