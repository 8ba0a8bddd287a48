package localslack_test

import (
	"net/http"
	"testing"

	"countersign/localslack"
	"countersign/localslack/tinyapp"
)

// Each person gets the words of the page's owner in their language, and no others.
func TestPageWordsAreThePersons(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	if err := ws.Server.PutPerson(localslack.Person{ID: "U0MGR", Name: "mgr", RealName: "Manager", Locale: "zh-CN"}); err != nil {
		t.Fatal(err)
	}
	for who, want := range map[string]string{"U0MGR": "一", "U0ANA": ""} {
		_, body := as(who).send(as(who).request(http.MethodGet, "/page/state?user="+who, nil))
		if got := tinyapp.Str(body, "words", "One"); got != want {
			t.Errorf("%s reads %q, want %q", who, got, want)
		}
	}
}
