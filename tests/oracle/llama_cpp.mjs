// Runs a model file through llama.cpp (npm package node-llama-cpp 3.21.1) and writes what it gives.
//
//   node llama_cpp.mjs tokens MODEL TEXT OUT.json         token ids of a text, no special tokens
//   node llama_cpp.mjs probabilities MODEL IDS.json OUT [f32|f16] [POSITIONS]
//
// OUT of `probabilities` holds the next-token distribution after each token, [tokens][vocabulary]
// float32, little-endian. One sequence from position 0, flash attention off, batches of 512, keys
// and values of the given type (default f32). IDS.json is an array of ids; POSITIONS a
// comma-separated list (default all).
//
// The package gives the distribution after its samplers; with the settings below none of them
// changes it (temperature 1, nothing cut), which is checked: every token of the vocabulary is
// there and the sum is 1.
import {closeSync, openSync, readFileSync, writeFileSync, writeSync} from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const folder = process.env.ORACLE_NODE_MODULES ?? "/tmp/oracle-npm/node_modules";
const entry = createRequire(folder + "/x.js").resolve("node-llama-cpp");
const {getLlama} = await import(pathToFileURL(entry));

const untouched = {temperature: 1, minP: 0, topK: 1 << 30, topP: 1, seed: 1};

async function load(path, vocabOnly) {
  const llama = await getLlama({gpu: false, build: "never", logLevel: "warn", maxThreads: 2});
  return llama.loadModel({modelPath: path, gpuLayers: 0, vocabOnly});
}

async function tokens([path, text, out]) {
  const model = await load(path, true);
  const ids = model.tokenize(readFileSync(text, "utf8"), false);
  writeFileSync(out, JSON.stringify(Array.from(ids)) + "\n");
  console.log(ids.length + " tokens");
}

async function probabilities([path, idsPath, out, type = "f32", list]) {
  const ids = JSON.parse(readFileSync(idsPath, "utf8"));
  const positions = list === undefined ? ids.map((_, i) => i) : list.split(",").map(Number);
  const wanted = new Set(positions);
  const model = await load(path, false);
  const vocabulary = [...model.iterateAllTokens()].length;
  const context = await model.createContext({
    contextSize: ids.length + 8, batchSize: 512, flashAttention: false, threads: 2, sequences: 1,
    experimentalKvCacheKeyType: type.toUpperCase(), experimentalKvCacheValueType: type.toUpperCase()
  });
  const sequence = context.getSequence();
  const file = openSync(out, "w");
  let worst = 0;
  const input = ids.map((id, i) => wanted.has(i)
    ? [id, {generateNext: {probabilities: true, options: untouched}}] : id);
  // In pieces, so that the maps of all positions need not be in memory at once.
  const piece = 64;
  for (let begin = 0; begin < input.length; begin += piece) {
    const results = await sequence.controlledEvaluate(input.slice(begin, begin + piece));
    results.forEach((result, i) => {
      if (!wanted.has(begin + i)) return;
      const found = result.next.probabilities;
      if (found.size !== vocabulary) throw new Error(`${found.size} tokens of ${vocabulary}`);
      const row = new Float32Array(vocabulary);
      let sum = 0;
      for (const [token, probability] of found) {
        row[token] = probability;
        sum += probability;
      }
      worst = Math.max(worst, Math.abs(sum - 1));
      writeSync(file, new Uint8Array(row.buffer));
    });
  }
  closeSync(file);
  console.log(JSON.stringify({positions: positions.length, vocabulary, worst_sum_error: worst}));
}

const [command, ...rest] = process.argv.slice(2);
await {tokens, probabilities}[command](rest);
process.exit(0);
