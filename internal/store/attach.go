package store

import (
	"context"
	"encoding/base64"
	"fmt"

	"countersign/agent"
)

// attachmentRow is a row of attachments.
type attachmentRow struct {
	Run     string
	Step    int
	N       int
	Name    string
	MIME    string `gorm:"column:mime"`
	Content string
}

// TableName names the table.
func (attachmentRow) TableName() string { return "attachments" }

// attach stores what a step gave beside text. A step that is called again replaces it.
func (t *txn) attach(s *agent.Step) error {
	if len(s.Attached) == 0 {
		return nil
	}
	if _, err := t.changed("DELETE FROM attachments WHERE run = ? AND step = ?", s.Run, s.N); err != nil {
		return err
	}
	for i, a := range s.Attached {
		row := attachmentRow{Run: s.Run, Step: s.N, N: i, Name: clean(a.Name), MIME: clean(a.MIME), Content: base64.StdEncoding.EncodeToString(a.Content)}
		if err := insert(t, row); err != nil {
			return err
		}
	}
	return nil
}

// Attachments implements bot.Views.
func (s *Store) Attachments(ctx context.Context, run string) ([]agent.Attachment, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []attachmentRow
	if err := s.read.WithContext(ctx).Where("run = ?", run).Order("step, n").Find(&rows).Error; err != nil {
		return nil, translate(err)
	}
	out := make([]agent.Attachment, len(rows))
	for i, r := range rows {
		content, err := base64.StdEncoding.DecodeString(r.Content)
		if err != nil {
			return nil, fmt.Errorf("attachment %d of step %d of run %s: %w", r.N, r.Step, run, err)
		}
		out[i] = agent.Attachment{Step: r.Step, Name: r.Name, MIME: r.MIME, Content: content}
	}
	return out, nil
}
