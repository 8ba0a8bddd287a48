//go:build !windows

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// LockFile takes the exclusive lock of a file, creating it when it is missing;
// ErrLocked when another process has it. The lock ends with release or with the
// process, however it dies. The file stays.
func LockFile(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
