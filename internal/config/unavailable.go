package config

// feature is a part of the configuration whose work this version cannot do yet.
type feature struct {
	key   string             // the setting that asks for it
	what  string             // the feature, as people call it
	asked func(*Config) bool // whether the configuration wants it
}

// unavailable lists what the file may say but this version cannot do. Such a
// setting stops the start: one that is read and then ignored is worse than none.
// Whoever builds a feature deletes its line.
var unavailable = []feature{}

// available refuses each setting that asks for a feature of a later version.
func (k *checker) available() {
	for _, f := range unavailable {
		if f.asked(k.Config) {
			k.fail(f.key, "not available in this version: %s", f.what)
		}
	}
}
