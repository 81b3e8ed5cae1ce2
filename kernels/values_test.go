package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/optest"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

// TestValues compares results and gradients with values that were computed by hand. Most cases are edges that
// central differences cannot check, such as ties, NaN and padding. The gradients of outputs are 1.
func TestValues(t *testing.T) {
	tests := []struct {
		op, attrs string
		inputs    []input
		want      []float64 // the first output
		grad      []float64 // of the first input; nil if it is not checked
	}{
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 2}`, in(d(1, 1, 1, 4), 3, 3, 1, 2), []float64{3, 3, 2}, []float64{1, 1, 0, 1}}, // of equal maxima, the first has the gradient
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 2}`, in(d(1, 1, 1, 3), nan, 5, nan), []float64{nan, nan}, []float64{1, 0, 1}},
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 2, "padding_w": 1}`, in(d(1, 1, 1, 2), -3, -5), []float64{-3, -3, -5}, []float64{2, 1}}, // padding is no maximum
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 2}`, in(d(1, 1, 1, 2), -inf, -inf), []float64{-inf}, []float64{1, 0}},
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 2, "padding_w": 1, "pool_type": "AVG"}`, in(d(1, 1, 1, 2), 4, 8), []float64{4, 6, 8}, []float64{1.5, 1.5}},
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 2, "padding_w": 1, "pool_type": "AVG", "count_include_pad": true}`, in(d(1, 1, 1, 2), 4, 8), []float64{2, 6, 4}, []float64{1, 1}},
		{"pool_2d", `{"kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2, "pool_type": "AVG"}`, in(d(1, 1, 2, 3), 1, 2, 9, 3, 6, 9), []float64{3}, []float64{0.25, 0.25, 0, 0.25, 0.25, 0}},
		{"conv_2d", `{"out_channels": 1, "kernel_h": 1, "kernel_w": 2, "padding_w": 1, "stride_w": 2, "use_bias": false}`, append(in(d(1, 1, 1, 3), 1, 2, 4), weight("filter", 10, 100)), []float64{100, 420}, []float64{100, 10, 100}},
		{"linear", `{"out_channels": 2}`, append(in(d(1, 2), 1, 2), weight("weight", 1, 10, 100, 1000), weight("bias", 3, 4)), []float64{24, 2104}, []float64{101, 1010}},
		{"dropout", `{"rate": 0.5, "training": false}`, in(d(3), 1, 2, 3), []float64{1, 2, 3}, []float64{1, 1, 1}},
		{"dropout", `{"rate": 1.0}`, in(d(3), 1, 2, 3), []float64{0, 0, 0}, []float64{0, 0, 0}},
		{"dropout", `{"rate": 0.0}`, in(d(3), 1, 2, 3), []float64{1, 2, 3}, []float64{1, 1, 1}},
		{"dropout", `{"rate": 0.75}`, append(in(d(3), 1, 2, 3), input{dims: []int{3}, typ: dtype.Bool, data: []float64{1, 0, 1}}), []float64{4, 0, 12}, []float64{4, 0, 4}},
		{"dropout", `{"rate": 0.75, "training": false}`, append(in(d(2), 1, 2), input{dims: []int{2}, typ: dtype.Bool, data: []float64{1, 0}}), []float64{1, 2}, []float64{1, 1}},
		{"element_unary", `{"op_type": "ROUND"}`, in(d(6), -2.5, -1.5, -0.5, 0.5, 1.5, 2.4), []float64{-2, -2, 0, 0, 2, 2}, []float64{0, 0, 0, 0, 0, 0}},
		{"element_unary", `{"op_type": "CEIL"}`, in(d(3), -1.5, 1, 1.5), []float64{-1, 1, 2}, []float64{0, 0, 0}},
		{"element_unary", `{"op_type": "SCALAR_FLOOR_DIV", "scalar": 2}`, in(d(4), -3, -2, 3, 4), []float64{-2, -1, 1, 2}, []float64{0, 0, 0, 0}},
		{"element_unary", `{"op_type": "RELU"}`, in(d(3), -1, 0, 1), []float64{0, 0, 1}, []float64{0, 0, 1}},
		{"element_unary", `{"op_type": "RELU"}`, in(d(1), nan), []float64{nan}, []float64{1}},
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 1, "activation": "RELU"}`, in(d(1, 1, 1, 3), nan, -1, inf), []float64{nan, 0, inf}, []float64{1, 0, 1}},
		{"pool_2d", `{"kernel_h": 1, "kernel_w": 1, "pool_type": "AVG", "activation": "GELU"}`, in(d(1, 1, 1, 3), nan, -inf, inf), []float64{nan, nan, inf}, []float64{nan, nan, nan}},
		{"adaptive_pool_2d", `{"output_h": 1, "output_w": 2, "activation": "RELU"}`, in(d(1, 1, 1, 2), nan, -1), []float64{nan, 0}, []float64{1, 0}},
		{"conv_2d", `{"out_channels": 1, "kernel_h": 1, "kernel_w": 1, "use_bias": false, "activation": "RELU"}`, append(in(d(1, 1, 1, 3), nan, -1, 2), weight("filter", 3)), []float64{nan, 0, 6}, []float64{3, 0, 3}},
		{"linear", `{"out_channels": 1, "use_bias": false, "activation": "RELU"}`, append(in(d(3, 1), nan, -1, 2), weight("weight", 3)), []float64{nan, 0, 6}, []float64{3, 0, 3}},
		{"element_unary", `{"op_type": "GELU"}`, in(d(3), nan, -inf, inf), []float64{nan, nan, inf}, []float64{nan, nan, nan}},
		{"element_unary", `{"op_type": "POW", "scalar": 0.5}`, in(d(4), -inf, -1, math.Copysign(0, -1), 4), []float64{inf, nan, 0, 2}, []float64{0, nan, inf, 0.25}},
		{"element_unary", `{"op_type": "LEAKYRELU"}`, in(d(3), -1, 0, 1), []float64{-0.01, 0, 1}, []float64{0.01, 0.01, 1}},
		{"element_unary", `{"op_type": "GELU"}`, in(d(3), -100, 0, 100), []float64{0, 0, 100}, []float64{0, 0.5, 1}},
		{"element_unary", `{"op_type": "GELU_TANH"}`, in(d(3), -100, 0, 100), []float64{0, 0, 100}, []float64{0, 0.5, 1}},
		{"element_unary", `{"op_type": "GELU_TANH"}`, in(d(1), 1e50), []float64{1e50}, []float64{1}},
		{"element_unary", `{"op_type": "SIGMOID"}`, in(d(3), -1000, 0, 1000), []float64{0, 0.5, 1}, []float64{0, 0.25, 0}},
		{"element_unary", `{"op_type": "SILU"}`, in(d(3), -1000, 0, 1000), []float64{0, 0, 1000}, []float64{0, 0.5, 1}},
		{"element_unary", `{"op_type": "POW", "scalar": 0}`, in(d(2), 0, 3), []float64{1, 1}, []float64{0, 0}},
		{"element_unary", `{"op_type": "ELU", "alpha": 2}`, in(d(3), -1000, 0, 1), []float64{-2, 0, 1}, []float64{0, 2, 1}},
		{"element_binary", `{"type": "EW_MAX"}`, append(in(d(3), 1, 2, 3), in(d(3), 3, 2, 1)...), []float64{3, 2, 3}, []float64{0, 0.5, 1}},
		{"element_binary", `{"type": "EW_MIN"}`, append(in(d(3), 1, 2, 3), in(d(3), 3, 2, 1)...), []float64{1, 2, 1}, []float64{1, 0.5, 0}},
		{"element_unary", `{"op_type": "ERFC"}`, in(d(3), 0, 8, -8), []float64{1, 1.1224297172982928e-29, 2}, []float64{-2 / math.Sqrt(math.Pi), -2 / math.Sqrt(math.Pi) * math.Exp(-64), -2 / math.Sqrt(math.Pi) * math.Exp(-64)}},
		{"element_unary", `{"op_type": "LOG"}`, in(d(3), 0x1p-1074, 0x1p-1030, 0), []float64{-1074 * math.Ln2, -1030 * math.Ln2, -inf}, []float64{inf, inf, inf}},
		{"element_function", `{"op_type": "ACOSH"}`, in(d(5), 0.5, 1, 1+0x1p-52, 1e200, math.MaxFloat64), []float64{nan, 0, math.Sqrt(2) * 0x1p-26, math.Ln2 + 200*math.Ln10, math.Ln2 + math.Log(math.MaxFloat64)}, []float64{nan, inf, 0x1p26 / math.Sqrt(2), 1e-200, 1 / math.MaxFloat64}},
		{"element_function", `{"op_type": "HARD_SWISH", "alpha": 0.5, "beta": 0.25}`, in(d(3), -1, 1, 2), []float64{0, 0.75, 2}, []float64{0, 1.25, 1}},
		{"element_test", `{"op_type": "INFINITE"}`, in(d(5), -inf, inf, nan, 0, math.MaxFloat64), []float64{1, 1, 0, 0, 0}, nil},
		{"element_test", `{"op_type": "POSITIVE"}`, in(d(5), -inf, inf, nan, 0, math.MaxFloat64), []float64{0, 1, 0, 0, 0}, nil},
		{"element_test", `{"op_type": "NEGATIVE"}`, in(d(5), -inf, inf, nan, 0, -math.MaxFloat64), []float64{1, 0, 0, 0, 0}, nil},
		{"remainder", `{}`, []input{whole(7, -7, 7, -7, 6, -6), whole(3, 3, -3, -3, 3, -3)}, []float64{1, 2, -2, -1, 0, 0}, nil},
		{"remainder", `{"truncate": true}`, []input{whole(7, -7, 7, -7), whole(3, 3, -3, -3)}, []float64{1, -1, 1, -1}, nil},
		{"remainder", `{}`, append(in(d(8), 1, -1, -6, 0, 1, -1, inf, nan), in(d(8), 0.1, 0.1, 3, -3, inf, inf, 2, 2)...), []float64{math.Mod(1, 0.1), 0x1p-54, 0, 0, 1, inf, nan, nan}, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{"remainder", `{"truncate": true}`, append(in(d(8), 1, -1, 5, 6, 1, -1, 1, 1e300), in(d(8), 0.1, 0.1, -3, 3, -inf, inf, 0, 1e-300)...), []float64{0.09999999999999995, -0.09999999999999995, 2, 0, 1, -1, nan, math.Mod(1e300, 1e-300)}, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{"element_binary", `{"type": "EW_HYPOT"}`, append(in(d(3), 0, 3, -5), in(d(3), 0, 4, 12)...), []float64{0, 5, 13}, []float64{0, 0.6, -5. / 13}},
		{"element_binary", `{"type": "EW_POW"}`, append(in(d(3), 0, 2, 3), in(d(3), 0, 3, 1)...), []float64{1, 8, 3}, []float64{0, 12, 1}},
		{"element_binary", `{"type": "EW_SUB"}`, append(in(d(1), 5), in(d(3), 1, 2, 3)...), []float64{4, 3, 2}, []float64{3}},
		{"conv_2d", `{"out_channels": 1, "kernel_h": 1, "kernel_w": 2, "dilation_w": 2, "use_bias": false}`, append(in(d(1, 1, 1, 4), 1, 2, 4, 8), weight("filter", 10, 100)), []float64{410, 820}, []float64{10, 10, 100, 100}},
		{"adaptive_pool_2d", `{"output_h": 1, "output_w": 2, "pool_type": "AVG"}`, in(d(1, 1, 1, 3), 1, 2, 4), []float64{1.5, 3}, []float64{0.5, 1, 0.5}},
		{"adaptive_pool_2d", `{"output_h": 3, "output_w": 1}`, in(d(1, 1, 2, 2), 1, 7, 9, 9), []float64{7, 9, 9}, []float64{0, 1, 2, 0}},
		{"batch_matmul", `{}`, append(in(d(1, 2), 1, 2), in(d(2, 2), 3, 4, 5, 6)...), []float64{13, 16}, []float64{7, 11}},
		// A row that is ignored does not count, and the mean over no rows is 0. A class that is excluded
		// costs nothing unless smoothing asks for it.
		{"cross_entropy", `{}`, append(in(d(2, 2), 0, 0, 5, 9), whole(0, -100)), []float64{math.Ln2}, []float64{-0.5, 0.5, 0, 0}},
		{"cross_entropy", `{"ignore": 1}`, append(in(d(2, 2), 5, 9, 0, 0), whole(1, 1)), []float64{0}, []float64{0, 0, 0, 0}},
		{"cross_entropy", `{}`, append(in(d(2, 2), 0, 0, 0, 0), whole(0, 1), input{dims: []int{2}, data: []float64{1, 3}}), []float64{math.Ln2}, []float64{-0.125, 0.125, 0.375, -0.375}},
		{"cross_entropy", `{"reduction": "sum", "smoothing": 0.5}`, append(in(d(1, 2), 0, 0), whole(0)), []float64{math.Ln2}, []float64{-0.25, 0.25}},
		{"cross_entropy", `{}`, append(in(d(1, 2), 0, -inf), whole(0)), []float64{0}, []float64{0, 0}},
		{"cross_entropy", `{"smoothing": 0.5}`, append(in(d(1, 2), 0, -inf), whole(0)), []float64{inf}, nil},
		{"layer_norm", `{"axes": [0], "eps": 0}`, append(in(d(2), 1, 3), weight("gamma", 2, 5), weight("beta", 1, 7)), []float64{-1, 12}, nil},
		{"layer_norm", `{"axes": [1, 0], "eps": 0}`, append(in(d(2, 2), 1, 1, 3, 3), weight("gamma", 1, 2, 3, 4)), []float64{-1, -2, 3, 4}, nil},
		{"layer_norm", `{"axes": [0], "eps": 0.25, "elementwise_affine": false}`, in(d(1), 1e6), []float64{0}, []float64{0}},
		{"rms_norm", `{"axes": [0], "eps": 0}`, append(in(d(2), 1, 7), weight("gamma", 10, 100)), []float64{2, 140}, nil},
		{"batch_norm", `{"eps": 0}`, append(in(d(2, 2), 1, 1e8, 3, 1e8+2), weight("gamma", 1, 3), weight("beta", 0, 1)), []float64{-1, -2, 1, 4}, nil},
		{"batch_norm", `{"eps": 0, "relu": true}`, in(d(2, 1), 1, 3), []float64{0, 1}, nil},
		{"batch_norm", `{"eps": 1, "training": false}`, append(in(d(1, 1), 7), weight("running_mean", 1), weight("running_var", 8)), []float64{2}, []float64{1. / 3}},
		{"reduce", `{"op_type": "REDUCE_MAX", "axes": [0]}`, in(d(3), 2, 3, 3), []float64{3}, []float64{0, 0.5, 0.5}},
		{"reduce", `{"op_type": "REDUCE_MIN", "axes": [0]}`, in(d(3), 2, nan, 3), []float64{nan}, nil},
		{"reduce", `{"op_type": "REDUCE_PROD", "axes": [1]}`, in(d(2, 3), 0, 2, 3, 0, 0, 3), []float64{0, 0}, []float64{6, 0, 0, 0, 0, 0}},
		{"reduce", `{"op_type": "REDUCE_MEAN", "axes": [1, 0]}`, in(d(2, 2), 1, 2, 3, 6), []float64{3}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"reduce_arg", `{"op_type": "REDUCE_ARGMAX", "axes": [0]}`, in(d(4), 1, 3, 3, 2), []float64{1}, nil},
		{"reduce_arg", `{"op_type": "REDUCE_ARGMIN", "axes": [0, 1]}`, in(d(2, 2), 5, 2, nan, nan), []float64{2}, nil},
		{"topk", `{"k": 2}`, in(d(5), 1, 3, 3, 2, 3), []float64{3, 3}, []float64{0, 1, 1, 0, 0}},
		{"topk", `{"k": 2, "sorted": false}`, in(d(3), 2, 1, 3), []float64{2, 3}, []float64{1, 0, 1}},
		{"topk", `{"k": 2}`, in(d(3), inf, 1, nan), []float64{nan, inf}, []float64{1, 0, 1}},
		{"gather", `{"dim": 0}`, append(in(d(3), 10, 20, 30), input{dims: []int{4}, typ: dtype.I32, data: []float64{2, 0, 2, 2}}), []float64{30, 10, 30, 30}, []float64{1, 0, 3}},
		{"element_binary_compare", `{"type": "EW_EQUAL"}`, append(in(d(3), 1, 2, nan), in(d(3), 1, 3, nan)...), []float64{1, 0, 0}, nil},
		{"element_binary_compare", `{"type": "EW_GREATER"}`, append(in(d(3), 1, 3, nan), in(d(1), 1)...), []float64{0, 1, 0}, nil},
		{"element_binary_compare", `{"type": "EW_LESS"}`, append(in(d(3), 1, 0, nan), in(d(1), 1)...), []float64{0, 1, 0}, nil},
		{"element_binary_logical", `{"type": "EW_LOGICAL_AND"}`, []input{truth(1, 1, 0, 0), truth(1, 0, 1, 0)}, []float64{1, 0, 0, 0}, nil},
		{"element_binary_logical", `{"type": "EW_LOGICAL_OR"}`, []input{truth(1, 1, 0, 0), truth(1, 0, 1, 0)}, []float64{1, 1, 1, 0}, nil},
		{"element_binary_logical", `{"type": "EW_LOGICAL_XOR"}`, []input{truth(1, 1, 0, 0), truth(1, 0, 1, 0)}, []float64{0, 1, 1, 0}, nil},
		{"element_unary_logical", `{}`, []input{truth(1, 0)}, []float64{0, 1}, nil},
		{"element_binary", `{"type": "EW_DIV"}`, []input{whole(7, -7, 1), whole(2, 2, 3)}, []float64{3, -3, 0}, nil},
		{"element_binary", `{"type": "EW_POW"}`, []input{whole(3, -2, 5), whole(4, 3, 0)}, []float64{81, -8, 1}, nil},
		{"element_binary", `{"type": "EW_MAX"}`, []input{whole(1<<53+2, 1), whole(1<<53, 3)}, []float64{1<<53 + 2, 3}, nil},
		{"reduce", `{"op_type": "REDUCE_SUM", "axes": [0]}`, []input{whole(1<<53, 2, -1<<53)}, []float64{2}, nil},
		{"reduce", `{"op_type": "REDUCE_MIN", "axes": [0]}`, []input{whole(3, -1<<60)}, []float64{-1 << 60}, nil},
		{"reduce", `{"op_type": "REDUCE_PROD", "axes": [0]}`, []input{whole(3, -2, 5)}, []float64{-30}, nil},
		{"reduce_arg", `{"op_type": "REDUCE_ARGMIN", "axes": [0]}`, []input{whole(3, -2, 5)}, []float64{1}, nil},
		{"topk", `{"k": 2}`, []input{whole(3, -2, 5)}, []float64{5, 3}, nil},
		{"reverse", `{"axis": 0}`, []input{truth(1, 0, 0)}, []float64{0, 0, 1}, nil},
		{"embedding", `{"num_entries": 3, "out_channels": 2, "data_type": "f64"}`, []input{whole(2, 0), weight("weight", 1, 2, 3, 4, 5, 6)}, []float64{5, 6, 1, 2}, nil},
		{"embedding", `{"num_entries": 3, "out_channels": 2, "data_type": "f64", "aggr": "SUM"}`, []input{whole(2, 2, 0), weight("weight", 1, 2, 3, 4, 5, 6)}, []float64{11, 14}, nil},
		{"embedding", `{"num_entries": 3, "out_channels": 1, "data_type": "f64", "aggr": "AVG"}`, []input{whole(2, 2, 0, 1), weight("weight", 1, 2, 4)}, []float64{2.75}, nil},
		{"embedding", `{"num_entries": 3, "out_channels": 1, "data_type": "f64", "aggr": "AVG"}`, []input{whole(), weight("weight", 1, 2, 4)}, []float64{0}, nil},
		{"weight", `{"tensor_shape": [2], "data_type": "f64"}`, []input{weight("weight", 5, 7)}, []float64{5, 7}, nil},
		{"input", `{"tensor_shape": [2]}`, in(d(2), 5, 7), []float64{5, 7}, []float64{1, 1}},
		{"transpose", `{"permutation": [1, 0]}`, in(d(2, 3), 1, 2, 3, 4, 5, 6), []float64{1, 4, 2, 5, 3, 6}, []float64{1, 1, 1, 1, 1, 1}},
		{"reverse", `{"axis": 0}`, in(d(2, 2), 1, 2, 3, 4), []float64{3, 4, 1, 2}, []float64{1, 1, 1, 1}},
		{"broadcast", `{"target_dims": [2, 2, 2]}`, in(d(2, 1), 1, 2), []float64{1, 1, 2, 2, 1, 1, 2, 2}, []float64{4, 4}},
		{"reshape", `{"shape": [3, 1]}`, in(d(1, 3), 1, 2, 3), []float64{1, 2, 3}, []float64{1, 1, 1}},
		{"squeeze", `{"axes": [1]}`, in(d(2, 1), 1, 2), []float64{1, 2}, []float64{1, 1}},
		{"unsqueeze", `{"axes": [0]}`, in(d(2), 1, 2), []float64{1, 2}, []float64{1, 1}},
		{"noop", `{}`, in(d(2), 1, 2), []float64{1, 2}, []float64{1, 1}},
		{"flat", `{}`, in(d(2, 1, 2), 1, 2, 3, 4), []float64{1, 2, 3, 4}, []float64{1, 1, 1, 1}},
		{"softmax", `{}`, in(d(2), 1000, 1000), []float64{0.5, 0.5}, []float64{0, 0}},
		{"softmax", `{"dim": 0}`, in(d(2, 2), 0, 0, 0, math.Log(3)), []float64{0.5, 0.25, 0.5, 0.75}, nil},
		{"accuracy", `{}`, append(in(d(4, 2), 1, 1, 0, 1, nan, 1, 2, 1), labels(0, 1, 0, 1)), []float64{3}, nil},
		{"sparse_categorical_crossentropy", `{}`, append(in(d(2, 2), 0, 0, 1000, 0), labels(0, 1)), []float64{(math.Ln2 + 1000) / 2}, []float64{-0.25, 0.25, 0.5, -0.5}},
		{"sparse_categorical_crossentropy", `{"reduction": "sum"}`, append(in(d(1, 2), 0, 0), labels(0)), []float64{math.Ln2}, []float64{-0.5, 0.5}},
		{"sparse_categorical_crossentropy", `{"scale_factor": 3}`, append(in(d(1, 2), 0, 0), labels(1)), []float64{3 * math.Ln2}, []float64{1.5, -1.5}},
		{"sparse_categorical_crossentropy", `{"from_logits": false}`, append(in(d(2, 2), 0.25, 0.75, 1, 0), labels(1, 0)), []float64{-math.Log(0.75) / 2}, []float64{0, -0.5 / 0.75, -0.5, 0}},
		{"categorical_crossentropy", `{}`, append(in(d(2, 2), 0, 0, 1000, 0), in(d(2, 2), 1, 0, 0, 1)...), []float64{(math.Ln2 + 1000) / 2}, []float64{-0.25, 0.25, 0.5, -0.5}},
		{"categorical_crossentropy", `{"reduction": "sum"}`, append(in(d(1, 2), 0, -inf), in(d(1, 2), 1, 0)...), []float64{0}, []float64{0, 0}}, // 0 times -inf counts as 0
		{"categorical_crossentropy", `{"from_logits": false, "scale_factor": 3}`, append(in(d(1, 3), 0.5, 0.5, 0), in(d(1, 3), 0.25, 0.5, 0)...), []float64{2.25 * math.Ln2}, []float64{-1.5, -3, 0}},
		{"mean_squared_error", `{}`, append(in(d(2, 2), 1, 2, 3, 4), in(d(2, 2), 1, 1, 5, 4)...), []float64{1.25}, []float64{0, 0.5, -1, 0}},
		{"mean_squared_error", `{"loss_type": "MEAN_SQUARED_ERROR_SUM_REDUCE"}`, append(in(d(2), 1, 2), in(d(2), 4, 2)...), []float64{9}, []float64{-6, 0}},
		{"mean_squared_error", `{"scale_factor": 4}`, append(in(d(2), 1, 2), in(d(2), 4, 2)...), []float64{18}, []float64{-12, 0}},
		{"identity_loss", `{}`, in(d(2, 3), 1, 2, 3, 4, 5, 6), []float64{10.5}, []float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}},
		{"identity_loss", `{"reduction": "mean"}`, in(d(2, 2), 1, 2, 3, 4), []float64{2.5}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"identity_loss", `{"reduction": "sum"}`, in(d(2, 2), 1, 2, 3, 4), []float64{10}, []float64{1, 1, 1, 1}},
		{"error_metric", `{"metric": "MEAN_SQUARED_ERROR"}`, append(in(d(2, 2), 1, 2, 3, 4), in(d(2, 2), 1, 0, 5, 8)...), []float64{12}, nil},
		{"error_metric", `{"metric": "ROOT_MEAN_SQUARED_ERROR"}`, append(in(d(2, 2), 0, 0, 3, 4), in(d(2, 2), 1, 7, 2, 11)...), []float64{10}, nil},
		{"error_metric", `{"metric": "MEAN_ABSOLUTE_ERROR"}`, append(in(d(2, 2), 1, 2, 3, 4), in(d(2, 2), 1, 0, 5, 8)...), []float64{4}, nil},
		{"categorical_crossentropy_metric", `{}`, append(in(d(2, 2), 0.5, 0.5, 1, 0), in(d(2, 2), 0.5, 0.5, 1, 0)...), []float64{math.Ln2}, nil},
		{"categorical_crossentropy_metric", `{"from_logits": true}`, append(in(d(1, 2), 7, 7), in(d(1, 2), 2, 1)...), []float64{3 * math.Ln2}, nil},
		{"sparse_categorical_crossentropy_metric", `{}`, append(in(d(2, 2), 0.5, 0.5, 0.75, 0.25), labels(0, 1)), []float64{3 * math.Ln2}, nil},
		{"sparse_categorical_crossentropy_metric", `{"from_logits": true}`, append(in(d(2, 2), 7, 7, 3, 3), labels(0, 1)), []float64{2 * math.Ln2}, nil},
		{"topk", `{"k": 2}`, in(d(2, 3), 1, 3, 2, 5, 4, 6), []float64{3, 2, 6, 5}, []float64{0, 1, 1, 1, 0, 1}},
		{"regularizer", `{"type": "L1", "lambda": 2}`, in(d(3), 1, 0, -3), []float64{8}, []float64{2, 0, -2}},
		{"regularizer", `{"type": "L2", "lambda": 2}`, in(d(3), 1, 0, -3), []float64{10}, []float64{2, 0, -6}},
		{"regularizer", `{"type": "L2", "lambda": 2}`, in(d(3, 4097), slices.Repeat([]float64{1}, 3*4097)...), []float64{3 * 4097}, slices.Repeat([]float64{2}, 3*4097)},
	}
	for _, tt := range tests {
		t.Run(tt.op+tt.attrs, func(t *testing.T) {
			absolute := 0.0
			if tt.op == "softmax" { // the logarithm of the sum of exponentials is rounded, which counts where it is large
				absolute = 1e-12
			}
			out, grad := apply(t, tt.op, tt.attrs, tt.inputs, tt.grad != nil)
			for what, v := range map[string][2][]float64{"output": {out, tt.want}, "gradient": {grad, tt.grad}} {
				got, want := v[0], v[1]
				if !slices.EqualFunc(got, want, func(a, b float64) bool {
					return a == b || a != a && b != b || math.Abs(a-b) <= 1e-15*math.Abs(b)+absolute
				}) {
					t.Errorf("%s: got %v, want %v", what, got, want)
				}
			}
		})
	}
}

// input is a tensor that is fed.
type input struct {
	weight string // the name of the slot of a weight; "": an input
	dims   []int
	typ    dtype.Type // 0: f64
	data   []float64
}

func in(dims []int, data ...float64) []input { return []input{{dims: dims, data: data}} }

func d(dims ...int) []int { return dims }

func weight(name string, data ...float64) input { return input{weight: name, data: data} }

func whole(data ...float64) input { return input{dims: d(len(data)), typ: dtype.I64, data: data} }

func truth(data ...float64) input { return input{dims: d(len(data)), typ: dtype.Bool, data: data} }

// labels returns a tensor of labels, one in each row.
func labels(classes ...float64) input {
	return input{dims: []int{len(classes), 1}, typ: dtype.I64, data: classes}
}

// apply applies an operator of the catalogue. It returns its first output and, if withGrad is set, the
// gradient of its first input.
func apply(t *testing.T, name, attrs string, inputs []input, withGrad bool) (out, grad []float64) {
	t.Helper()
	ops := catalogue.Operators()
	op := ops[slices.IndexFunc(ops, func(o *graph.Operator) bool { return o.Name == name })]
	at, err := op.DecodeAttrs([]byte(attrs))
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New(1)
	insertion := graph.Insert[int](g, 0, op, at)
	fed := values{}
	var first graph.Tensor
	for i, x := range inputs {
		if x.weight != "" {
			fed[op.Name+"."+x.weight] = x.data
			continue
		}
		if x.typ == dtype.Invalid {
			x.typ = dtype.F64
		}
		tensor := g.Input(fmt.Sprint("input ", i), x.typ, x.dims...)
		fed[tensor.Name()] = x.data
		insertion.Bind(i, tensor)
		if i == 0 {
			first = tensor
		}
	}
	node := insertion.Node()
	if g.Err() != nil {
		t.Fatal(g.Err())
	}
	output := node.Tensor(slices.IndexFunc(op.Slots, func(s task.Slot) bool { return s.Role == task.RoleOutput }))
	if !withGrad {
		p, err := graph.Whole(g, output)
		if err != nil {
			t.Fatal(err)
		}
		return mustRun(t, p, fed, optest.Execution{})[output.Name()], nil
	}
	seed := g.Input("seed", output.Type(), output.Shape()...)
	fed["seed"] = slices.Repeat([]float64{1}, shape.Prod(output.Shape()))
	p, grads, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{output: seed}, []graph.Tensor{first}, output)
	if err != nil {
		t.Fatal(err)
	}
	v := mustRun(t, p, fed, optest.Execution{})
	return v[output.Name()], v[grads[first].Name()]
}

// TestDropoutDraws checks the share of elements that are dropped. Another run or another seed drops other
// elements.
func TestDropoutDraws(t *testing.T) {
	const n = 20000
	draw := func(seed, runs int) string {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, n)
		y := dropout.Apply(g, dropout.Defaults(0.3).WithSeed(seed), x)
		p, err := graph.Whole(g, y) // in a program for inference, nothing is dropped
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, v := range mustRun(t, p, values{"x": slices.Repeat([]float64{1}, n)}, optest.Execution{Runs: runs, Workers: 2})[y.Name()] {
			switch v {
			case 0:
				b.WriteByte('0')
			case float64(float32(1 / (1 - 0.3))):
				b.WriteByte('1')
			default:
				t.Fatalf("got an element %v, want 0 or 1/0.7", v)
			}
		}
		return b.String()
	}
	first := draw(1, 1)
	if dropped := strings.Count(first, "0"); !(math.Abs(float64(dropped)-0.3*n) <= 300) {
		t.Errorf("%d of %d elements are dropped, want about %.0f", dropped, n, 0.3*n)
	}
	if draw(1, 1) != first {
		t.Error("want the same elements with the same seed, got others")
	}
	for what, other := range map[string]string{"another seed": draw(2, 1), "the next run": draw(1, 2)} {
		same := 0
		for i := range other {
			if other[i] == first[i] {
				same++
			}
		}
		if want := (0.3*0.3 + 0.7*0.7) * n; !(math.Abs(float64(same)-want) <= 400) {
			t.Errorf("%s: %d elements are the same, want about %.0f", what, same, want)
		}
	}
}

// TestTails compares the tails of activations with numbers of float64, in float32 and in float64: of what is
// small there, no digits cancel. Numbers below the least normal one have fewer digits, and so has what is
// multiplied by one.
func TestTails(t *testing.T) {
	logistic := func(u float64) (s, rest float64) { return math.Exp(u) / (1 + math.Exp(u)), 1 / (1 + math.Exp(u)) }
	silu := func(x float64) (y, slope float64) {
		s, rest := logistic(x)
		return x * s, s * (1 + x*rest)
	}
	gelu := func(x float64) (y, slope float64) {
		c := math.Sqrt(8 / math.Pi)
		s, rest := logistic(c * (x + 0.044715*x*x*x))
		return x * s, s * (1 + x*rest*c*(1+3*0.044715*x*x))
	}
	for _, tt := range []struct {
		name  string
		of    func(float64) (y, slope float64)
		least float64
	}{{"SILU", silu, -110}, {"GELU_TANH", gelu, -12}} {
		var x []float64
		for v := tt.least; v < 3; v += 0.0625 {
			x = append(x, v)
		}
		for typ, unit := range map[dtype.Type][2]float64{dtype.F32: {0x1p-24, 0x1p-149}, dtype.F64: {0x1p-53, 0x1p-1074}} {
			y, grad := apply(t, "element_unary", `{"op_type": "`+tt.name+`"}`, []input{{dims: d(len(x)), typ: typ, data: x}}, true)
			for i, v := range x {
				want, slope := tt.of(v)
				within := func(got, want float64) bool {
					return math.Abs(got-want) <= unit[0]*(32+math.Abs(v*v*v)/4)*math.Abs(want)+4*unit[1]*(1+v*v*math.Abs(v))
				}
				if near := math.Abs(slope) < 0.01 && v > -3; !within(y[i], want) || !near && !within(grad[i], slope) { // the slope is 0 between -2 and 0
					t.Fatalf("%s, %v: at %v got %v with the slope %v, want %v and %v", tt.name, typ, v, y[i], grad[i], want, slope)
				}
			}
			if typ == dtype.F32 && tt.name == "GELU_TANH" {
				far := []float64{-1e12, -1e4, -13, 13, 1e4, 1e12}
				y, grad := apply(t, "element_unary", `{"op_type": "GELU_TANH"}`, []input{{dims: d(len(far)), typ: typ, data: far}}, true)
				for i, v := range far {
					if want := max(v, 0); y[i] != float64(float32(want)) || grad[i] != min(want, 1) {
						t.Errorf("GELU_TANH at %v: got %v with the slope %v", v, y[i], grad[i])
					}
				}
			}
		}
	}
}
