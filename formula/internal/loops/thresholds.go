package loops

// flushed is the number of terms of a partial sum in T, before it is added to a float64 sum.
const flushed = 64

// mostBegins is the maximum number of rows of a directRows over several indices.
// Measured with 0: average pooling 1.65 to 2.6.
const mostBegins = 256

// linesTogether is the approximate number of elements in the rows of one call.
// Measured with 1 Ki: up to 2.0 for 8 rows of 1024, 1.3 for 4096 of 256; with 128 Ki: 0.99.
const linesTogether = 16 << 10

// evenLength divides the length of rows that are reduced in place.
// Measured without rows in place: extremes of 16384 rows of 64 13, sums 1.4.
const evenLength = 64

// loopLength is the maximum number of elements in an execution of one fused loop without buffers. Measured
// with 1 Ki: normalizations of rows 0.99, with 128 Ki 0.98.
const loopLength = 16 * stripLength

// mostNumbers is the maximum number of scalars of a fused loop.
const mostNumbers = 32

// mostFolds is the maximum number of reductions that one loop computes jointly.
const mostFolds = 4

// mostStrides is the maximum number of loops of a movement.
const mostStrides = 8

// fewCompared is the maximum number of elements that are compared one by one, which is faster than by lanes.
// Measured with 0: rows of 4 1.7, of 8 1.45, of 13 1.2; with 128: rows of 33 1.5.
const fewCompared = 32

// leastFetched is the minimum size in bytes of a tensor whose rows are prefetched, since smaller ones stay in
// a cache.
// Measured without prefetch: gradients of embeddings of 25 MiB 1.11, of 0.8 to 6 MiB 0.79 to 0.9.
const leastFetched = 16 << 20

// fewAdded is the maximum length of a row that an inline loop adds. A call costs more.
// Measured with 0: rows of 4 1.27, of 10 1.1 to 1.3; with 12: rows of 16 1.2 for a small table, 1.09 for a
// large one.
const fewAdded = 16

// leastShared is the minimum number of products of the same size, on several workers, that share a packed
// copy of a factor. A single product is faster if it packs blocks, which stay in the L2 cache.
const leastShared = 4

// longRow is the minimum row length of a matrix-vector product that is computed as reductions.
const longRow = 64

// leastRoom is the minimum size in bytes of all temporaries of a task that have an arena.
const leastRoom = 64 << 10

// roomAlign is the alignment of temporaries in an arena.
const roomAlign = 64

// stripLength is the number of elements in a strip. The buffers of several strips fit the L1 cache.
const stripLength = 1024

// distance is the prefetch distance, in iterations.
// Measured with 1: gradients of embeddings with long rows 1.1.
const distance = 8

// scanned is the maximum number of elements in the buffer of suffix reductions of a leave-one-out scan.
const scanned = 1 << 17

// longestShort is the maximum length of rows several of which a strip covers.
// Measured with 16: softmax over a middle dimension with 64 behind it 2.7 to 3.1; with 512: 1.02 in the mean.
const longestShort = 128

// leastFlat is the number of iterations from which on shortLoops replaces no further loop.
const leastFlat = 256

// wide is the number of iterations of shared loops that is enough for any number of workers.
const wide = 64

// tileSide is the number of rows and columns of a tile.
// Measured with 16: 0.86 for 256 rows and columns, 1.09 for 2048; with 256: 1.76 for 256.
const tileSide = 64

// pastRows and pastCols are the rows and columns of a tile for non-temporal stores, of several cache lines
// each.
const pastRows, pastCols = 128, 64

// fewTested is the maximum number of elements for which any, all and count test conditions one by one, which
// is faster than in strips.
const fewTested = 8

// A share uses non-temporal stores if its group writes at least leastWritten bytes and accesses at least
// leastUsed bytes, and if the share writes at least leastPart bytes. Caches cannot hold the results until
// they are read, and non-temporal stores do not load a line before overwriting it. The bounds are for the
// whole group, whose shares run concurrently. Shares of chains of tasks are smaller, and their results are
// read from a cache. Tests change the bounds.
var leastWritten, leastUsed, leastPart = 8 << 20, 24 << 20, 1 << 20

// leastRows is how many operations by row there must be for each operation before all rows, if the latter are
// more than fewBefore: one tile runs those, while others wait. Not measured.
const leastRows, fewBefore = 8, 1 << 12

// mostReach is the maximum number of first and last values of a recurrence's index that have code of their
// own, since reads are out of bounds there. Reads at greater distances are tested at all values. Not
// measured.
const mostReach = 4

// roundElements is about how many elements, at one value of a recurrence's index, the rows have that run for
// all values before the next rows do. Results of one value then are in a cache at the next. Not measured.
const roundElements = 4096

// leastPiece is the mean length from which on stretches of a table of places are copied as pieces of memory.
// Measured with 100 Ki: a roll of 1024 rows of 1024 12, its gradient 9.
const leastPiece = 8

// partColumns is the minimum number of columns in a part of a reduction over columns, as far as there are as
// many: a row of fewer takes about as long. Not measured.
const partColumns = 256

// partRows is the minimum number of rows in a part of a matrix product, each of which reads the whole other
// factor. Not measured.
const partRows = 16

// partAtOnce is the minimum number of elements in a part of a recurrence at one value of its index. Not
// measured.
const partAtOnce = 1024

// partOfRows is the minimum work of a part of a recurrence whose rows have factors of their own: such a part
// reads nothing that another one reads, and meets the others at the end only. Measured, for an LSTM of two
// directions of 32 steps on two workers: 2.2 ms instead of 3.0 with 256 features, 0.44 instead of 0.48 with
// 64.
const partOfRows = 1 << 16

// perProduct is how many products of a matrix product take as long as an element of another loop. Not
// measured.
const perProduct = 4

// perShort is the part of a group's time, 1 in perShort, that all shares together may take longer since some
// of the group's loops are short in them. Measured without such parts, with two workers: a training step of
// 20 layers of 128 features for 32 rows takes 1.25 of the time.
const perShort = 8

// strips is how many strips code runs between two looks at whether the run is to stop. A strip takes up to
// some microseconds, and a look some nanoseconds.
const strips = 16
