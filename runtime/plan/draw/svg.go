package draw

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"strings"
)

// charWidth is the width of a letter of labels in rectangles, in pixels, on average.
const charWidth = 5.8

// drawing writes parts of SVG pictures.
type drawing struct{ *bufio.Writer }

func (d drawing) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// open begins a picture of a size.
func (d drawing) open(width, height int) {
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif">`+"\n", width, height, width, height)
	d.printf(`<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
}

func (d drawing) text(x, y float64, style, text string) {
	d.printf(`<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, style, escape(text))
}

// key writes an entry of a legend, and returns where the next one begins.
func (d drawing) key(x, y float64, color, name string) float64 {
	d.printf(`<rect x="%.1f" y="%.1f" width="13" height="13" rx="2" fill="%s" stroke="#888888" stroke-width="0.6"/>`+"\n", x, y-11, color)
	d.text(x+19, y, `font-size="12" fill="#333333"`, name)
	return x + 19 + 6.6*float64(len(name)) + 22
}

// escape returns text for an XML document. What XML cannot hold, such as a NUL, becomes U+FFFD.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder returns no errors
	return b.String()
}

// fit returns the label, shortened to a width, or nothing if too little of it would be left.
func fit(label string, width float64) string {
	room := int(width / charWidth)
	switch {
	case len(label) <= room:
		return label
	case room < 6:
		return ""
	}
	return label[:room-1] + "…"
}
