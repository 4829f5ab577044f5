// Bundles the page's script, with and without the parts of three.js that the viewer uses; its licence goes beside them.
import { build } from "esbuild";
import { copyFile } from "node:fs/promises";

const assets = new URL("../src/pinnpoint/report/assets/", import.meta.url).pathname;
const options = { bundle: true, minify: true, format: "iife", target: "es2022", charset: "ascii", legalComments: "none" };
const banner = { js: "/* pinnpoint report viewer; contains three.js, MIT licence, see three.LICENSE.txt */" };
await build({ ...options, banner, entryPoints: ["src/main.js"], outfile: assets + "viewer.js" });
await build({ ...options, entryPoints: ["src/page.js"], outfile: assets + "page.js" });
await copyFile("node_modules/three/LICENSE", assets + "three.LICENSE.txt");
