package verify

import (
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
)

// checkDevices checks that roots lie in the memory of their devices, and that tasks access only those of
// their own device, unless they are copies or collectives.
func (c checker) checkDevices() *plan.Error {
	if c.Devices < 0 || c.Devices == 1 || c.ArenaBytes%int64(c.DeviceCount()) != 0 || c.DeviceBytes()%plan.Align != 0 && c.Devices > 1 {
		return c.Errorf("want 0 for one device, or several with equal parts of the arena, got %d and %d bytes", c.Devices, c.ArenaBytes)
	}
	for i := range c.Roots {
		r := &c.Roots[i]
		if !c.exists(r.Device) {
			return c.RootErrorf(region.Root(i), "want devices from 0 to %d, got %d", c.DeviceCount()-1, r.Device)
		}
		lo := int64(r.Device) * c.DeviceBytes()
		if r.Use != plan.Variable && r.First <= r.Last && (r.Place.Off < lo || r.Place.Off+r.Place.Bytes > lo+c.DeviceBytes()) {
			return c.RootErrorf(region.Root(i), "want a place within device %d, from %d to %d, got %d bytes at %d", r.Device, lo, lo+c.DeviceBytes(), r.Place.Bytes, r.Place.Off)
		}
	}
	for t := range c.Tasks {
		if err := c.checkDevice(t); err != nil {
			return err
		}
	}
	return c.checkStates()
}

// checkDevice checks the device of a task.
func (c checker) checkDevice(t int) *plan.Error {
	task := &c.Tasks[t]
	if !c.exists(task.Device) {
		return c.TaskErrorf(t, "want devices from 0 to %d, got %d", c.DeviceCount()-1, task.Device)
	}
	parts := c.Tasks[t : t+1]
	if task.Group != nil {
		parts = task.Group.Parts
	}
	for i := range parts {
		part := &parts[i]
		switch {
		case part.Device != task.Device || part.Builtin == nil && c.Calls[part.Call].Device != task.Device:
			return c.TaskErrorf(t, "want calls and parts on device %d, got another", task.Device)
		case part.Crosses():
			if err := c.checkCrossing(t, part); err != nil {
				return err
			}
			continue
		case part.Builtin == nil:
			for _, bound := range c.Calls[part.Call].Params {
				for _, b := range bound {
					if b.Root != plan.NoRoot && c.Roots[b.Root].Device != task.Device {
						return c.foreign(t, b.Root)
					}
				}
			}
		}
		for k := range part.Access {
			if r := part.Access[k].Root; c.Roots[r].Device != task.Device {
				return c.foreign(t, r)
			}
		}
	}
	return nil
}

// checkCrossing checks a copy or a collective. A copy writes the first of two tensors of one type and size,
// and accesses both as a whole. A collective writes equally many elements of tensors of one type, which
// follow each other, and has each tensor once.
func (c checker) checkCrossing(t int, part *plan.Task) *plan.Error {
	copies := part.Builtin.Op == "copy"
	ok := !part.Elementwise && c.Tasks[t].Group == nil && (!copies || len(part.Access) == 2)
	seen := map[region.Root]bool{}
	for i := range part.Access {
		a := &part.Access[i]
		r, first := &c.Roots[a.Root], &c.Roots[part.Access[0].Root]
		want := perm.ReadWrite
		if copies {
			want = []perm.Perm{perm.Write, perm.Read}[min(i, 1)]
		}
		n := shape.Prod(r.Shape)
		if all := c.covers(a); !all && !copies {
			lo, hi, follow := a.Run(r.Shape)
			n, ok = hi-lo, ok && follow
		} else {
			ok = ok && all
		}
		ok = ok && a.Perm == want && !seen[a.Root] && r.Type == first.Type && n == part.Over
		seen[a.Root] = true
	}
	if !ok || c.Roots[part.Access[0].Root].Device != part.Device {
		return c.TaskErrorf(t, "want %s of equally many elements of tensors of one type, the first on device %d, got others", part.Builtin.Op, part.Device)
	}
	return nil
}

// checkStates checks that the calls of a node with state run on the device of its init task.
func (c checker) checkStates() *plan.Error {
	device := map[string]int{}
	for i := range c.States {
		s := &c.States[i]
		if device[s.Node] = s.Init.Device; !c.exists(s.Init.Device) || s.Cleanup != nil && s.Cleanup.Device != s.Init.Device {
			return c.Errorf("want the state of node %s on one device from 0 to %d, got device %d", s.Node, c.DeviceCount()-1, s.Init.Device)
		}
	}
	for i := range c.Calls {
		call := &c.Calls[i]
		if d, ok := device[call.Node]; ok && d != call.Device {
			return c.Errorf("want calls of node %s on device %d, which has its state, got device %d", call.Node, d, call.Device)
		}
	}
	return nil
}

func (c checker) foreign(t int, r region.Root) *plan.Error {
	err := c.TaskErrorf(t, "want tensors on device %d, got one on device %d", c.Tasks[t].Device, c.Roots[r].Device)
	err.Root = c.Roots[r].Name
	return err
}

// exists reports whether the plan has a device of that number.
func (c checker) exists(device int) bool { return device >= 0 && device < c.DeviceCount() }
