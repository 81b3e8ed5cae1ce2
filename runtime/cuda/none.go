//go:build !cuda

package cuda

import (
	"errors"

	"github.com/opgen/opgen/runtime/engine"
)

// New returns an error, since the program was built without the tag cuda.
func New(Config) (engine.Backend, error) {
	return nil, errors.New("cuda: this program was built without it: build it with CGO_ENABLED=1 go build -tags cuda, where the CUDA toolkit (for Debian: nvidia-cuda-toolkit) and a C compiler are installed")
}
