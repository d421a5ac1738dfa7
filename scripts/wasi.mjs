// Runs a program for wasm32-wasip1 in Node: node scripts/wasi.mjs PROGRAM. Used by scripts/platforms.
import { WASI } from 'node:wasi';
import { readFile } from 'node:fs/promises';

const wasi = new WASI({ version: 'preview1', args: [process.argv[2]], env: process.env });
const program = await WebAssembly.compile(await readFile(process.argv[2]));
process.exit(wasi.start(await WebAssembly.instantiate(program, wasi.getImportObject())));
