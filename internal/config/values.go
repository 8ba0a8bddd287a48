package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// variable is ${NAME}; a doubled dollar stands for itself.
var variable = regexp.MustCompile(`\$\$?\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// maxSecretFile is the largest secret file that is read, in bytes.
const maxSecretFile = 64 << 10

// values fills in what a file does not say itself.
type values struct {
	env  func(string) (string, bool)
	read func(path string) ([]byte, error)
	used *[]string // collects the files that were read
}

// expand replaces each ${VAR}. A variable that is not set, or empty, is an error
// that names it; $${VAR} stays as ${VAR}.
func (vs values) expand(text string) (string, error) {
	var missing []string
	out := variable.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		name := match[2 : len(match)-1]
		value, ok := vs.env(name)
		if !ok || value == "" {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment variable %s is not set", strings.Join(missing, ", "))
	}
	return out, nil
}

// secret fills a secret: the content of a file for file:PATH (without the last
// line break), else the text with its variables replaced.
func (vs values) secret(text string) (string, error) {
	path, isFile := strings.CutPrefix(text, "file:")
	if !isFile {
		return vs.expand(text)
	}
	path, err := vs.expand(path)
	if err != nil {
		return "", err
	}
	data, err := vs.read(path)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %w", path, plainPathError(err))
	}
	*vs.used = append(*vs.used, path)
	data = bytes.TrimRight(data, "\r\n")
	switch {
	case len(data) == 0:
		return "", fmt.Errorf("the file %s is empty", path)
	case len(data) > maxSecretFile:
		return "", fmt.Errorf("the file %s is larger than a secret (%d bytes)", path, maxSecretFile)
	}
	return string(data), nil
}

// plainPathError drops operation and path, which the caller names itself.
func plainPathError(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
