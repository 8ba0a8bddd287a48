package bot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/card"
)

// Files follow their message as deliveries of their own, asked for in the commit of
// the message's receipt: run/<id>/file/<answer or private>/<number>. The id that Slack
// gave an upload is kept, before it is shown to anybody, where a message keeps its hash:
// after a crash or a lost answer the thread tells whether it stands there.

func fileSubject(run, of string, n int) string {
	return fmt.Sprintf("run/%s/file/%s/%d", run, of, n)
}

// fileWishes asks for the files of a message that was just shown for the first time.
func (b *Bot) fileWishes(d Delivery, msg *card.Message, r Receipt) []agent.Wish {
	_, run, rest, ok := parseSubject(d.Subject)
	if !ok || r.Version == 0 || r.Gone || d.Done > 0 {
		return nil
	}
	w := agent.Wish{Channel: d.Channel, ThreadTS: d.ThreadTS, Priority: agent.PriorityAnswer, ReadyAt: b.Now()}
	if r.Channel != "" {
		w.Channel, w.ThreadTS = r.Channel, "" // where the message went
	}
	var wishes []agent.Wish
	for i := range msg.Files {
		w.Subject = fileSubject(run, rest[0], i)
		if len(msg.Files[i].Content) > 0 { // Slack takes no empty ones
			wishes = append(wishes, w)
		}
	}
	return wishes
}

func isFile(subject string) bool {
	kind, _, rest, ok := parseSubject(subject)
	return ok && kind == "run" && rest[0] == "file"
}

// deliverFile uploads one file, once.
func (b *Bot) deliverFile(ctx context.Context, d Delivery) Receipt {
	f, err := b.fileOf(ctx, d)
	if isGone(err) {
		return Receipt{Version: d.Version, Gone: true}
	}
	if err != nil {
		return b.failed(d, "", err)
	}
	if d.Hash != "" {
		done, err := b.resumeUpload(ctx, d, f)
		if err != nil {
			return b.fileFailed(d, err)
		}
		if done {
			return Receipt{Version: d.Version, Hash: d.Hash}
		}
	}
	if d.Hash, err = b.sendBytes(ctx, f); err != nil {
		return b.fileFailed(d, err)
	}
	if err := b.Outbox.Intend(ctx, d, b.Now()); err != nil {
		return b.failed(d, "", err)
	}
	if err := b.share(ctx, d, f); err != nil {
		return b.fileFailed(d, err)
	}
	return Receipt{Version: d.Version, Hash: d.Hash}
}

// fileOf draws the message again, of which the file is a part.
func (b *Bot) fileOf(ctx context.Context, d Delivery) (*card.File, error) {
	_, run, rest, ok := parseSubject(d.Subject)
	if !ok || len(rest) != 3 || d.Done > 0 { // it is shown once
		return nil, agent.ErrNotFound
	}
	n, err := strconv.Atoi(rest[2])
	if err != nil {
		return nil, agent.ErrNotFound
	}
	work, err := b.Views.Load(ctx, run)
	if err != nil {
		return nil, err
	}
	of := Delivery{Subject: "run/" + run + "/" + rest[1]}
	msg, _, err := b.renderAnswer(ctx, of, work, b.where(b.lang(&work.Run), work.Run.TS))
	if err != nil {
		return nil, err
	}
	if msg == nil || n < 0 || n >= len(msg.Files) {
		return nil, agent.ErrNotFound
	}
	return &msg.Files[n], nil
}

// resumeUpload finishes an upload that was begun; false when Slack knows it no more.
func (b *Bot) resumeUpload(ctx context.Context, d Delivery, f *card.File) (bool, error) {
	messages, err := b.around(ctx, d)
	if err != nil && !said(err, "missing_scope") {
		return false, err
	}
	for i := range messages {
		for _, there := range messages[i].Files {
			if there.ID == d.Hash {
				return true, nil
			}
		}
	}
	err = b.share(ctx, d, f)
	if said(err, "file_not_found", "file_upload_size_mismatch", "file_update_failed", "invalid_arguments") {
		return false, nil
	}
	return err == nil, err
}

// sendBytes hands the content to Slack. Nobody sees it yet.
func (b *Bot) sendBytes(ctx context.Context, f *card.File) (id string, err error) {
	at, err := b.API.GetUploadURLExternalContext(ctx, slack.GetUploadURLExternalParameters{FileName: f.Name, FileSize: len(f.Content)})
	if err != nil {
		return "", fmt.Errorf("ask where to upload: %w", err)
	}
	err = b.API.UploadToURL(ctx, slack.UploadToURLParameters{UploadURL: at.UploadURL, Reader: bytes.NewReader(f.Content), Filename: f.Name})
	if err != nil {
		return "", errors.New("a file could not be uploaded") // the cause holds the secret address
	}
	return at.FileID, nil
}

func (b *Bot) share(ctx context.Context, d Delivery, f *card.File) error {
	_, err := b.API.CompleteUploadExternalContext(ctx, slack.CompleteUploadExternalParameters{
		Files: []slack.FileSummary{{ID: d.Hash, Title: f.Title}}, Channel: d.Channel, ThreadTimestamp: d.ThreadTS,
	})
	if err != nil {
		return fmt.Errorf("show an uploaded file: %w", err)
	}
	return nil
}

// fileFailed is failed for a file: what Slack does not allow this app at all is left
// at that, since the message says the most important part by itself.
func (b *Bot) fileFailed(d Delivery, err error) Receipt {
	r := b.failed(d, "", err)
	if said(err, "missing_scope", "not_allowed_token_type", "file_uploads_disabled", "storage_limit_reached") {
		r.Version, r.Gone, r.RetryAt = d.Version, true, time.Time{}
	}
	return r
}
