package metrics

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// The picture, in pixels: what Slack shows at a glance, on a phone too.
const (
	width, height = 800, 400
	left, right   = 84, 16 // margins
	top           = 16
	axisHeight    = 24 // under the plot, for the times
	legendLine    = 16
	maxLegend     = 8 // series that have a colour and a name
)

// palette is background, grid, text, and the colours of Okabe and Ito, which people
// with any colour vision can tell apart; grey is for further series.
var palette = color.Palette{
	color.White, color.Gray{Y: 0xDD}, color.Gray{Y: 0x33},
	color.RGBA{0x00, 0x72, 0xB2, 0xFF}, color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, color.RGBA{0x00, 0x9E, 0x73, 0xFF}, color.RGBA{0xCC, 0x79, 0xA7, 0xFF},
	color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, color.RGBA{0x56, 0xB4, 0xE9, 0xFF}, color.RGBA{0x00, 0x00, 0x00, 0xFF}, color.RGBA{0x99, 0x99, 0x00, 0xFF},
	color.Gray{Y: 0xAA},
}

// Places in the palette.
const (
	grid        = 1
	ink         = 2
	firstColour = 3
	otherColour = firstColour + maxLegend
)

// chart is a picture being drawn.
type chart struct {
	img      *image.Paletted
	plot     image.Rectangle
	from, at time.Time
	step     time.Duration
	low      float64 // of the value axis
	high     float64
}

// draw makes a PNG of the series over the time of the plan.
func draw(p plan, all []series) ([]byte, error) {
	legend := min(len(all), maxLegend)
	rows := legend
	if legend < len(all) {
		rows++
	}
	c := &chart{
		img:  image.NewPaletted(image.Rect(0, 0, width, height+rows*legendLine), palette),
		plot: image.Rect(left, top, width-right, height-axisHeight),
		from: p.from, at: p.at, step: p.step,
	}
	low, high := extent(all)
	ticks := valueTicks(low, high)
	c.low, c.high = ticks[0], ticks[len(ticks)-1]
	c.axes(ticks)
	for i := len(all) - 1; i >= 0; i-- { // the first on top
		c.line(all[i].Values, uint8(min(firstColour+i, otherColour)))
	}
	c.legend(all, legend)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(&b, c.img)
	return b.Bytes(), err
}

// extent is the smallest and the largest finite value; 0 and 1 where there is none.
func extent(all []series) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range all {
		for _, v := range s.Values {
			if f := v.number(); !math.IsNaN(f) && !math.IsInf(f, 0) {
				low, high = math.Min(low, f), math.Max(high, f)
			}
		}
	}
	if low > high {
		return 0, 1
	}
	return low, high
}

// axes draws the grid and what stands at it.
func (c *chart) axes(values []float64) {
	for _, v := range values {
		y := c.y(v)
		c.horizontal(y)
		label := tickLabel(v, values[1]-values[0])
		c.text(left-8-textWidth(label), y+4, label)
	}
	times, layout := timeTicks(c.from, c.at)
	for _, t := range times {
		x := c.x(t)
		c.vertical(x)
		label := t.Format(layout)
		c.text(min(x-textWidth(label)/2, width-textWidth(label)-2), c.plot.Max.Y+17, label)
	}
	c.text(4, c.plot.Max.Y+17, "UTC")
}

func (c *chart) horizontal(y int) {
	for x := c.plot.Min.X; x <= c.plot.Max.X; x++ {
		c.img.SetColorIndex(x, y, grid)
	}
}

func (c *chart) vertical(x int) {
	for y := c.plot.Min.Y; y <= c.plot.Max.Y; y++ {
		c.img.SetColorIndex(x, y, grid)
	}
}

func (c *chart) x(t time.Time) int {
	share := float64(t.Sub(c.from)) / float64(c.at.Sub(c.from))
	return c.plot.Min.X + int(math.Round(share*float64(c.plot.Dx())))
}

func (c *chart) y(v float64) int {
	share := v/(c.high-c.low) - c.low/(c.high-c.low) // in this order the largest values do not overflow
	return c.plot.Max.Y - int(math.Round(share*float64(c.plot.Dy())))
}

// line connects neighbours; where points are missing the line has a gap.
func (c *chart) line(values []sample, colour uint8) {
	var before image.Point
	var last time.Time
	for _, v := range values {
		f := v.number()
		if math.IsNaN(f) || math.IsInf(f, 0) || v.at.Before(c.from) || v.at.After(c.at) {
			last = time.Time{}
			continue
		}
		here := image.Pt(c.x(v.at), c.y(f))
		if last.IsZero() || v.at.Sub(last) > c.step*3/2 {
			before = here
		}
		c.stroke(before, here, colour)
		before, last = here, v.at
	}
}

// stroke draws a straight line, two pixels wide.
func (c *chart) stroke(a, b image.Point, colour uint8) {
	n := max(abs(b.X-a.X), abs(b.Y-a.Y), 1)
	for i := range n + 1 {
		p := image.Pt(a.X+(b.X-a.X)*i/n, a.Y+(b.Y-a.Y)*i/n)
		for _, q := range []image.Point{p, p.Add(image.Pt(0, 1)), p.Add(image.Pt(1, 0))} {
			if q.In(c.plot.Inset(-1)) {
				c.img.SetColorIndex(q.X, q.Y, colour)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

// legend names the series under the plot.
func (c *chart) legend(all []series, shown int) {
	for i := range shown {
		y := height + i*legendLine + 11
		for dy := range 4 {
			for x := range 20 {
				c.img.SetColorIndex(left+x, y-6+dy, uint8(firstColour+i))
			}
		}
		c.text(left+28, y, fitted(all[i].name(), width-right-left-28))
	}
	if shown < len(all) {
		c.text(left+28, height+shown*legendLine+11, "(others are grey)")
	}
}

func textWidth(text string) int { return len(text) * basicfont.Face7x13.Advance }

// fitted cuts a text to a width. The face has ASCII alone; the table has the names in full.
func fitted(text string, pixels int) string {
	runes := []rune(text)
	if limit := pixels / basicfont.Face7x13.Advance; len(runes) > limit {
		runes = append(runes[:limit-3], '.', '.', '.')
	}
	for i, r := range runes {
		if r < ' ' || r > '~' {
			runes[i] = '?'
		}
	}
	return string(runes)
}

func (c *chart) text(x, y int, text string) {
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(palette[ink]), Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	d.DrawString(text)
}
