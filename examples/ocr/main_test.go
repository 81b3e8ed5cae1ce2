package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const uprightModel = "../../test/onnx/testdata/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"

// TestUpsideDown asks the network whether a line is upside down, as it is and turned.
func TestUpsideDown(t *testing.T) {
	p, err := readPicture("testdata/line.png")
	if err != nil {
		t.Fatal(err)
	}
	if p.width != 488 || p.height != 48 {
		t.Errorf("got a picture of %d x %d", p.width, p.height)
	}
	for want, p := range map[bool]picture{false: p, true: p.turn()} {
		if got, err := upsideDown(t.Context(), uprightModel, p); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if again := p.turn().turn(); !bytes.Equal(bytesOf(again), bytesOf(p)) {
		t.Error("a picture that is turned twice is another one")
	}
}

func bytesOf(p picture) (out []byte) {
	for _, v := range p.pixels {
		out = append(out, byte((v+1)*127.5))
	}
	return out
}

// TestRead reads lines with the network, where OPGEN_ONNX names the folder with it; what it answers is
// checked without the network elsewhere.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys.txt")
	if err := os.WriteFile(keys, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	alphabet, err := readAlphabet(keys)
	if err != nil || len(alphabet) != 4 || alphabet[1] != "a" || alphabet[3] != " " {
		t.Fatalf("got %q, %v", alphabet, err)
	}
	var scores []float32
	for _, class := range []int{1, 1, 0, 1, 3, 2, 2} {
		row := make([]float32, 4)
		row[class] = 1
		scores = append(scores, row...)
	}
	if text, err := decode(scores, []int{1, 7, 4}, alphabet); err != nil || text != "aa b" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := decode(scores, []int{1, 4, 7}, alphabet); err == nil || !strings.Contains(err.Error(), "want scores of 4 classes") {
		t.Errorf("got %v", err)
	}
	// A network that answers something else is refused.
	if err := run(t.Context(), &bytes.Buffer{}, uprightModel, keys, uprightModel, []string{"testdata/line.png"}); err == nil || !strings.Contains(err.Error(), "want scores of 4 classes along one line, got a tensor of shape [1 2]") {
		t.Errorf("got %v", err)
	}
	if models := os.Getenv("OPGEN_ONNX"); models != "" {
		var b bytes.Buffer
		err := run(t.Context(), &b, models+"/models/ch_PP-OCRv4_rec_infer.onnx", models+"/models/ppocr_keys_v1.txt", uprightModel,
			[]string{models + "/pictures/line1.png", models + "/pictures/line2.png"})
		if want := " Operators from specs 2026\n gradient: 3.14159\n"; err != nil || b.String() != want {
			t.Errorf("got %q, %v, want %q", b.String(), err, want)
		}
	}
}
