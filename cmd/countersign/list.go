package main

import (
	"fmt"
	"text/tabwriter"
)

// list prints a row for each of all under the heads, or that there is none. Columns
// are kept apart by tabs.
func list[T any](e *env, all []T, none, heads string, row func(*T) string) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(e.out, none)
		return err
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heads)
	for i := range all {
		fmt.Fprintln(w, row(&all[i]))
	}
	return w.Flush()
}
