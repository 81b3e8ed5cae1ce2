package main

import "math"

// use is an operator at a size of models, and the same with PyTorch.
type use struct {
	name   string // of the row, where operator is not enough
	op     string
	attrs  string
	shapes map[string][]int
	// least is the least number in tensors; the greatest is 1.
	least float64
	// setup is Python code that runs once, with the tensors under the names of their slots.
	setup string
	// torch is the Python expression whose value is the output, or a list of outputs.
	torch string
	// formulas says that the operator is one of test/formulas, and not of the catalogue.
	formulas bool
	// fill returns the elements of slots, where random ones between least and 1 are not such as the operator
	// is for: each from its number and the random one.
	fill map[string]func(i int, drawn float64) float64
	// unequal says that the outputs are not the same, as those of random numbers.
	unequal bool
}

const mi = 1 << 20

func shape(dims ...int) []int { return dims }

func one(name string, dims ...int) map[string][]int { return map[string][]int{name: dims} }

// uses are uses of operators that PyTorch has, too. Most tensors have 1 to 4 Mi elements.
var uses = []use{
	unary("RELU", "torch.relu(input)", -1),
	unary("GELU", "F.gelu(input)", -1),
	unary("GELU_TANH", "F.gelu(input, approximate='tanh')", -1),
	unary("SILU", "F.silu(input)", -1),
	unary("SIGMOID", "torch.sigmoid(input)", -1),
	unary("TANH", "torch.tanh(input)", -1),
	unary("EXP", "torch.exp(input)", -1),
	unary("LOG", "torch.log(input)", 0.01),
	unary("SQRT", "torch.sqrt(input)", 0.01),
	unary("RSQRT", "torch.rsqrt(input)", 0.01),
	unary("SIN", "torch.sin(input)", -1),
	unary("ELU", "F.elu(input)", -1),
	unary("LEAKYRELU", "F.leaky_relu(input)", -1),
	pairwise("EW_ADD", "lhs_input + rhs_input"),
	pairwise("EW_MUL", "lhs_input * rhs_input"),
	pairwise("EW_DIV", "lhs_input / rhs_input"),
	pairwise("EW_MAX", "torch.maximum(lhs_input, rhs_input)"),
	{name: "element_binary EW_ADD, a row to all", op: "element_binary", attrs: `{"type": "EW_ADD"}`,
		shapes: map[string][]int{"lhs_input": shape(4096, 1024), "rhs_input": shape(1024)}, least: -1, torch: "lhs_input + rhs_input"},
	{op: "where", attrs: `{}`, shapes: map[string][]int{"condition": shape(mi), "lhs": shape(mi), "rhs": shape(mi)}, least: -1, torch: "torch.where(condition, lhs, rhs)"},
	{op: "prelu", attrs: `{"num_parameters": 64}`, shapes: one("input", 32, 64, 32, 32), least: -1, torch: "F.prelu(input, weight)"},
	{op: "cast", attrs: `{"dtype": "f64"}`, shapes: one("input", mi), least: -1, torch: "input.double()"},
	{op: "layer_norm", attrs: `{"axes": [1]}`, shapes: one("input", 4096, 1024), least: -1, torch: "F.layer_norm(input, (1024,), gamma, beta)"},
	{name: "layer_norm, rows of 256", op: "layer_norm", attrs: `{"axes": [1]}`, shapes: one("input", 8192, 256), least: -1, torch: "F.layer_norm(input, (256,), gamma, beta)"},
	{op: "group_norm", attrs: `{"groups": 8}`, shapes: one("input", 32, 64, 32, 32), least: -1, torch: "F.group_norm(input, 8, gamma, beta)"},
	{op: "instance_norm", attrs: `{}`, shapes: one("input", 32, 64, 32, 32), least: -1, torch: "F.instance_norm(input)"},
	{op: "batch_norm", attrs: `{"momentum": 0.1}`, shapes: one("input", 32, 64, 32, 32), least: 0.01,
		torch: "F.batch_norm(input, running_mean, running_var, gamma, beta, True, 0.1)"},
	{op: "softmax", attrs: `{"dim": 1}`, shapes: one("input", 4096, 1024), least: -1, torch: "F.softmax(input, 1)"},
	{name: "softmax, columns", op: "softmax", attrs: `{"dim": 1}`, shapes: one("input", 64, 1024, 64), least: -1, torch: "F.softmax(input, 1)"},
	{op: "log_softmax", attrs: `{"dim": 1}`, shapes: one("input", 4096, 1024), least: -1, torch: "F.log_softmax(input, 1)"},
	{name: "reduce REDUCE_SUM, rows", op: "reduce", attrs: `{"op_type": "REDUCE_SUM", "axes": [1]}`, shapes: one("input", 4096, 1024), least: -1, torch: "input.sum(1)"},
	{name: "reduce REDUCE_SUM, columns", op: "reduce", attrs: `{"op_type": "REDUCE_SUM", "axes": [0]}`, shapes: one("input", 4096, 1024), least: -1, torch: "input.sum(0)"},
	{name: "reduce REDUCE_MAX, rows", op: "reduce", attrs: `{"op_type": "REDUCE_MAX", "axes": [1]}`, shapes: one("input", 4096, 1024), least: -1, torch: "input.amax(1)"},
	{op: "reduce_arg", attrs: `{"op_type": "REDUCE_ARGMAX", "axes": [1]}`, shapes: one("input", 4096, 1024), least: -1, torch: "input.argmax(1)"},
	{op: "cumsum", attrs: `{}`, shapes: one("input", 1024, 1024), least: -1, torch: "input.cumsum(-1)"},
	{op: "transpose", attrs: `{"permutation": [1, 0]}`, shapes: one("input", 2048, 2048), least: -1, torch: "input.t().contiguous()"},
	{op: "concat", attrs: `{"axis": 1}`, shapes: map[string][]int{"input.0": shape(2048, 1024), "input.1": shape(2048, 1024)}, least: -1, torch: "torch.cat((input_0, input_1), 1)"},
	{op: "split", attrs: `{"axis": 1, "splits": [1024, 1024]}`, shapes: one("input", 2048, 2048), least: -1, torch: "[x.contiguous() for x in input.split(1024, 1)]"},
	{op: "reverse", attrs: `{"axis": 1}`, shapes: one("input", 1024, 1024), least: -1, torch: "input.flip(1)"},
	{op: "upsample", attrs: `{"factor": 2}`, shapes: one("input", 16, 32, 32, 32), least: -1, torch: "F.interpolate(input, scale_factor=2, mode='nearest')"},
	{name: "unfold 3x3, stride 2", op: "unfold", attrs: `{"kernel": [3, 3], "stride": [2, 2], "padding": [1, 1]}`, shapes: one("input", 8, 32, 56, 56), least: -1, torch: "F.unfold(input, 3, padding=1, stride=2)"},
	{op: "rope", attrs: `{}`, shapes: one("input", 8, 512, 128), least: -1, torch: "rope(input)"},
	{op: "embedding", attrs: `{"num_entries": 32000, "out_channels": 512}`, shapes: one("input", 8, 512), least: -1, torch: "F.embedding(input, weight)"},
	{op: "embedding_bag", attrs: `{"num_entries": 32000, "out_dim": 256, "mode": "SUM"}`, shapes: one("index", 1024, 16), least: -1, torch: "F.embedding_bag(index, weight, mode='sum')"},
	{op: "gather", attrs: `{"dim": 1}`, shapes: map[string][]int{"input": shape(1024, 1024), "index": shape(1024, 1024)}, least: -1, torch: "input.gather(1, index)"},
	{name: "scatter ADD", op: "scatter", attrs: `{"dim": 1, "reduction": "ADD"}`, shapes: map[string][]int{"input": shape(1024, 1024), "index": shape(1024, 1024), "updates": shape(1024, 1024)},
		least: -1, torch: "input.scatter_add(1, index, updates)"},
	{op: "topk", attrs: `{"k": 8}`, shapes: one("input", 1024, 1024), least: -1, torch: "torch.topk(input, 8)[0]"},
	{op: "mean_squared_error", attrs: `{}`, shapes: map[string][]int{"logit": shape(4096, 1024), "label": shape(4096, 1024)}, least: -1, torch: "F.mse_loss(logit, label)"},
	{op: "huber", attrs: `{"loss_type": "HUBER"}`, shapes: map[string][]int{"logit": shape(4096, 1024), "label": shape(4096, 1024)}, least: -1, torch: "F.huber_loss(logit, label)"},
	{op: "bce_with_logits", attrs: `{}`, shapes: map[string][]int{"logit": shape(mi), "label": shape(mi)}, torch: "F.binary_cross_entropy_with_logits(logit, label)"},
	{op: "sparse_categorical_crossentropy", attrs: `{}`, shapes: map[string][]int{"logit": shape(4096, 1024), "label": shape(4096, 1)}, least: -1, torch: "F.cross_entropy(logit, label.flatten().long())"},
	{op: "adam", attrs: `{}`, shapes: map[string][]int{"weight": shape(4 * mi), "grad": shape(4 * mi)}, unequal: true,
		setup: "weight.grad = grad; optimizer = torch.optim.Adam([weight])", torch: "optimizer.step()"},
	{op: "sgd", attrs: `{"lr": 0.1, "momentum": 0.9}`, shapes: map[string][]int{"weight": shape(4 * mi), "grad": shape(4 * mi)}, unequal: true,
		setup: "weight.grad = grad; optimizer = torch.optim.SGD([weight], 0.1, 0.9)", torch: "optimizer.step()"},
	{op: "dropout", attrs: `{"rate": 0.1}`, shapes: one("input", mi), least: -1, unequal: true, torch: "F.dropout(input, 0.1)"},
	{op: "normal", attrs: `{"seed": 1}`, shapes: one("tensor", mi), unequal: true, torch: "torch.randn(1 << 20)"},
	{name: "pool_2d MAX 2x2", op: "pool_2d", attrs: `{"pool_type": "MAX", "kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2}`, shapes: one("input", 16, 32, 64, 64), least: -1, torch: "F.max_pool2d(input, 2)"},
	{name: "pool_2d AVG 2x2", op: "pool_2d", attrs: `{"pool_type": "AVG", "kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2}`, shapes: one("input", 16, 32, 64, 64), least: -1, torch: "F.avg_pool2d(input, 2)"},
	{name: "conv_2d 3x3", op: "conv_2d", attrs: `{"out_channels": 64, "kernel_h": 3, "kernel_w": 3, "padding_h": 1, "padding_w": 1}`, shapes: one("input", 8, 64, 56, 56), least: -1, torch: "F.conv2d(input, filter, bias, padding=1)"},
	{name: "conv_2d 1x1", op: "conv_2d", attrs: `{"out_channels": 64, "kernel_h": 1, "kernel_w": 1}`, shapes: one("input", 8, 64, 56, 56), least: -1, torch: "F.conv2d(input, filter, bias)"},
	{name: "conv_2d 3x3, small", op: "conv_2d", attrs: `{"out_channels": 32, "kernel_h": 3, "kernel_w": 3, "padding_h": 1, "padding_w": 1}`, shapes: one("input", 32, 16, 8, 8), least: -1, torch: "F.conv2d(input, filter, bias, padding=1)"},
	{op: "conv_transpose_2d", attrs: `{"out_channels": 64, "kernel_h": 4, "kernel_w": 4, "stride_h": 2, "stride_w": 2, "padding_h": 1, "padding_w": 1}`, shapes: one("input", 8, 64, 32, 32), least: -1,
		torch: "F.conv_transpose2d(input, filter, bias, stride=2, padding=1)"},
	{op: "linear", attrs: `{"out_channels": 1024}`, shapes: one("input", 1024, 1024), least: -1, torch: "F.linear(input, weight, bias)"},
	{name: "linear, 8 rows", op: "linear", attrs: `{"out_channels": 1024}`, shapes: one("input", 8, 1024), least: -1, torch: "F.linear(input, weight, bias)"},
	{name: "linear GELU", op: "linear", attrs: `{"out_channels": 2048, "activation": "GELU"}`, shapes: one("input", 512, 512), least: -1, torch: "F.gelu(F.linear(input, weight, bias))"},
	{op: "batch_matmul", attrs: `{}`, shapes: map[string][]int{"lhs_input": shape(16, 256, 256), "rhs_input": shape(16, 256, 256)}, least: -1, torch: "torch.bmm(lhs_input, rhs_input)"},
	{name: "einsum bqhd,bkhd->bhqk", op: "einsum", attrs: `{"equation": "bqhd,bkhd->bhqk"}`, shapes: map[string][]int{"input.0": shape(8, 256, 8, 64), "input.1": shape(8, 256, 8, 64)}, least: -1,
		torch: "torch.einsum('bqhd,bkhd->bhqk', input_0, input_1)"},
	{op: "lstm_cell", attrs: `{"hidden_size": 512}`, shapes: map[string][]int{"input": shape(64, 512), "hidden": shape(64, 512), "cell": shape(64, 512)}, least: -1,
		torch: "list(torch._VF.lstm_cell(input, (hidden, cell), weight_ih, weight_hh, bias_ih, bias_hh))"},
	{op: "multihead_attention", attrs: `{"embed_dim": 512, "num_heads": 8}`, shapes: map[string][]int{"query": shape(8, 128, 512), "key": shape(8, 128, 512), "value": shape(8, 128, 512)}, least: -1,
		torch: "attention(query, key, value, q_proj, k_proj, v_proj, in_proj_bias, out_proj, out_proj_bias, 8)"},
}

func unary(f, torch string, least float64) use {
	return use{name: "element_unary " + f, op: "element_unary", attrs: `{"op_type": "` + f + `"}`, shapes: one("input", 4*mi), least: least, torch: torch}
}

func pairwise(f, torch string) use {
	return use{name: "element_binary " + f, op: "element_binary", attrs: `{"type": "` + f + `"}`,
		shapes: map[string][]int{"lhs_input": shape(4 * mi), "rhs_input": shape(4 * mi)}, least: 0.1, torch: torch}
}

// title returns what a row of the report is called.
func (u *use) title() string {
	if u.name != "" {
		return u.name
	}
	return u.op
}

// products are the extents of square matrices that are multiplied.
var products = []int{64, 256, 512, 1024, 2048}

// geometricMean returns the geometric mean of numbers.
func geometricMean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(x)))
}
