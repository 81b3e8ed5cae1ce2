//go:build mpi && cgo

package mpi_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/supervise"
	"github.com/opgen/opgen/runtime/conform"
	"github.com/opgen/opgen/runtime/mpi"
	"github.com/opgen/opgen/runtime/ranks"
	"github.com/opgen/opgen/test/replicas"
)

var (
	programs = flag.Int("mpi-programs", 12, "number of random programs that TestRandom runs on each number of ranks")
	faults   = flag.Int("mpi-faults", 2, "number of faults of each kind that TestFaults makes")
)

// child names what a process does that mpiexec has started.
const child = "OPGEN_TEST_MPI"

func TestMain(m *testing.M) {
	what, of, _ := strings.Cut(os.Getenv(child), " ")
	if what == "" {
		os.Exit(m.Run())
	}
	if err := map[string]func(string) error{"random": random, "fail": fail, "forever": forever, "leave": leave, "resume": resume, "large": large, "late": late, "conform": conformance}[what](of); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// kept is a transport that sessions leave open.
type kept struct{ ranks.Transport }

func (kept) Close() error { return nil }

// random compares random programs on the ranks with the same on this one.
func random(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	t, err := mpi.Open(mpi.Config{})
	if err != nil {
		return err
	}
	for seed := range uint64(n) {
		if err := replicas.Compare(seed, 4, kept{t}, opgen.Workers(1+int(seed)%2)); err != nil {
			return errors.Join(fmt.Errorf("seed %d: %w", seed, err), t.Close())
		}
	}
	if _, err := mpi.Open(mpi.Config{}); err == nil || err.Error() != "mpi: want one session on MPI in a process, got another" {
		return fmt.Errorf("a second transport: %v", err)
	}
	fmt.Println("rank", t.Rank(), "of", t.Ranks(), "compared", n)
	return t.Close()
}

// conformance runs conformance cases on the ranks, in the types in which they are given and in float64: those
// whose number modulo of is first.
func conformance(which string) error {
	var first, of int
	if _, err := fmt.Sscan(which, &first, &of); err != nil {
		return err
	}
	all, _, err := conform.LoadAll(conform.Cases())
	if err != nil {
		return err
	}
	var cases []*conform.Case
	for i, c := range all {
		if i%of == first {
			cases = append(cases, c)
		}
	}
	t, err := mpi.Open(mpi.Config{})
	if err != nil {
		return err
	}
	judged := 0
	for _, double := range []bool{false, true} {
		n, err := replicas.Conform(context.Background(), cases, double, 4, t, opgen.Workers(1))
		if err != nil {
			return errors.Join(err, t.Close())
		}
		judged += n
	}
	fmt.Printf("rank %d of %d judged %d of %d\n", t.Rank(), t.Ranks(), judged, 2*len(cases))
	return t.Close()
}

// train trains a network on the ranks, and calls each before each step, until that returns an error.
func train(each func(s *opgen.Session, step int) error) error {
	return opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		prog, err := replicas.Chain(8, 5, 3)
		if err != nil {
			return err
		}
		p, err := s.Load(context.Background(), prog)
		for step := 0; err == nil; step++ {
			if err = each(s, step); err == nil {
				err = p.Run(context.Background(), replicas.Inputs(prog, step)...)
			}
		}
		return err
	}, opgen.MPI(mpi.Config{Limit: 4 * time.Second}), opgen.Devices(3), opgen.Workers(1))
}

// fail aborts the ranks by an error of a run on rank 1: an input is missing.
func fail(string) error {
	return opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		prog, err := replicas.Chain(8, 5, 3)
		if err != nil {
			return err
		}
		p, err := s.Load(context.Background(), prog)
		if err != nil {
			return err
		}
		rank, _ := s.Rank()
		for step := 0; ; step++ {
			values := replicas.Inputs(prog, step)
			if rank == 1 && step == 20 {
				values = nil
			}
			if err := p.Run(context.Background(), values...); err != nil {
				if e := (*ranks.Error)(nil); rank != 1 && (!errors.As(err, &e) || e.Rank != 1) {
					return fmt.Errorf("rank %d: want an error of rank 1, got %w", rank, err)
				}
				fmt.Printf("rank %d ends: %v\n", rank, err)
				time.Sleep(500 * time.Millisecond) // all have printed it when the first ends
				return errors.New("failed as it should")
			}
		}
	}, opgen.MPI(mpi.Config{}), opgen.Devices(3), opgen.Workers(1))
}

