package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

//go:embed data/digits.csv.gz
var digitsCSV []byte

const (
	side    = 8 // pixels
	pixels  = side * side
	classes = 10
)

// dataset holds images, pixels in [0, 1] row by row, and their labels.
type dataset struct {
	images []float32
	labels []int32
}

func (d *dataset) len() int { return len(d.labels) }

// loadDigits reads the shipped images and splits them, shuffled by seed, 80 to 20.
func loadDigits(seed uint64) (train, test dataset, err error) {
	z, err := gzip.NewReader(bytes.NewReader(digitsCSV))
	if err != nil {
		return train, test, err
	}
	r := csv.NewReader(z)
	r.FieldsPerRecord = pixels + 1
	var all dataset
	for {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return train, test, err
		}
		for i, field := range record {
			v, err := strconv.Atoi(field)
			if err != nil {
				return train, test, fmt.Errorf("digit %d, column %d: %w", all.len()+1, i+1, err)
			}
			if i < pixels {
				all.images = append(all.images, float32(v)/16)
			} else {
				all.labels = append(all.labels, int32(v))
			}
		}
	}
	order := rand.New(rand.NewPCG(seed, 1)).Perm(all.len())
	cut := all.len() * 4 / 5
	return all.pick(order[:cut]), all.pick(order[cut:]), nil
}

// pick returns the images of the given numbers.
func (d *dataset) pick(numbers []int) dataset {
	var out dataset
	for _, n := range numbers {
		out.images = append(out.images, d.images[n*pixels:(n+1)*pixels]...)
		out.labels = append(out.labels, d.labels[n])
	}
	return out
}
