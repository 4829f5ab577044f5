// Bundles the viewer with the parts of three.js that it uses, and puts three.js's licence beside it.
import { build } from "esbuild";
import { copyFile } from "node:fs/promises";

const assets = new URL("../src/pinnpoint/report/assets/", import.meta.url).pathname;
await build({
  entryPoints: ["src/main.js"],
  outfile: assets + "viewer.js",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  banner: { js: "/* pinnpoint report viewer; contains three.js, MIT licence, see three.LICENSE.txt */" },
});
await copyFile("node_modules/three/LICENSE", assets + "three.LICENSE.txt");
