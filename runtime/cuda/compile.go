//go:build cuda

package cuda

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/internal/ahead"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
)

// Variables of the environment.
const (
	// compilerVariable holds a command that compiles device code, with {in}, {out} and {arch} in place of the
	// two files and of the architecture, such as sm_90.
	compilerVariable = "OPGEN_CUDA_COMPILER"
	// cacheVariable holds the folder of compiled code.
	cacheVariable = "OPGEN_CUDA_CACHE"
	// aheadVariable holds a folder of code that was compiled ahead, which is looked at first.
	aheadVariable = "OPGEN_CUDA_AHEAD"
	// sourcesVariable holds a folder to which all sources that compile are written, to be compiled ahead.
	sourcesVariable = "OPGEN_CUDA_SOURCES"
)

//go:embed builtins.cu
var builtinSource string

// compiler compiles CUDA C++.
type compiler struct {
	name    string // with what distinguishes it from others, such as its version
	compile func(source, arch string) ([]byte, error)
}

// findCompiler returns the compiler of this machine.
func findCompiler() (*compiler, error) {
	if command := os.Getenv(compilerVariable); command != "" {
		return commandCompiler(command)
	}
	if v := cudadriver.OpenNVRTC(); v != nil {
		return &compiler{"NVRTC " + v.Version, v.Compile}, nil
	}
	if path, err := exec.LookPath("nvcc"); err == nil {
		version, err := exec.Command(path, "--version").Output()
		if err != nil {
			return nil, fmt.Errorf("%s --version: %w", path, err)
		}
		return &compiler{"nvcc " + string(version), func(source, arch string) ([]byte, error) {
			return compileWith([]string{path, "-std=c++17", "-arch={arch}", "-cubin", "-o", "{out}", "{in}"}, source, arch)
		}}, nil
	}
	if dir := os.Getenv(aheadVariable); dir != "" {
		return &compiler{"none", func(string, string) ([]byte, error) {
			return nil, fmt.Errorf("%s has no code for it, and there is no compiler of device code: want NVRTC or nvcc", dir)
		}}, nil
	}
	return nil, fmt.Errorf("there is no compiler of device code: want the library NVRTC or the program nvcc, which the CUDA toolkit has (for Debian: nvidia-cuda-toolkit), or a command in %s", compilerVariable)
}

// commandCompiler returns the compiler that a command runs.
func commandCompiler(command string) (*compiler, error) {
	args := strings.Fields(command)
	if !strings.Contains(command, "{in}") || !strings.Contains(command, "{out}") {
		return nil, fmt.Errorf("%s: want a command with {in} and {out}, got %q", compilerVariable, command)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", compilerVariable, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", compilerVariable, err)
	}
	name := fmt.Sprintln(command, path, info.Size(), info.ModTime().UnixNano())
	return &compiler{name, func(source, arch string) ([]byte, error) { return compileWith(args, source, arch) }}, nil
}

// compileWith runs a command that compiles.
func compileWith(command []string, source, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "opgen-cuda")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "plan.cu"), filepath.Join(dir, "plan.image")
	if err := os.WriteFile(in, []byte(source), 0o600); err != nil {
		return nil, err
	}
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = strings.NewReplacer("{in}", in, "{out}", out, "{arch}", arch).Replace(a)
	}
	if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", args[0], err, bytes.TrimSpace(text))
	}
	return os.ReadFile(out)
}

// images holds what this process has compiled or read, by key.
var images sync.Map

// image returns the code of a source for an architecture, and keeps the source if a folder is there for
// sources.
func (c *compiler) image(source, arch string) ([]byte, error) {
	image, err := c.find(source, arch)
	if dir := os.Getenv(sourcesVariable); dir != "" && err == nil {
		err = ahead.Keep(dir, source)
	}
	return image, err
}

// find returns the code of a source for an architecture. It is compiled once, and kept in a folder.
func (c *compiler) find(source, arch string) ([]byte, error) {
	if dir := os.Getenv(aheadVariable); dir != "" {
		if image := ahead.Find(dir, source, arch); image != nil {
			return image, nil
		}
	}
	sum := sha256.Sum256([]byte(c.name + "\x00" + arch + "\x00" + source))
	key := hex.EncodeToString(sum[:])
	if v, ok := images.Load(key); ok {
		return v.([]byte), nil
	}
	image := load(key)
	if image == nil {
		var err error
		if image, err = c.compile(source, arch); err != nil {
			return nil, fmt.Errorf("compiling device code for %s: %w", arch, err)
		}
		_ = store(key, image) // which only saves time
	}
	images.Store(key, image)
	return image, nil
}

// cacheFile returns the file of a key.
func cacheFile(key string) (string, error) {
	dir := os.Getenv(cacheVariable)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "opgen", "cuda")
	}
	return filepath.Join(dir, key), nil
}

// load returns the image of a key; nil if there is none, or if its file is damaged. A file holds the checksum
// of the image and the image.
func load(key string) []byte {
	path, err := cacheFile(key)
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) <= sha256.Size {
		return nil
	}
	if sum := sha256.Sum256(data[sha256.Size:]); !bytes.Equal(sum[:], data[:sha256.Size]) {
		return nil
	}
	return data[sha256.Size:]
}

// store writes the image of a key. Readers see all of the file or nothing.
func store(key string, image []byte) error {
	path, err := cacheFile(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	sum := sha256.Sum256(image)
	return ahead.Write(path, append(sum[:], image...))
}

// unitsSource returns the source of units, each once. Messages of the compiler name the operator and the task
// of a unit.
func unitsSource(bindings []*binding) string {
	var s strings.Builder
	s.WriteString(gpu.Prelude)
	seen := map[string]bool{}
	for _, b := range bindings {
		if !seen[b.unit.Source] {
			seen[b.unit.Source] = true
			fmt.Fprintf(&s, "\n#line 1 %q\n%s\n", b.call.Signature.Name(), b.unit.Source)
		}
	}
	return s.String()
}