// leave closes the session of rank 2 while others go on.
func leave(string) error {
	err := train(func(s *opgen.Session, step int) error {
		if rank, _ := s.Rank(); rank == 2 && step == 5 {
			return io.EOF
		}
		return nil
	})
	fmt.Println("ended:", err)
	time.Sleep(500 * time.Millisecond) // all have printed it when the first ends: mpiexec of MPICH then kills the others
	return nil
}

// forever trains until something ends it. Rank 1 stops before its first step if stop is "stop".
func forever(stop string) error {
	return train(func(s *opgen.Session, step int) error {
		rank, _ := s.Rank()
		if step == 0 {
			fmt.Println("rank", rank, "is", os.Getpid())
		}
		if stop != "" && rank == 1 {
			return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		return nil
	})
}

// late closes rank 0 long after the others.
func late(string) error {
	t, err := mpi.Open(mpi.Config{Limit: time.Second})
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		time.Sleep(2500 * time.Millisecond)
	}
	begin := time.Now()
	if err = t.Close(); err == nil && t.Rank() > 0 && time.Since(begin) < 2*time.Second {
		return fmt.Errorf("rank %d: Close did not wait for rank 0", t.Rank())
	}
	return err
}

// lastStep is how many steps resume trains.
const lastStep = 120

// resume trains a network from the checkpoints in a folder, with a new one after every few steps, and writes
// the variables to a file of the folder at the end. The features of the network, and a pause after each step,
// stand before the folder.
func resume(of string) error {
	text, of, _ := strings.Cut(of, " ")
	features, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	text, dir, _ := strings.Cut(of, " ")
	pause, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	return opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		rank, _ := s.Rank()
		fmt.Println("rank", rank, "is", os.Getpid())
		prog, err := replicas.Chain(4, features, 3)
		if err != nil {
			return err
		}
		p, err := s.Load(context.Background(), prog)
		if err != nil {
			return err
		}
		checkpoints := opgen.Checkpoints{Dir: filepath.Join(dir, "checkpoints")}
		at, err := checkpoints.Resume(s)
		if err != nil {
			return err
		}
		for step := at.Step; step < lastStep; step++ {
			if err := p.Run(context.Background(), replicas.Inputs(prog, step)...); err != nil {
				return err
			}
			time.Sleep(pause)
			if step%7 == 0 {
				if err := checkpoints.Save(s, opgen.Position{Step: step + 1}); err != nil {
					return err
				}
			}
		}
		return s.SaveVariables(filepath.Join(dir, "end.safetensors"))
	}, opgen.MPI(mpi.Config{Limit: 4 * time.Second}), opgen.Devices(3), opgen.Workers(1))
}

// large sends a message from the last rank to the first one that takes far longer than the watchdog waits.
func large(string) error {
	t, err := mpi.Open(mpi.Config{Limit: 4 * time.Second})
	if err != nil {
		return err
	}
	data := make([]byte, 8<<20+77)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	begin := time.Now()
	switch t.Rank() {
	case t.Ranks() - 1:
		err = t.Send(0, data).Wait()
	case 0:
		got := make([]byte, len(data))
		if err = t.Receive(t.Ranks()-1, got).Wait(); err == nil && !bytes.Equal(got, data) {
			err = errors.New("the message has changed")
		}
		fmt.Printf("received in %d ms\n", time.Since(begin).Milliseconds())
	}
	return errors.Join(err, t.Close())
}

// trained returns the variables that a training has left in a folder.
func trained(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "end.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// alone returns the variables at the end of a training on one rank without faults, of a network with some
// features.
func alone(t *testing.T, features int) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := start(t, 1, fmt.Sprint("resume ", features, " 0s ", dir)).end(t, time.Minute); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return trained(t, dir)
}

