import { attach } from "./page.js";
import { Viewer } from "./viewer.js";

attach(Viewer.open);
