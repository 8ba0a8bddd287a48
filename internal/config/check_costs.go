package config

// costs checks that limits of money can be counted at all.
func (k *checker) costs() {
	if p := k.Model.Price; p.InputPerMillion > 0 || p.OutputPerMillion > 0 {
		return
	}
	day := k.Limits.PerDay
	for _, limit := range []struct {
		key  string
		cost float64
	}{
		{"limits.max_cost", k.Limits.MaxCost},
		{"limits.per_day.user.cost", day.User.Cost},
		{"limits.per_day.channel.cost", day.Channel.Cost},
		{"limits.per_day.all.cost", day.All.Cost},
	} {
		if limit.cost > 0 {
			k.fail(limit.key, "would never be reached, because nothing says what a token costs: set model.price")
		}
	}
}
