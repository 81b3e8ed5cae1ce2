// Times models with ONNX Runtime for speed_test.go: each line of the input is a model with its inputs and a number of threads, or a number of runs
// of the last model, which is answered by the nanoseconds of processor time and of time that they took.
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const ort = require(require.resolve('onnxruntime-node', {paths: [process.env.OPGEN_NODE_MODULES]}));

const arrays = {float32: Float32Array, int64: BigInt64Array};

async function main() {
  let session, feeds;
  for await (const line of readline.createInterface({input: process.stdin})) {
    const request = JSON.parse(line);
    if (typeof request === 'number') {
      const cpu = process.cpuUsage(), begin = process.hrtime.bigint();
      for (let i = 0; i < request; i++) await session.run(feeds);
      const wall = Number(process.hrtime.bigint() - begin), used = process.cpuUsage(cpu);
      console.log(JSON.stringify([(used.user + used.system) * 1000, wall]));
      continue;
    }
    if (session) await session.release();
    // Threads that wait by spinning would take processor time for nothing.
    session = await ort.InferenceSession.create(request.model, {logSeverityLevel: 3, intraOpNumThreads: request.threads, interOpNumThreads: 1,
      extra: {session: {intra_op: {allow_spinning: '0'}}}});
    feeds = {};
    for (const [name, x] of Object.entries(request.inputs)) {
      const data = fs.readFileSync(path.join(request.folder, x.file));
      const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
      feeds[name] = new ort.Tensor(x.dtype, new arrays[x.dtype](bytes), x.shape);
    }
    console.log('[]');
  }
}

main();
