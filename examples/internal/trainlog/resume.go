package trainlog

import (
	"fmt"
	"io"

	"github.com/opgen/opgen"
)

// Resume returns where a training of so many steps begins: after the newest checkpoint, if it is to go on, or
// at the first step. Variables become those of the checkpoint. It is an error if the checkpoint has other
// values of the fixed options. If the training is not to go on, checkpoints of another training are an error,
// so that they are not lost. Without a folder there are no checkpoints.
func Resume(w io.Writer, s *opgen.Session, checkpoints opgen.Checkpoints, resume bool, fixed map[string]string, steps int) (at opgen.Position, err error) {
	if checkpoints.Dir == "" {
		return at, nil
	}
	if !resume {
		old, err := checkpoints.Steps()
		if err == nil && len(old) > 0 {
			err = fmt.Errorf("%s has a checkpoint of step %d: go on from it with -resume, or give another folder", checkpoints.Dir, old[0])
		}
		return at, err
	}
	if at, err = checkpoints.Resume(s); err != nil || at.Step == 0 {
		return at, err
	}
	if err := at.Differs(fixed); err != nil {
		return at, err
	}
	if at.Damaged != nil {
		fmt.Fprintln(w, at.Damaged)
	}
	fmt.Fprintf(w, "going on after step %d of %d\n", at.Step, steps)
	return at, nil
}
