package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/tools/sandbox"
)

func TestNetworkIsRefused(t *testing.T) {
	t.Parallel()
	text := run(t, start(t), `ls /sys/class/net; wget -T 3 -q -O - http://example.com; echo "network exit: $?."; `+
		`ping -c 1 -W 1 127.0.0.1 >/dev/null 2>&1; nc -w 2 1.1.1.1 53 </dev/null; echo "address exit: $?"`)
	contains(t, text, "exit status 0", "network exit: 1", "Network is unreachable", "address exit: 1", "stdout:\nlo\n")
	lacks(t, text, "eth0", "network exit: 0.")
}

func TestServiceOfTheMachineIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	contains(t, run(t, s, fmt.Sprintf("nc -w 2 127.0.0.1 %d </dev/null; echo exit: $?", port)), "exit: 1")
}

func TestOnlyTmpCanBeWritten(t *testing.T) {
	t.Parallel()
	folder := publicFolder(t)
	s := start(t, func(c *sandbox.Config) { c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}} })
	text := run(t, s, `for f in /etc/outside /srv/outside /outside /bin/outside /data/outside /data/note /proc/sysrq-trigger /proc/sys/kernel/core_pattern /sys/outside /sys/fs/cgroup/outside /dev/outside /run/outside /var/outside /var/tmp/outside; do `+
		`( echo x > $f ) 2>/dev/null && echo "WROTE $f"; done; rm -f /data/note; cat /data/note; echo ok > /tmp/inside && cat /tmp/inside; pwd`)
	contains(t, text, "exit status 0", "a note", "ok\n/tmp")
	lacks(t, text, "WROTE")
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v; want the note alone", entries, err)
	}
}

// publicFolder is a folder that everybody may write to, with one file of that kind, so
// that only the mount keeps a command from changing it.
func publicFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	// The folders of the testing package are closed to other users.
	for dir := folder; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	note := filepath.Join(folder, "note")
	if err := os.WriteFile(note, []byte("a note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(note, 0o666); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestRightsAreNone(t *testing.T) {
	t.Parallel()
	text := run(t, start(t), `id -u; id -g; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; ulimit -n; ulimit -c; `+
		`mount -t tmpfs none /tmp 2>&1; mknod /tmp/disk b 8 0 2>&1; chroot / /bin/true 2>&1; cp /bin/busybox /tmp/b; /tmp/b true; echo executed: $?`)
	contains(t, text, "65534\n65534\n", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
		"1024\n0\n", "mount: permission denied", "mknod: /tmp/disk: Operation not permitted", "can't change root directory", "executed: 126")
}

// Engines add writable places of their own, where they are not told otherwise. Those
// that are left belong to root.
func TestNothingElseIsMountedWritable(t *testing.T) {
	t.Parallel()
	text := run(t, start(t), `grep -E ' rw[ ,]' /proc/mounts | cut -d' ' -f2,4`)
	places := strings.TrimPrefix(text, "exit status 0\nstdout:\n")
	for line := range strings.Lines(places) {
		place, options, _ := strings.Cut(strings.TrimSpace(line), " ")
		system := slices.ContainsFunc([]string{"/dev", "/proc", "/sys/fs/cgroup"}, func(p string) bool { return place == p || strings.HasPrefix(place, p+"/") })
		if place != "/tmp" && !system || !strings.Contains(options, "noexec") {
			t.Errorf("%s is writable: %s", place, options)
		}
	}
	contains(t, places, "/tmp rw,", "/dev/shm rw,")
}

func TestForkBombIsStopped(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *sandbox.Config) { c.Pids, c.Timeout = 32, 5*time.Second })
	text := run(t, s, `i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; echo started $i`)
	contains(t, text, "can't fork")
	began := time.Now()
	_, err := s.Call(t.Context(), call(t.Name(), `b() { b | b & b; }; b; sleep 60`))
	if took := time.Since(began); took > 50*time.Second { // the sleep alone takes a minute
		t.Errorf("the bomb took %s (%v)", took, err)
	}
	contains(t, run(t, s, "echo still here"), "still here")
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	text := run(t, start(t), `dd if=/dev/zero of=/dev/null bs=200M count=1`)
	contains(t, text, "exit status 137 (killed, probably for using too much memory)")
}