// TestFaultsResume kills a rank of a training at random moments, and goes on from the last checkpoint, with
// another number of ranks each time. It ends with the bits of a training without faults.
func TestFaultsResume(t *testing.T) {
	want := alone(t, 5)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2))
	for range *faults {
		dir, kills := t.TempDir(), 0
		for {
			n := 1 + r.IntN(3)
			j := start(t, n, "resume 5 0s "+dir)
			select {
			case <-j.ready:
			case <-j.read:
			}
			time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
			if kills < 3 && len(j.pids) == n {
				_ = syscall.Kill(j.pids[r.IntN(n)], syscall.SIGKILL) // unless the training is over
			}
			out, err := j.end(t, time.Minute)
			if err == nil {
				break
			}
			if kills++; kills > 3 {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if trained(t, dir) != want {
			t.Errorf("after %d kills the variables are others than without", kills)
		}
		t.Logf("%d kills", kills)
	}
}

// lines passes lines on to a channel.
type lines struct {
	begun string
	to    chan<- string
}

func (l *lines) Write(b []byte) (int, error) {
	l.begun += string(b)
	for {
		line, rest, ok := strings.Cut(l.begun, "\n")
		if !ok {
			return len(b), nil
		}
		l.begun = rest
		l.to <- line
	}
}

// TestSupervised trains under the supervisor. A rank is killed, and one of the next run is stopped, which the
// watchdog finds. Each time, the supervisor goes on with a rank less. At the end, the variables have the bits
// of a training without faults, and no process is left.
func TestSupervised(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, dir := alone(t, 5), t.TempDir()
	printed := make(chan string, 1000)
	var said []string
	launcher := strings.Fields(cmp.Or(os.Getenv("OPGEN_MPIEXEC"), "mpiexec"))
	j := &supervise.Job{Command: append(launcher, "-n", "3", self), Restarts: 3, Fewer: true, Stdout: &lines{to: printed}, Stderr: &lines{to: printed},
		Say: func(line string) { said = append(said, line) }}
	t.Setenv(child, "resume 5 10ms "+dir)
	all := map[int]bool{}
	go func() {
		faults := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}
		now, ranks := map[int]int{}, 3
		for line := range printed {
			var rank, pid int
			if k, _ := fmt.Sscanf(line, "rank %d is %d", &rank, &pid); k == 2 {
				now[rank], all[pid] = pid, true
			}
			if len(now) == ranks && len(faults) > 0 {
				time.Sleep(300 * time.Millisecond)
				_ = syscall.Kill(now[ranks-1], faults[0])
				faults, now, ranks = faults[1:], map[int]int{}, ranks-1
			}
		}
	}()
	status, err := j.Run()
	close(printed)
	if err != nil || status != 0 || len(said) < 3 || !strings.HasSuffix(said[0], "; restart 1 of 3 on 2 ranks") || !strings.HasSuffix(said[1], "; restart 2 of 3 on 1 rank") || !strings.HasSuffix(said[len(said)-1], "succeeded after 2 restarts") {
		t.Fatalf("status %d, %v; it said\n%s", status, err, strings.Join(said, "\n"))
	}
	t.Log(strings.Join(said, "\n"))
	if trained(t, dir) != want {
		t.Error("after two faults the variables are others than without")
	}
	if len(all) != 6 {
		t.Errorf("%d ranks ran, want 3, 2 and 1", len(all))
	}
	for pid := range all {
		if runs(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// started is a job that mpiexec runs.
type started struct {
	*exec.Cmd
	out   strings.Builder
	pids  map[int]int // of ranks
	ready chan struct{}
	read  chan struct{}
}

// start starts processes of this test by mpiexec.
func start(t *testing.T, n int, what string) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := append(strings.Fields(os.Getenv("OPGEN_MPIEXEC")), "-n", strconv.Itoa(n), self)
	if len(words) == 3 {
		words = append([]string{"mpiexec"}, words...)
	}
	j := &started{Cmd: exec.Command(words[0], words[1:]...), pids: map[int]int{}, ready: make(chan struct{}), read: make(chan struct{})}
	j.Env = append(os.Environ(), child+"="+what)
	pipe, err := j.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.Stderr = j.Stdout
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(j.read)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			var rank, pid int
			if k, _ := fmt.Sscanf(lines.Text(), "rank %d is %d", &rank, &pid); k == 2 {
				if j.pids[rank] = pid; len(j.pids) == n {
					close(j.ready)
				}
			}
			fmt.Fprintln(&j.out, lines.Text())
		}
	}()
	return j
}

