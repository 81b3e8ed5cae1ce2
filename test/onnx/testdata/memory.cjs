// Runs a network with ONNX Runtime for memory_test.go, and writes the kB that the process held before it and at most.
const fs = require('node:fs');
const path = require('node:path');
const ort = require(require.resolve('onnxruntime-node', {paths: [process.env.OPGEN_NODE_MODULES]}));

const arrays = {float32: Float32Array, int64: BigInt64Array};

async function main() {
  const c = JSON.parse(process.env.OPGEN_MEMORY_CASE);
  const before = process.memoryUsage().rss / 1024;
  const session = await ort.InferenceSession.create(c.model, {logSeverityLevel: 3, intraOpNumThreads: c.threads, interOpNumThreads: 1,
    extra: {session: {intra_op: {allow_spinning: '0'}}}});
  const feeds = {};
  for (const [name, x] of Object.entries(c.inputs)) {
    const data = fs.readFileSync(path.join(path.dirname(c.file), x.file));
    const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
    feeds[name] = new ort.Tensor(x.dtype, new arrays[x.dtype](bytes), x.shape);
  }
  for (let i = 0; i < c.runs; i++) await session.run(feeds);
  console.log('peak ' + JSON.stringify({before, most: process.resourceUsage().maxRSS}));
}

main();
