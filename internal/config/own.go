package config

import "slices"

// Files lists the files that the configuration was read from: itself and those of
// its secrets. No tool may reach them.
func (c *Config) Files() []string {
	var out []string
	if c.source.file != "" {
		out = append(out, c.source.file)
	}
	return append(out, slices.Clone(c.source.secretFiles)...)
}
