package bot_test

import (
	"os"
	"testing"

	"countersign/internal/store/storetest"
)

// TestMain lets every world begin with a copy of a migrated database; those of
// cmd/countersign migrate theirs.
func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
