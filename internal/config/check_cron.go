package config

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronProblem says what is wrong with a cron line, "" when nothing is. It reads the
// line as the scheduler will.
func cronProblem(line string) string {
	const form = "is no cron line; write five fields (minute, hour, day, month, weekday), like 0 3 * * 1, or a word like @daily"
	if strings.Contains(line, "TZ=") {
		return "names a time zone; cron lines are read in that of the process (TZ in its environment)"
	}
	schedule, err := cron.ParseStandard(line)
	if err != nil {
		return form
	}
	if schedule.Next(time.Time{}).IsZero() {
		return "names a day that never comes"
	}
	return ""
}
