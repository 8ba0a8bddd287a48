package tools

import "fmt"

// shorten cuts a text to n runes and says how much is missing.
func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d more characters)", string(runes[:n]), len(runes)-n)
}

// tail is the last n runes of a text.
func tail(text string, n int) string {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-n):])
}
