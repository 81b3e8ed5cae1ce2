package sched

import (
	"sort"

	"github.com/opgen/opgen/runtime/schedule"
)

// makespan estimates how long the schedule takes, including signals and waits.
func makespan(s *schedule.Schedule, a *assigner) float64 {
	W := s.Workers()
	clock := make([]float64, W)
	at := make([]int, W)
	type signaled struct {
		at   int32
		when float64
	}
	signals := make([][]signaled, W)
	shared := map[int]float64{} // when a shared task is done
	joined := map[int]int{}     // workers that have reached it
	for moved := true; moved; {
		moved = false
		for w := range W {
			for at[w] < len(s.Queues[w]) {
				kind, n := s.Queues[w][at[w]].Decode()
				ready := true
				switch kind {
				case schedule.Run:
					clock[w] += a.cost(n)
				case schedule.Signal:
					clock[w] += signalCost
					signals[w] = append(signals[w], signaled{int32(at[w] + 1), clock[w]})
				case schedule.WaitFor:
					list := signals[s.Waits[n].Worker]
					i := sort.Search(len(list), func(i int) bool { return list[i].at >= s.Waits[n].Position })
					if ready = i < len(list); ready {
						clock[w] = max(clock[w], list[i].when+a.latency) + waitCost
					}
				case schedule.Share:
					joined[n]++
					clock[w] += a.cost(n) / float64(W)
					shared[n] = max(shared[n], clock[w])
				case schedule.WaitShared:
					if ready = joined[n] == W; ready {
						clock[w] = max(clock[w], shared[n]+a.latency) + waitCost
					}
				}
				if !ready {
					break
				}
				at[w]++
				moved = true
			}
		}
	}
	var end float64
	for _, c := range clock {
		end = max(end, c)
	}
	return end
}