func TestDiskIsBounded(t *testing.T) {
	t.Parallel()
	text := run(t, start(t), `dd if=/dev/zero of=/tmp/full bs=1M count=100; ls -l /tmp/full; `+
		`dd if=/dev/zero of=/dev/shm/full bs=1M count=100 2>&1 | grep -c 'No space'; (i=0; while echo > /tmp/many$i; do i=$((i+1)); [ $i -lt 3000 ] || break; done)`)
	contains(t, text, "No space left on device", "8388608")
}

func TestFloodIsCut(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *sandbox.Config) { c.OutputBytes = 4 << 10 })
	f := failure(t, s, "echo begin; yes flood; echo end")
	if f.Code != "too_much_output" {
		t.Errorf("%v", f)
	}
	contains(t, f.Message, "256 KiB", "begin\nflood", "left out")
	if n := len([]rune(f.Message)); n > 3000 {
		t.Errorf("the message has %d characters", n)
	}
}

func TestEndlessCommandIsKilled(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *sandbox.Config) { c.Timeout, c.Parallel = 3*time.Second, 8 })
	for name, command := range map[string]string{
		"asleep":     "echo working; sleep 1000",
		"busy":       "echo working; while :; do :; done",
		"deaf":       "echo working; trap '' TERM INT HUP; while :; do sleep 1; done",
		"mute":       "echo working; exec >&- 2>&-; sleep 1000",
		"background": "echo working; (sleep 1000 &) ; cat /dev/zero > /dev/null",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := failure(t, s, command)
			if f.Code != "timeout" {
				t.Errorf("%v", f)
			}
			contains(t, f.Message, "did not end within 3s", "working")
		})
	}
}

func TestEnvironmentDoesNotLeak(t *testing.T) {
	t.Setenv("SANDBOX_TEST_SECRET", leaked)
	s := start(t, func(c *sandbox.Config) { c.Env = map[string]string{"STAGE": "test", "HTTP_PROXY": "declared"} })
	text := run(t, s, "env; cat /proc/1/environ | tr '\\0' '\\n'; ls -a / /etc")
	contains(t, text, "STAGE=test\n", "HTTP_PROXY=declared\n", "HOME=/tmp\n")
	lacks(t, text, leaked)
}

func TestLinksInMountsStayInside(t *testing.T) {
	t.Parallel()
	folder := publicFolder(t)
	secret := filepath.Join(publicFolder(t), "note")
	for name, target := range map[string]string{"passwd": "/etc/passwd", "up": "../../../../../../etc", "secret": secret} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, func(c *sandbox.Config) { c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}} })
	text := run(t, s, "cat /data/passwd; cat /data/secret; ls /data/up; ls /data/../data/note")
	contains(t, text, "nobody:x:65534", "can't open '/data/secret'", "/data/note")
	lacks(t, text, "a note", "shadow", "daemon:")
}

func TestWaysOutOfMountsAreRefused(t *testing.T) {
	t.Parallel()
	folder := publicFolder(t)
	s := start(t, func(c *sandbox.Config) { c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}} })
	contains(t, run(t, s, "echo fine"), "fine")
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := failure(t, s, "echo x > /data/pipe")
	if f.Code != "mount" {
		t.Errorf("got %v", f)
	}
	contains(t, f.Message, "/data/pipe")
	lacks(t, f.Message, folder)
}

func TestExchangedMountIsRefused(t *testing.T) {
	t.Parallel()
	parent := publicFolder(t)
	folder := filepath.Join(parent, "data")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(c *sandbox.Config) { c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}} })
	contains(t, run(t, s, "ls -d /data"), "/data")
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", folder); err != nil {
		t.Fatal(err)
	}
	if f := failure(t, s, "cat /data/shadow"); f.Code != "mount" {
		t.Errorf("got %v", f)
	}
}

