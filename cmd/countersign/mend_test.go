package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"countersign/agent/llm/playbook"
	"countersign/localslack"
)

// What an operator does when the doctor has named a mistake.

// asBefore puts the settings right.
func (d *desk) asBefore() {
	d.t.Helper()
	d.env = maps.Clone(d.before)
	d.write(d.sound)
}

// installed installs the app again, with the scopes of its manifest.
func (d *desk) installed() { d.Slack.Server.SetScopes(localslack.DefaultScopes()...) }

// invited takes the bot into a channel.
func (d *desk) invited(channel string) {
	d.t.Helper()
	if err := d.Slack.Server.Invite(d.t.Context(), "U0MGR", "U0BOT", channel); err != nil {
		d.t.Fatal(err)
	}
}

// twoManagers fills the user group with people who may decide.
func (d *desk) twoManagers() {
	d.t.Helper()
	group := localslack.Usergroup{ID: "S0MGR", Handle: "managers", Name: "Managers", Members: []string{"U0MGR", "U0FIN"}}
	if err := d.Slack.Server.PutUsergroup(group); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) folder(name string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Join(d.Dir, name), 0o750); err != nil {
		d.t.Fatal(err)
	}
}

// choosy is the attentive model behind a server that looks at the key and the model's name.
func choosy() http.Handler {
	model := attentive()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		refuse := func(status int, text string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text) // the doctor's complaint shows what is missing
		}
		switch {
		case err != nil:
			refuse(http.StatusBadRequest, err.Error())
		case r.Header.Get("Authorization") != "Bearer test":
			refuse(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`)
		case !bytes.Contains(body, fmt.Appendf(nil, `"model":%q`, playbook.Model)):
			refuse(http.StatusNotFound, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`)
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			model.ServeHTTP(w, r)
		}
	})
}

// migratedByNewer leaves the database as a newer release would.
func (d *desk) migratedByNewer() {
	d.t.Helper()
	d.must("migrate")
	d.schema("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
}

// readByNewer stands for the newer release: to it no migration is unknown.
func (d *desk) readByNewer() {
	d.t.Helper()
	d.schema("DELETE FROM goose_db_version WHERE version_id = 99999")
}

func (d *desk) schema(change string) {
	d.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(d.URL, "sqlite:"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(d.t.Context(), change); err != nil {
		d.t.Fatal(err)
	}
}