// end waits for the end of a job, at most some time, and returns what it printed.
func (j *started) end(t *testing.T, limit time.Duration) (string, error) {
	t.Helper()
	kill := time.AfterFunc(limit, func() {
		t.Errorf("the job did not end in %v", limit)
		for _, pid := range j.pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = j.Process.Kill()
	})
	defer kill.Stop()
	<-j.read
	err := j.Wait()
	return j.out.String(), err
}

// begun waits until all ranks of a job have printed their numbers.
func (j *started) begun(t *testing.T) {
	t.Helper()
	select {
	case <-j.ready:
	case <-time.After(time.Minute):
		out, err := j.end(t, 0)
		t.Fatalf("the ranks do not start: %v\n%s", err, out)
	}
}

// gone checks that no rank of a job that is over is left.
func (j *started) gone(t *testing.T) {
	t.Helper()
	for rank, pid := range j.pids {
		gone := false
		for range 50 {
			if gone = !runs(pid); gone {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if !gone {
			t.Errorf("rank %d is left", rank)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// TestRandom compares random programs on one to four ranks with the same in one process.
func TestRandom(t *testing.T) {
	for n := 1; n <= 4; n++ {
		out, err := start(t, n, fmt.Sprint("random ", *programs)).end(t, 3*time.Minute)
		if err != nil || strings.Count(out, fmt.Sprintf("of %d compared %d", n, *programs)) != n {
			t.Errorf("%d ranks: %v\n%s", n, err, out)
		}
	}
}

// TestConform runs the conformance cases on one to four ranks, each case on one of these numbers.
func TestConform(t *testing.T) {
	for n := 1; n <= 4; n++ {
		conforms(t, n, n-1, 4)
	}
}

// conforms runs the conformance cases whose number modulo of is first on n ranks. The first judges all.
func conforms(t *testing.T, n, first, of int) {
	t.Helper()
	out, err := start(t, n, fmt.Sprint("conform ", first, " ", of)).end(t, 5*time.Minute)
	var judged, cases int
	_, line, _ := strings.Cut(out, fmt.Sprintf("rank 0 of %d judged ", n))
	if k, _ := fmt.Sscanf(line, "%d of %d", &judged, &cases); err != nil || k != 2 || judged != cases || cases < 600/of || strings.Count(out, " judged ") != n {
		t.Errorf("%d ranks: %v\n%s", n, err, out)
	}
}

// TestFail ends all ranks by an error on one of them, with its message.
func TestFail(t *testing.T) {
	out, err := start(t, 3, "fail").end(t, time.Minute)
	if err == nil || strings.Count(out, "x@1") < 3 || !strings.Contains(out, "rank 0 ends:") || !strings.Contains(out, "rank 2 ends:") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLeave closes the session of a rank for which others wait: they get an error, and all end. Open MPI
// counts that as a failure of the job, and MPICH does not.
func TestLeave(t *testing.T) {
	out, err := start(t, 3, "leave").end(t, time.Minute)
	if strings.Count(out, "rank 2: ended before it did what another rank waits for") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLate closes a rank long after the others, which wait for it: it has not stopped.
func TestLate(t *testing.T) {
	if out, err := start(t, 3, "late").end(t, time.Minute); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// runs reports whether a process runs or is stopped. One that ended, and whose parent has not asked for it
// yet, does not.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && !strings.HasPrefix(state, "Z")
}

// TestStopsEarly stops a rank as soon as it has loaded its program. The others no longer take it for one that
// is starting.
func TestStopsEarly(t *testing.T) {
	j, begin := start(t, 3, "forever stop"), time.Now()
	select {
	case <-j.ready:
		begin = time.Now()
	case <-j.read:
	case <-time.After(time.Minute):
	}
	out, err := j.end(t, 20*time.Second)
	if took := time.Since(begin); err == nil || took > 10*time.Second || !strings.Contains(out, "rank 1: has not answered for") {
		t.Errorf("the job ended after %v with %v\n%s", took, err, out)
	}
}

// TestFaults kills and stops processes at random moments of a training. The job ends within 10 s, with an
// error, and leaves no process. That of a stopped one says which rank it is.
func TestFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for n := range 2 * *faults {
		victim, wait := r.IntN(3), time.Duration(r.IntN(1000))*time.Millisecond
		signal := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[n%2]
		j := start(t, 3, "forever")
		j.begun(t)
		time.Sleep(wait)
		begin := time.Now()
		if err := syscall.Kill(j.pids[victim], signal); err != nil {
			t.Fatal(err)
		}
		out, err := j.end(t, 20*time.Second)
		took := time.Since(begin)
		if err == nil || took > 10*time.Second {
			t.Errorf("%v of rank %d after %v: the job ended after %v with %v\n%s", signal, victim, wait, took, err, out)
		}
		if signal == syscall.SIGSTOP && !strings.Contains(out, fmt.Sprintf("rank %d: has not answered for", victim)) {
			t.Errorf("%v of rank %d: the job does not say so:\n%s", signal, victim, out)
		}
		j.gone(t)
		t.Logf("%v of rank %d after %v: ended after %v", signal, victim, wait, took)
	}
}

// TestFaultsSlow stops a rank again and again for a short time, as if it or its links were slow. The training
// ends with the bits of one without faults.
func TestFaultsSlow(t *testing.T) {
	want := alone(t, 5)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))
	for range *faults {
		dir, victim, stops := t.TempDir(), r.IntN(3), 0
		j := start(t, 3, "resume 5 4ms "+dir)
		j.begun(t)
		for over := false; !over && stops < 15; stops++ {
			_ = syscall.Kill(j.pids[victim], syscall.SIGSTOP)
			time.Sleep(time.Duration(1+r.IntN(100)) * time.Millisecond)
			_ = syscall.Kill(j.pids[victim], syscall.SIGCONT)
			select {
			case <-j.read:
				over = true
			case <-time.After(time.Duration(20+r.IntN(80)) * time.Millisecond):
			}
		}
		if out, err := j.end(t, time.Minute); err != nil {
			t.Fatalf("rank %d stopped %d times: %v\n%s", victim, stops, err, out)
		}
		if trained(t, dir) != want {
			t.Errorf("rank %d stopped %d times: the variables are others than without", victim, stops)
		}
		j.gone(t)
		t.Logf("rank %d stopped %d times", victim, stops)
	}
}

// TestFaultsDisk fills the disk with the checkpoints at random moments. The training ends within 10 s with an
// error that says so, and leaves no process. With room again, it goes on to the bits of one without faults.
func TestFaultsDisk(t *testing.T) {
	want := alone(t, 5)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 4))
	for range *faults {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("a small disk takes the right to mount one: %v", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		wait := time.Duration(r.IntN(500)) * time.Millisecond
		j := start(t, 3, "resume 5 4ms "+dir)
		j.begun(t)
		time.Sleep(wait)
		begin := time.Now()
		fill := filepath.Join(dir, "fill")
		f, err := os.Create(fill)
		if err != nil {
			t.Fatal(err)
		}
		for over := false; !over; { // also what old checkpoints leave free
			for err = nil; err == nil; {
				_, err = f.Write(make([]byte, 4096))
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Error(err)
			}
			select {
			case <-j.read:
				over = true
			case <-time.After(time.Millisecond):
			}
		}
		out, failed := j.end(t, 20*time.Second)
		took := time.Since(begin)
		if took > 10*time.Second || failed != nil && !strings.Contains(out, "no space left on device") {
			t.Errorf("a full disk after %v: the job ended after %v with %v\n%s", wait, took, failed, out)
		}
		j.gone(t)
		if err := errors.Join(f.Close(), os.Remove(fill)); err != nil {
			t.Fatal(err)
		}
		if failed != nil {
			if out, err := start(t, 2, "resume 5 0s "+dir).end(t, time.Minute); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if trained(t, dir) != want {
			t.Errorf("a full disk after %v: the variables are others than without", wait)
		}
		t.Logf("a full disk after %v: ended after %v, failed: %v", wait, took, failed != nil)
	}
}

// hosts are three network namespaces of this machine and a switch between them, which .ci/mpi makes.
type hosts struct {
	*testing.T
	name string // with which the names of the namespaces begin
}

// onHosts returns the hosts, or skips the test if there are none.
func onHosts(t *testing.T) hosts {
	t.Helper()
	h := hosts{t, os.Getenv("OPGEN_HOSTS")}
	if h.name == "" {
		t.Skip("the hosts are made by make mpi-hosts")
	}
	return h
}

// run runs a command of iproute2.
func (h hosts) run(command string, words ...string) {
	h.Helper()
	if out, err := exec.Command(command, words...).CombinedOutput(); err != nil {
		h.Fatalf("%s %v: %v\n%s", command, words, err, out)
	}
}

// link brings the link of a host up or down.
func (h hosts) link(host int, to string) {
	h.Helper()
	h.run("ip", "-n", h.name+"-switch", "link", "set", fmt.Sprint("port", host), to)
}

// slow limits the link of a host to some bits a second, both ways, until fast.
func (h hosts) slow(host int, rate string) (fast func()) {
	h.Helper()
	set := func(do string, more ...string) {
		h.Helper()
		h.run("tc", append([]string{"-n", h.name + "-switch", "qdisc", do, "dev", fmt.Sprint("port", host), "root"}, more...)...)
		h.run("tc", append([]string{"-n", fmt.Sprint(h.name, "-", host), "qdisc", do, "dev", "eth0", "root"}, more...)...)
	}
	set("add", "tbf", "rate", rate, "burst", "16kb", "latency", "300ms")
	return func() { set("del") }
}

// TestHostsConform runs half of the conformance cases on three hosts.
func TestHostsConform(t *testing.T) {
	onHosts(t)
	conforms(t, 3, 0, 2)
}

// TestFaultsLinks trains on three hosts. At random moments, the link of one is cut, is cut for a short time,
// or is slow for some seconds. A cut ends the ranks within 10 s with an error that says so, leaves none, and
// the training goes on from the last checkpoint. All trainings end with the bits of one without faults.
func TestFaultsLinks(t *testing.T) {
	h := onHosts(t)
	const features = 192
	train, want := fmt.Sprint("resume ", features, " 20ms "), alone(t, features)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 5))
	for n := range 3 * *faults {
		dir, victim, wait := t.TempDir(), r.IntN(3), time.Duration(r.IntN(1000))*time.Millisecond
		j := start(t, 3, train+dir)
		j.begun(t)
		time.Sleep(wait)
		begin, cut, how := time.Now(), n%3 == 0, ""
		switch n % 3 {
		case 0:
			h.link(victim, "down")
			for time.Since(begin) < 20*time.Second && slices.ContainsFunc(slices.Collect(maps.Values(j.pids)), runs) {
				time.Sleep(50 * time.Millisecond)
			}
			how = fmt.Sprintf("cut, after which ranks ran for %v", time.Since(begin))
			if time.Since(begin) > 10*time.Second {
				t.Errorf("the link of rank %d, %v after the start: %s", victim, wait, how)
			}
			h.link(victim, "up") // mpiexec waits for what it started on the host
		case 1:
			h.link(victim, "down")
			time.Sleep(time.Duration(50+r.IntN(950)) * time.Millisecond)
			h.link(victim, "up")
			how = fmt.Sprintf("down for %v", time.Since(begin))
		default:
			rate := fmt.Sprint(500+r.IntN(4500), "kbit")
			fast := h.slow(victim, rate)
			time.Sleep(time.Duration(1000+r.IntN(2000)) * time.Millisecond)
			fast()
			how = fmt.Sprintf("of %s for %v", rate, time.Since(begin))
		}
		out, err := j.end(t, time.Minute)
		took := time.Since(begin)
		if cut != (err != nil) || cut && !strings.Contains(out, "has not answered for") {
			t.Errorf("the link of rank %d, %v after the start: %s: %v\n%s", victim, wait, how, err, out)
		}
		j.gone(t)
		if cut {
			if out, err := start(t, 3, train+dir).end(t, time.Minute); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		if trained(t, dir) != want {
			t.Errorf("the link of rank %d, %v after the start: %s: the variables are others than without", victim, wait, how)
		}
		t.Logf("the link of rank %d, %v after the start: %s: mpiexec ended after %v", victim, wait, how, took)
	}
}

// TestFaultsLarge sends a message over a slow link that takes far longer than the watchdog waits, which
// takes no rank for stopped.
func TestFaultsLarge(t *testing.T) {
	defer onHosts(t).slow(2, "8mbit")()
	out, err := start(t, 3, "large").end(t, time.Minute)
	_, after, ok := strings.Cut(out, "received in ")
	var ms int
	if _, scanned := fmt.Sscanf(after, "%d ms", &ms); err != nil || !ok || scanned != nil || ms < 6000 {
		t.Errorf("%v, after %d ms\n%s", err, ms, out)
	}
}
