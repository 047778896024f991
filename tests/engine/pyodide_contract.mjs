// Prints what a function of the engine gives under Pyodide: node pyodide_contract.mjs PYODIDE_DIR ZIP SCRIPT
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodideDir, zip, script] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(pyodideDir, "pyodide.mjs")).href);
const py = await loadPyodide({ indexURL: pyodideDir + path.sep });
py.unpackArchive(new Uint8Array(fs.readFileSync(zip)), "zip", { extractDir: "/home/pyodide" });
process.stdout.write(await py.runPythonAsync(`import sys; sys.path.insert(0, "/home/pyodide")\n${script}`));
