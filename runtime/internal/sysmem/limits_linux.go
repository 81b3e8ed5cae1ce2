package sysmem

import (
	"bufio"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// limits returns the limits that are known.
func limits() []int64 {
	list := groups("/proc/self/cgroup", "/sys/fs/cgroup")
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		list = append(list, bytes((uint64(info.Totalram)+uint64(info.Totalswap))*uint64(max(info.Unit, 1))))
	}
	var space syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil {
		list = append(list, bytes(space.Cur))
	}
	return list
}

func bytes(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// groups returns the limits of the control groups in a file like /proc/self/cgroup, and of the groups that
// these are in. A container may see its own group as the root.
func groups(file, root string) []int64 {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []int64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// A line is number:controllers:path. Version 2 has one line, without controllers.
		_, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		folder, name := root, "memory.max"
		if controllers != "" {
			folder, name = path.Join(root, "memory"), "memory.limit_in_bytes"
		}
		if !ok || controllers != "" && !strings.Contains(","+controllers+",", ",memory,") {
			continue
		}
		for at := path.Join("/", group); ; at = path.Dir(at) {
			if n, ok := number(path.Join(folder, at, name)); ok {
				list = append(list, n)
			}
			if at == "/" {
				break
			}
		}
	}
	return list
}

// number reads a file with a number of bytes; ok is false if there is none, as for a group without a limit.
func number(file string) (n int64, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	u, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	return bytes(u), err == nil
}