func TestCommandsAreNotTouched(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct{ command, want string }{
		{`printf '%s' "a  b"`, "stdout:\na  b"},
		{`echo '余额 $HOME' "$((1+1))"`, "余额 $HOME 2"},
		{"echo one\necho two", "one\ntwo"},
		{"-c", "exit status 127"},
		{`printf 'a\000b\033[31m\377'`, "a\ufffdb\ufffd[31m\ufffd"},
	} {
		contains(t, run(t, s, c.command), c.want)
	}
	if text := run(t, s, "exit 3"); text != "exit status 3\n(no output)" {
		t.Errorf("got %q", text)
	}
	if text := run(t, s, "echo out; echo err >&2; exit 7"); text != "exit status 7\nstdout:\nout\nstderr:\nerr" {
		t.Errorf("got %q", text)
	}
	long := run(t, s, "seq 1 100000")
	contains(t, long, "stdout:\n1\n2\n", "bytes left out", "99999\n100000")
	if strings.Count(long, "left out") != 1 {
		t.Error("cut more than once")
	}
}

// A command that makes itself root in a user namespace, where the engine lets it, is root
// over nothing of the container's: mounts stay as they are, and what it adds counts as its memory.
func TestRootOfAUserNamespaceGainsNothing(t *testing.T) {
	t.Parallel()
	folder := publicFolder(t)
	s := start(t, func(c *sandbox.Config) { c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}} })
	text := run(t, s, `echo began; unshare -Urm sh -c 'mount -o remount,rw /data; mount -o remount,rw,bind /data; mount -o remount,rw /; umount /data; umount /run; `+
		`mount -t proc none /proc && echo WROTE proc; mount -t sysfs none /sys && echo WROTE sys; mount -t cgroup2 none /sys/fs/cgroup && echo WROTE cgroup; `+
		`for f in /data/note /outside /run/outside /proc/sysrq-trigger /proc/sys/kernel/core_pattern; do ( echo x > $f ) 2>/dev/null && echo "WROTE $f"; done; `+
		`mkdir /tmp/n; mount -t tmpfs -o size=500m none /tmp/n; dd if=/dev/zero of=/tmp/n/x bs=1M count=200 && echo WROTE 200 MiB'; `+
		`unshare -Urn wget -T 2 -q -O - http://1.1.1.1/ && echo WROTE network; nsenter -t 1 -m true && echo WROTE entered; cat /data/note`)
	contains(t, text, "began", "a note")
	lacks(t, text, "WROTE")
}

// What a command asks of its input, of other processes, of devices and of the clock.
func TestWhatElseACommandTries(t *testing.T) {
	t.Parallel()
	folder := publicFolder(t)
	s := start(t, func(c *sandbox.Config) { c.Mounts = []sandbox.Mount{{Host: folder, At: "/data"}} })
	for command, want := range map[string]string{
		"cat; read x; echo ended":                                                "ended",
		"kill -9 -1; kill -9 1; echo alive":                                      "alive",
		"(sleep 1000 &); setsid sleep 1000 & echo gone":                          "gone",
		"ln /data/note /data/hard; ln /data/note /tmp/hard; ls /data":            "stdout:\nnote\n",
		"cat /proc/kcore /proc/kmsg /dev/mem | wc -c":                            "stdout:\n0\n",
		"date -s 2020-01-01; hostname evil; hostname":                            "stdout:\nWed Jan  1 00:00:00 UTC 2020\nsandbox\n",
		"[ $(ls -d /proc/[0-9]* | wc -l) -lt 9 ] && echo alone":                  "alone",
		"i=0; while [ $i -lt 9000 ]; do : > /tmp/f$i; i=$((i+1)); done; echo $i": "9000",
	} {
		began := time.Now()
		if text := run(t, s, command); !strings.Contains(text+"\n", want) || time.Since(began) > 50*time.Second {
			t.Errorf("%s: %s (%s)", command, text, time.Since(began))
		}
	}
	noContainers(t)
}
