package main

import "math"

// formulaUses are uses of formulas that go over steps, read at computed places, search or repeat. Those which
// the catalogue does not have are formulas of test/formulas. What PyTorch has no operator for is a function
// of programs/formulas.py.
var formulaUses = []use{
	{name: "ctc_loss, 200 steps of 16, 30 labels of 64", op: "ctc_loss", attrs: `{}`, shapes: map[string][]int{"input": shape(200, 16, 64), "target": shape(16, 30), "samples": shape(16), "labels": shape(16)},
		least: -1, fill: map[string]func(int, float64) float64{"target": atLeast(1), "samples": always(200), "labels": always(30)},
		torch: "F.ctc_loss(input, target, samples, labels, reduction='none')"},
	{name: "selective_scan, 256 steps of 4 x 128 x 16", op: "selective_scan", attrs: `{}`,
		shapes: map[string][]int{"input": shape(4, 256, 128), "delta": shape(4, 256, 128), "rate": shape(128, 16), "enter": shape(4, 256, 16), "leave": shape(4, 256, 16), "skip": shape(128)},
		fill:   map[string]func(int, float64) float64{"rate": times(-1)}, torch: "selective_scan(input, delta, rate, enter, leave, skip)"},
	{name: "wkv, 256 steps of 8 x 256", op: "wkv", attrs: `{}`, shapes: map[string][]int{"key": shape(256, 8, 256), "value": shape(256, 8, 256), "decay": shape(256), "bonus": shape(256)},
		torch: "wkv(key, value, decay, bonus)"},
	{name: "gru, 64 steps of 32 x 128", op: "gru", attrs: `{"hidden_size": 128}`, shapes: map[string][]int{"input": shape(64, 32, 128), "hidden": shape(32, 128)}, least: -1,
		torch: "list(torch._VF.gru(input, hidden[None], [weight_ih, weight_hh, bias_ih, bias_hh], True, 1, 0.0, True, False, False))"},
	{name: "lstm, 64 steps of 32 x 128", op: "lstm", attrs: `{"hidden_size": 128}`, shapes: map[string][]int{"input": shape(64, 32, 128), "hidden": shape(32, 128), "cell": shape(32, 128)}, least: -1,
		torch: "list(torch._VF.lstm(input, (hidden[None], cell[None]), [weight_ih, weight_hh, bias_ih, bias_hh], True, 1, 0.0, True, False, False))"},
	{name: "viterbi, 256 steps of 32 x 32", op: "viterbi", attrs: `{}`, shapes: map[string][]int{"input": shape(256, 32, 32), "transition": shape(32, 32)}, least: -1,
		torch: "viterbi(input, transition)"},
	{name: "retention, 128 steps of 2 x 4 x 32 x 32", op: "retention", formulas: true, attrs: `{}`,
		shapes: map[string][]int{"query": shape(2, 4, 128, 32), "key": shape(2, 4, 128, 32), "value": shape(2, 4, 128, 32), "gamma": shape(4)}, least: 0.5, torch: "retention(query, key, value, gamma)"},
	{name: "delta_rule, 128 steps of 8 x 32 x 32", op: "delta_rule", formulas: true, attrs: `{}`,
		shapes: map[string][]int{"query": shape(8, 128, 32), "key": shape(8, 128, 32), "value": shape(8, 128, 32), "beta": shape(8, 128)},
		fill:   map[string]func(int, float64) float64{"key": times(0.2)}, torch: "delta_rule(query, key, value, beta)"},
	{name: "mlstm, 128 steps of 8 x 32 x 32", op: "mlstm", formulas: true, attrs: `{}`,
		shapes: map[string][]int{"query": shape(8, 128, 32), "key": shape(8, 128, 32), "value": shape(8, 128, 32), "enter": shape(8, 128), "keep": shape(8, 128)},
		fill:   map[string]func(int, float64) float64{"keep": times(-1)}, torch: "mlstm(query, key, value, enter, keep)"},
	{name: "forward_backward, 128 steps of 16 x 32", op: "forward_backward", formulas: true, attrs: `{}`, shapes: map[string][]int{"input": shape(16, 128, 32), "transition": shape(32, 32)}, least: -1,
		torch: "forward_backward(input, transition)"},
	{name: "newton_schulz (Muon), 5 steps of 4 x 256 x 256", op: "newton_schulz", formulas: true, attrs: `{}`, shapes: one("input", 4, 256, 256), least: -1, torch: "newton_schulz(input)"},
	{name: "sinkhorn, 10 rounds of 16 x 128 x 128", op: "sinkhorn", formulas: true, attrs: `{"rounds": 10}`, shapes: one("cost", 16, 128, 128), least: -1, torch: "sinkhorn(cost, 10)"},
	{name: "spectral_norm, 5 steps of 1024 x 1024", op: "spectral_norm", formulas: true, attrs: `{"steps": 5}`, shapes: map[string][]int{"weight": shape(1024, 1024), "start": shape(1024)}, least: -1,
		torch: "spectral_norm(weight, start, 5)"},
	{name: "grid_sample", op: "grid_sample", attrs: `{}`, shapes: map[string][]int{"input": shape(8, 32, 64, 64), "grid": shape(8, 64, 64, 2)}, least: -1,
		torch: "F.grid_sample(input, grid, align_corners=False)"},
	{name: "roi_align", op: "roi_align", formulas: true, attrs: `{"height": 7, "width": 7}`, shapes: map[string][]int{"input": shape(4, 64, 64, 64), "boxes": shape(128, 4), "image": shape(128)},
		least: -1, fill: map[string]func(int, float64) float64{"boxes": corners(64)}, torch: "roi_align(input, boxes, image, 7, 7, 2)"},
	{name: "deformable", op: "deformable", formulas: true, attrs: `{"padding": 1}`, shapes: map[string][]int{"input": shape(4, 32, 32, 32), "offset": shape(4, 18, 32, 32), "weight": shape(32, 32, 3, 3)},
		least: -1, torch: "deformable(input, offset, weight, 1)"},
	{name: "graph_attention, 65536 edges, 4096 nodes", op: "graph_attention", formulas: true, attrs: `{}`,
		shapes: map[string][]int{"input": shape(4096, 4, 16), "leave": shape(4, 16), "enter": shape(4, 16), "source": shape(1 << 16), "sink": shape(1 << 16)},
		least:  -1, torch: "graph_attention(input, leave, enter, source, sink)"},
	{name: "nms, 500 boxes", op: "nms", formulas: true, attrs: `{"threshold": 0.5}`, shapes: map[string][]int{"boxes": shape(500, 4), "score": shape(500)},
		fill: map[string]func(int, float64) float64{"boxes": corners(64)}, torch: "nms(boxes, score, 0.5)"},
	{name: "top_p, rows of 1024", op: "top_p", formulas: true, attrs: `{"p": 0.7}`, shapes: one("logit", 512, 1024), least: -1,
		fill: map[string]func(int, float64) float64{"logit": times(5)}, torch: "top_p(logit, 0.7)"},
	{name: "kan, 512 x 64 to 64, 8 splines", op: "kan", formulas: true, attrs: `{"cells": 5}`, shapes: map[string][]int{"input": shape(512, 64), "weight": shape(64, 64, 8)}, least: -1,
		torch: "kan(input, weight, 5, 3)"},
	{name: "histogram, 256 bins", op: "histogram", formulas: true, attrs: `{"bins": 256, "low": -1.0, "high": 1.0}`, shapes: one("input", mi), least: -1, torch: "torch.histc(input, 256, -1, 1)"},
	{name: "searchsorted in 65536", op: "searchsorted", formulas: true, attrs: `{}`, shapes: map[string][]int{"sorted": shape(1 << 16), "value": shape(mi / 4)}, least: -1,
		fill: map[string]func(int, float64) float64{"sorted": func(i int, _ float64) float64 { return float64(i)/(1<<15) - 1 }}, torch: "torch.searchsorted(sorted, value)"},
	{name: "roll", op: "roll", formulas: true, attrs: `{"shift": 300}`, shapes: one("input", 1024, 1024), least: -1, torch: "torch.roll(input, 300, 1)"},
}

func times(factor float64) func(int, float64) float64 {
	return func(_ int, drawn float64) float64 { return factor * drawn }
}

func always(x float64) func(int, float64) float64 {
	return func(int, float64) float64 { return x }
}

func atLeast(x float64) func(int, float64) float64 {
	return func(_ int, drawn float64) float64 { return max(x, drawn) }
}

// corners makes boxes (x, y, x, y) of images of a size: the first corner lies in the first half of each side
// and the second one in the other half.
func corners(size float64) func(int, float64) float64 {
	return func(i int, drawn float64) float64 {
		return size/2*math.Abs(drawn) + size/2*float64(i%4/2)
	}
}
