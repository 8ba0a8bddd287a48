package localslack

import (
	"fmt"
	"net/http"
	"strings"
)

// serveResponse is the response_url: a POST of a message that answers one
// interaction.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	a, _, err := readArgs(r)
	if f, broken := s.faults.api("response_url"); broken && f.breaks() && !f.AfterStore {
		s.finish(w, "response_url", a, s.playFault(r.Context(), caller{}, "response_url", f))
		return
	}
	if err != nil {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	to, err := s.spendResponse(key)
	if err != nil {
		s.recordResponse(a, http.StatusNotFound, err)
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err := s.respond(to, a); err != nil {
		s.recordResponse(a, http.StatusOK, err)
		s.writeJSON(w, failed(err).body)
		return
	}
	s.recordResponse(a, http.StatusOK, nil)
	fmt.Fprint(w, "ok")
}

func (s *Server) recordResponse(a args, status int, err error) {
	c := Call{At: s.cfg.Now(), Method: "response_url", Args: a.plain(), Status: status}
	if err != nil {
		c.Error = err.Error()
	}
	s.records.call(c)
	s.ws.hub.publish(Change{Kind: ChangeCall})
}

// respond posts, replaces or deletes. An ephemeral original stays ephemeral.
func (s *Server) respond(to responseURL, a args) error {
	d, err := s.readDraft(a)
	if err != nil {
		return err
	}
	var m Message
	err = s.ws.update(func(ch *change) error {
		original, found := ch.w.message(to.channel, to.ts)
		switch {
		case a.flag("delete_original", false):
			if found && !original.Deleted {
				ch.remove(original)
			}
			return nil
		case a.flag("replace_original", false) && found && !original.Deleted:
			m = ch.putMessage(s.replaced(original, d, a))
			ch.emitChanged(m, original)
			return nil
		case d.text == "" && countItems(d.blocks) == 0:
			return refuse("no_text")
		}
		m = ch.w.botMessage(to.channel, d)
		m.ThreadTS = a.str("thread_ts")
		if a.str("response_type") != "in_channel" || to.ephemeral {
			m.EphemeralTo = to.user
		}
		m = ch.post(m)
		return nil
	})
	if err == nil && m.TS != "" {
		s.inspect(m)
	}
	return err
}

// replaced is the original with new contents: here what is not sent is gone.
func (s *Server) replaced(m Message, d draft, a args) Message {
	m.Text, m.Blocks, m.Attachments = storeText(d.text), s.ws.complete(d.blocks), d.attachments
	if a.has("metadata") {
		m.Metadata = d.metadata
	}
	m.NoUnfurl = d.noUnfurl
	return m
}
