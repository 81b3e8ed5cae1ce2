// Runs models with ONNX Runtime: node beside.cjs FOLDER, where onnxruntime-node can be required. FOLDER/cases.json lists the models with
// their inputs, in files of elements in row-major order. The outputs are written beside them, and FOLDER/results.json says of what shapes they are.
const fs = require('node:fs');
const path = require('node:path');
const ort = require(require.resolve('onnxruntime-node', {paths: [process.env.OPGEN_NODE_MODULES]}));

const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, bool: Uint8Array,
};

async function run(folder, c) {
  const session = await ort.InferenceSession.create(path.join(folder, c.model), {logSeverityLevel: 3, intraOpNumThreads: 1, interOpNumThreads: 1});
  const feeds = {};
  for (const [name, x] of Object.entries(c.inputs)) {
    const data = fs.readFileSync(path.join(folder, x.file));
    const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
    feeds[name] = new ort.Tensor(x.dtype, new arrays[x.dtype](bytes), x.shape);
  }
  const outputs = {};
  let number = 0;
  for (const [name, y] of Object.entries(await session.run(feeds))) {
    const file = `${c.model}.${number++}`;
    fs.writeFileSync(path.join(folder, file), Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength));
    outputs[name] = {dtype: y.type, shape: [...y.dims], file};
  }
  await session.release();
  return outputs;
}

async function main(folder) {
  const results = {};
  for (const c of JSON.parse(fs.readFileSync(path.join(folder, 'cases.json')))) {
    try {
      results[c.model] = {outputs: await run(folder, c)};
    } catch (e) {
      results[c.model] = {error: e.message};
    }
  }
  fs.writeFileSync(path.join(folder, 'results.json'), JSON.stringify(results));
}

main(process.argv[2]);
