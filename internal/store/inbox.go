package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
)

// inbox gathers what people sent while SQLite's one writer was busy. All of it is then
// stored in one transaction, so that a burst waits for a few commits and not for hundreds.
type inbox struct {
	mu      sync.Mutex
	waiting []*letter
}

// letter is one thing that somebody sent.
type letter struct {
	txn
	write func(t *txn) error
	err   error
	done  chan struct{} // closed when it is stored, or err says why not
	taken atomic.Bool   // by who stores it, or back by who sent it: never by both
}

// put adds a letter; first says that nobody is on the way yet to store what waits.
func (b *inbox) put(l *letter) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, l)
	return len(b.waiting) == 1
}

func (b *inbox) take() []*letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.waiting
	b.waiting = nil
	return all
}

// post stores one letter, together with those that wait. An error undoes this one alone.
// An error of ctx says that it was not stored, and that it will not be. What is being
// written when ctx ends is waited for: somebody told that it is not saved acts anew.
func (s *Store) post(ctx context.Context, write func(t *txn) error) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	l := &letter{txn: txn{store: s, now: s.now()}, write: write, done: make(chan struct{})}
	if s.inbox.put(l) {
		go s.collect(context.WithoutCancel(ctx)) // who gives up takes nobody along
	}
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
	}
	if l.taken.CompareAndSwap(false, true) {
		return translate(ctx.Err())
	}
	<-l.done
	return l.err
}

// collect waits for the writer and stores what has come by then.
func (s *Store) collect(ctx context.Context) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	err := s.gate.enter(ctx, true)
	letters := s.inbox.take()
	if err == nil {
		err = s.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			for _, l := range letters {
				if !l.taken.CompareAndSwap(false, true) {
					continue // who sent it gave up
				}
				if err := l.store(tx); err != nil {
					return err
				}
			}
			return nil
		})
		s.gate.leave()
	}
	for _, l := range letters {
		l.end(err)
	}
}

// store writes the letter within the transaction of all. What is wrong with it alone
// becomes its own error.
func (l *letter) store(tx *gorm.DB) error {
	l.DB = tx
	if _, err := l.changed("SAVEPOINT letter"); err != nil {
		return err
	}
	if l.err = l.attempt(); l.err != nil {
		if _, err := l.changed("ROLLBACK TO letter"); err != nil {
			return errors.Join(l.err, err)
		}
	}
	_, err := l.changed("RELEASE letter")
	return err
}

// attempt turns a panic into an error: one letter that cannot be read must not take
// the process down.
func (l *letter) attempt() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("storing what came in panicked: %v", cause)
		}
	}()
	return l.write(&l.txn)
}

// end says what came of the letter; err is of the transaction of all.
func (l *letter) end(err error) {
	switch {
	case err != nil:
		l.err = translate(err)
	case l.err != nil:
		l.err = translate(l.err)
	default:
		l.tell()
	}
	close(l.done)
}
