// Writes what llama.cpp (npm package node-llama-cpp 3.21.1) makes of tests/data/tokenizer.
//
//   node make_tokenizer_data.mjs MODEL FOLDER
//
// texts.txt, a text per line, gives texts.ids, its tokens with special tokens off. prompts.json,
// conversations, gives prompts.ids: each written out in ChatML as one text, its tokens with special
// tokens on. Lines that begin with "# " are headings; \n \r \t \\ \xNN are escapes. llama.cpp gets
// U+FFFD for each byte that is no UTF-8, since the package takes JavaScript strings.
import {readFileSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const modules = process.env.ORACLE_NODE_MODULES ?? "/tmp/oracle-npm/node_modules";
const entry = createRequire(modules + "/x.js").resolve("node-llama-cpp");
const {getLlama} = await import(pathToFileURL(entry));

// The bytes that a line stands for.
function unescape(line) {
  const simple = {n: 10, r: 13, t: 9, "\\": 92};
  const source = Buffer.from(line, "utf8");
  const bytes = [];
  for (let i = 0; i < source.length; ++i) {
    if (source[i] !== 92) {
      bytes.push(source[i]);
      continue;
    }
    const letter = String.fromCharCode(source[++i]);
    if (letter === "x") {
      bytes.push(parseInt(source.toString("latin1", i + 1, i + 3), 16));
      i += 2;
    } else if (letter in simple) {
      bytes.push(simple[letter]);
    } else {
      throw new Error("unknown escape in: " + line);
    }
  }
  return Buffer.from(bytes);
}

// Characters of strict UTF-8; U+FFFD for each other byte.
function decode(bytes) {
  const strict = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});
  let text = "";
  for (let at = 0; at < bytes.length;) {
    let length = 0;
    for (let n = 1; n <= 4 && at + n <= bytes.length && length === 0; ++n) {
      try {
        text += strict.decode(bytes.subarray(at, at + n));
        length = n;
      } catch {
        // Not a character yet.
      }
    }
    if (length === 0) text += "\ufffd";
    at += Math.max(length, 1);
  }
  return text;
}

const [model, folder] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", logLevel: "warn", maxThreads: 2});
const vocabulary = await llama.loadModel({modelPath: model, gpuLayers: 0, vocabOnly: true});

const write = (name, lists) =>
  writeFileSync(`${folder}/${name}`, lists.map((ids) => Array.from(ids).join(" ") + "\n").join(""));

const lines = readFileSync(`${folder}/texts.txt`, "utf8").split("\n").slice(0, -1);
const texts = lines.filter((line) => !line.startsWith("# ")).map((line) => decode(unescape(line)));
write("texts.ids", texts.map((text) => vocabulary.tokenize(text, false)));

const turn = ({role, text}) => `<|im_start|>${role}\n${text}<|im_end|>\n`;
const prompts = JSON.parse(readFileSync(`${folder}/prompts.json`, "utf8"));
write("prompts.ids", prompts.map(({sections, examples, utterance}) => vocabulary.tokenize(
  turn({role: "system", text: sections.join("")}) +
  examples.map(({said, answered}) =>
    turn({role: "user", text: said}) + turn({role: "assistant", text: answered})).join("") +
  turn({role: "user", text: utterance}) + "<|im_start|>assistant\n", true)));
console.log(`${texts.length} texts, ${prompts.length} prompts`);
process.exit(0);
