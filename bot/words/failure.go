package words

// Failure says what the code of a failure or refusal means to people: what came with it
// was written for the model, or in one language. It is put in as it is where the
// sentence has room for it; a code without a sentence is told by it alone.
func (l Language) Failure(code, detail string) string {
	if code == "" || !l.Has("why."+code) {
		return detail
	}
	return l.Say("why."+code, "detail", detail)
}
