// Runs the script of interactive views without a browser: node harness.js script.js view.json
// Prints what it draws: dots, texts, the pixels of the raster, and the readout at the centre.
const fs = require("fs");
const [script, data] = process.argv.slice(2).map((path) => fs.readFileSync(path, "utf8"));
const log = { dots: [], words: [], raster: null, listeners: {} };

const context = {
  createImageData: (w, h) => ({ width: w, height: h, data: new Uint8ClampedArray(4 * w * h) }),
  putImageData: (image) => { log.raster = { width: image.width, data: Buffer.from(image.data).toString("base64") }; },
  arc: (x, y) => log.dots.push([x, y]),
  fillText: (text, x, y) => log.words.push([text, x, y]),
  strokeText() {}, beginPath() {}, moveTo() {}, lineTo() {}, stroke() {}, fill() {}, clearRect() {}, drawImage() {},
};
const canvas = {
  clientWidth: 200,
  getContext: () => context,
  addEventListener: (name, listener) => { log.listeners[name] = listener; },
  getBoundingClientRect: () => ({ left: 0, top: 0, width: 200, height: 200 }),
  setPointerCapture() {},
};
const element = () => ({ style: {}, setAttribute() {}, addEventListener() {}, textContent: "", appendChild(part) { this.parts = [...(this.parts || []), part]; } });
const caption = element();
globalThis.window = { devicePixelRatio: 1 };
globalThis.document = { createElement: (name) => (name === "canvas" ? { ...canvas } : element()) };
globalThis.requestAnimationFrame = (f) => f();
globalThis.ResizeObserver = class { observe() {} };

eval(script + "; globalThis.foliaxView = foliaxView;");
const parts = { script: { textContent: data }, canvas, figcaption: caption };
foliaxView({ querySelector: (name) => parts[name] });
const first = { dots: log.dots, words: log.words, raster: log.raster };
log.listeners.pointermove({ clientX: 100, clientY: 100 });
const caption_words = caption.parts.map((part) => part.textContent);
log.dots = [];
log.listeners.pointerdown({ pointerId: 1, clientX: 100, clientY: 100 });
log.listeners.pointermove({ clientX: 140, clientY: 100 });
log.listeners.pointerup({});
log.listeners.keydown({ key: "ArrowUp", preventDefault() {} });
const after = log.dots.slice(0, first.dots.length);
console.log(JSON.stringify({ ...first, caption: caption_words, dragged: after }));
