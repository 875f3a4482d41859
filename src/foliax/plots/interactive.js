// An interactive view of a density: a globe, a map of two angles, a ball of rotations.
// foliaxView(figure) reads the JSON inside the figure and draws on its canvas. It needs
// interactive_math.js and no library.
function foliaxView(figure) {
  "use strict";
  const { expandPalette, rotate, latLonAt } = foliaxMath;
  const view = JSON.parse(figure.querySelector("script").textContent);
  const canvas = figure.querySelector("canvas");
  const caption = figure.querySelector("figcaption");
  const context = canvas.getContext("2d");
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const unpack = (packed) => Float32Array.from(
    new Int16Array(bytes(packed.values).buffer), (v) => v / 32767);
  const palette = expandPalette(view.palette);
  const points = unpack(view.points);
  const grid = view.grid && { ...view.grid, levels: bytes(view.grid.levels) };
  const cloud = view.cloud && unpack(view.cloud);
  const shades = view.levels && bytes(view.levels);
  const [lat, lon] = view.facing || [20, 30];
  const state = { lat, lon, zoom: view.zoom || 1, x: 0, y: 0, busy: false };
  // Radius of the globe as a fraction of the canvas.
  const radius = () => 0.49 * state.zoom;
  const basis = () => foliaxMath.basis(state.lat, state.lon);
  const interpolate = (...at) => foliaxMath.interpolate(grid, ...at);
  let side = 0;

  const css = (level) => {
    const c = palette[level];
    return `rgb(${c & 255},${(c >> 8) & 255},${(c >> 16) & 255})`;
  };

  const onGlobe = (lat, lon) => interpolate(
    ((lat + 90) / 180) * grid.rows - 0.5, ((lon + 180) / 360) * grid.columns - 0.5, false);

  function raster(colourAt) {
    // Draw coarsely during a drag, so that it stays smooth on a phone.
    const step = state.busy ? 2 : 1, n = Math.ceil(side / step);
    const image = context.createImageData(n, n);
    const pixels = new Uint32Array(image.data.buffer);
    for (let j = 0; j < n; j++)
      for (let i = 0; i < n; i++) pixels[j * n + i] = colourAt((i + 0.5) / n, (j + 0.5) / n);
    if (step === 1) return context.putImageData(image, 0, 0);
    const small = document.createElement("canvas");
    small.width = small.height = n;
    small.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(small, 0, 0, side, side);
  }

  function dot(x, y, size, fill, edge) {
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    if (edge) { context.strokeStyle = edge; context.stroke(); }
  }
  const dotSize = () => (side / 420) * Math.min(3, Math.max(1.2, 40 / Math.sqrt(points.length / 3 + 1)));

  // Draw the visible part of a line of [lon, lat] in degrees; null is a gap.
  function path(m, line, colour) {
    context.strokeStyle = colour;
    context.beginPath();
    let on = false;
    for (const point of line) {
      const [lon, lat] = point ? point.map((v) => (v * Math.PI) / 180) : [0, 0];
      const [x, y, z] = rotate(
        m, Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat));
      const visible = point !== null && z > 0;
      if (visible)
        context[on ? "lineTo" : "moveTo"]((0.5 + radius() * x) * side, (0.5 - radius() * y) * side);
      on = visible;
    }
    context.stroke();
  }
  const graticuleStep = () => [30, 10, 5].find((degrees) => degrees * state.zoom <= 30) || 5;
  function graticule(m, colour) {
    const along = (n, f) => Array.from({ length: n + 1 }, (_, i) => f(i / n));
    const step = graticuleStep();
    for (let lon = -180; lon < 180; lon += step)
      path(m, along(90, (t) => [lon, 180 * t - 90]), colour);
    for (let lat = step - 90; lat < 90; lat += step)
      path(m, along(180, (t) => [360 * t, lat]), colour);
  }

  const draw = {
    globe() {
      const m = basis();
      raster((i, j) => {
        const x = (i - 0.5) / radius(), y = (0.5 - j) / radius();
        return x * x + y * y > 1 ? 0 : palette[Math.round(onGlobe(...latLonAt(m, x, y)))];
      });
      context.lineWidth = side / 900;
      graticule(m, "rgba(255,255,255,0.4)");
      for (const line of view.coasts) path(m, line, "rgba(255,255,255,0.9)");
      for (let k = 0; k < points.length; k += 3) {
        const [x, y, z] = rotate(m, points[k], points[k + 1], points[k + 2]);
        const [across, down] = [0.5 + radius() * x, 0.5 - radius() * y];
        if (z > 0) dot(across * side, down * side, dotSize(), "#fff", "#000");
      }
      edgeLabels(m);
    },
    torus() {
      raster((i, j) => palette[Math.round(interpolate(
        ((1 - j + state.y) % 1) * grid.rows - 0.5, ((i + state.x) % 1) * grid.columns - 0.5, true))]);
      context.lineWidth = side / 900;
      for (let k = 0; k < points.length; k += 2) {
        const x = (points[k] - state.x + 2) % 1, y = (points[k + 1] - state.y + 2) % 1;
        dot(x * side, (1 - y) * side, dotSize(), "#fff", "#000");
      }
      ticks();
    },
    ball() {
      const m = basis();
      context.clearRect(0, 0, side, side);
      context.lineWidth = side / 900;
      graticule(m, "rgba(128,128,128,0.5)");
      const all = [];
      for (let k = 0; k < cloud.length; k += 3)
        all.push([...rotate(m, cloud[k], cloud[k + 1], cloud[k + 2]), css(shades[k / 3]), null]);
      for (let k = 0; k < points.length; k += 3)
        all.push([...rotate(m, points[k], points[k + 1], points[k + 2]), "#fff", "#000"]);
      // Draw far dots first, and smaller.
      all.sort((a, b) => a[2] - b[2]);
      for (const [x, y, z, fill, edge] of all) {
        const size = dotSize() * (1 + 0.35 * z);
        dot((0.5 + 0.46 * x) * side, (0.5 - 0.46 * y) * side, size, fill, edge);
      }
      ["x", "y", "z"].forEach((name, k) => {
        const [x, y] = rotate(m, ...[0, 1, 2].map((i) => (i === k ? 1.03 : 0)));
        drawText(name, (0.5 + 0.46 * x) * side, (0.5 - 0.46 * y) * side);
      });
    },
  };

  function drawText(text, x, y) {
    context.font = `${Math.round(side / 32)}px sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = side / 140;
    context.strokeStyle = "rgba(0,0,0,0.75)";
    context.strokeText(text, x, y);
    context.fillStyle = "#fff";
    context.fillText(text, x, y);
  }
  const value = (axis, share) => axis.start + axis.period * (((share % 1) + 1) % 1);
  const format = (v) => String(+v.toPrecision(3)).replace("-", "−");
  function ticks() {
    for (let k = 0; k < 6; k++) {
      const x = (k / 6 - state.x + 2) % 1, y = (k / 6 - state.y + 2) % 1;
      const [across, up] = view.axes.map((axis) => format(value(axis, k / 6)));
      if (x > 0.08 && x < 0.95) drawText(across, x * side, 0.975 * side);
      if (y > 0.08 && y < 0.95) drawText(up, 0.045 * side, (1 - y) * side);
    }
  }

  // Label latitudes at the left edge and longitudes at the bottom edge of a zoomed globe.
  function edgeLabels(m) {
    if (state.zoom < 1.4) return;
    const step = graticuleStep(), n = 200;
    for (const k of [0, 1]) {
      let last = null;
      for (let i = 0.06 * n; i <= 0.94 * n; i++) {
        const [x, y] = k ? [i / n, 0.97] : [0.05, i / n];
        const [across, up] = [(x - 0.5) / radius(), (0.5 - y) / radius()];
        const at = across ** 2 + up ** 2 < 0.95 ? latLonAt(m, across, up)[k] : null;
        const line = at !== null && last !== null && Math.abs(at - last) < step
          ? step * Math.round(at / step) : NaN;
        if ((at - line) * (last - line) <= 0 && at !== last) drawText(formatDegrees(k, line), x * side, y * side);
        last = at;
      }
    }
  }
  // Format degrees of latitude (k = 0) or longitude (k = 1) in the unit of the axis.
  function formatDegrees(k, at) {
    const axis = view.axes[k], share = at / 360;
    const shown = k ? value(axis, share - axis.start / axis.period) : axis.period * share;
    return format(Math.round(1e4 * shown) / 1e4) + unit(axis);
  }

  // Format the density at a level of the colour scale.
  function formatDensity(at) {
    const { low, high, log } = view.scale, t = at / 255;
    const v = log ? low * (high / low) ** t : low + t * (high - low);
    return (t <= 0 && low > 0 ? "≤ " : t >= 1 ? "≥ " : "") + format(v) + "×";
  }
  const unit = (axis) => (axis.unit === "°" ? "°" : " " + axis.unit);
  function readout(x, y) {
    if (view.kind === "torus") {
      const a = (x + state.x) % 1, b = (1 - y + state.y) % 1;
      const at = interpolate(b * grid.rows - 0.5, a * grid.columns - 0.5, true);
      const names = view.axes.map((axis, k) =>
        `${axis.name} ${format(value(axis, k ? b : a))}${unit(axis)}`);
      return `${names.join(", ")}: ${formatDensity(at)} uniform`;
    }
    const across = (x - 0.5) / radius(), up = (0.5 - y) / radius();
    if (view.kind !== "globe" || across ** 2 + up ** 2 > 1) return "";
    const [lat, lon] = latLonAt(basis(), across, up);
    const names = view.axes.map((axis, k) => `${axis.name} ${formatDegrees(k, [lat, lon][k])}`);
    return `${names.join(", ")}: ${formatDensity(onGlobe(lat, lon))} uniform`;
  }

  function describe() {
    const line = (text) => {
      const part = document.createElement("div");
      part.textContent = text;
      caption.appendChild(part);
      return part;
    };
    if (view.title) line(view.title).style.fontWeight = "bold";
    if (view.kind === "torus")
      line(`→ ${view.axes[0].name} (${view.axes[0].unit}), ↑ ${view.axes[1].name} (${view.axes[1].unit})`);
    if (view.kind === "ball") line("axis × angle; rim: rotation by 180°");
    const bar = line("");
    bar.style.cssText = "height:0.7em;margin:0.4em 15%;background:linear-gradient(90deg," +
      view.palette.join(",") + ")";
    line(`${formatDensity(0)} ← ${view.density}${view.scale.log ? ", logarithmic" : ""} → ${formatDensity(255)}`);
    if (view.data) line(`○ ${view.data}`);
    return line("\u00a0");
  }
  const status = describe();

  function render() {
    // A canvas inside a closed <details> has no width.
    if (!canvas.clientWidth) return;
    const pixels = Math.round(canvas.clientWidth * Math.min(2, window.devicePixelRatio || 1));
    if (pixels !== side) { side = pixels; canvas.width = canvas.height = side; }
    context.clearRect(0, 0, side, side);
    draw[view.kind]();
  }
  let waiting = false;
  function scheduleRender() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; render(); });
  }
  // Move by fractions of the canvas' width, to the right and up.
  function move(dx, dy) {
    if (view.kind === "torus") {
      state.x = (state.x - dx + 1) % 1;
      state.y = (state.y - dy + 1) % 1;
    } else {
      state.lon = ((state.lon - (120 / state.zoom) * dx + 540) % 360) - 180;
      state.lat = Math.min(90, Math.max(-90, state.lat - (120 / state.zoom) * dy));
    }
    scheduleRender();
  }
  let last = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    if (last === null) {
      const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      status.textContent = readout(x, y) || "\u00a0";
      return;
    }
    state.busy = true;
    move((event.clientX - last[0]) / box.width, (last[1] - event.clientY) / box.width);
    last = [event.clientX, event.clientY];
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, () => { last = null; state.busy = false; scheduleRender(); });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const step = steps[event.key], factor = { "+": 1.5, "-": 1 / 1.5 }[event.key];
    if (!step && !(factor && view.kind === "globe")) return;
    event.preventDefault();
    if (step) move(0.05 * step[0], 0.05 * step[1]);
    else zoom(factor);
  });
  function zoom(factor) {
    state.zoom = Math.min(12, Math.max(1, state.zoom * factor));
    scheduleRender();
  }
  function button(text, name, factor) {
    const part = document.createElement("button");
    part.type = "button";
    part.textContent = text;
    part.setAttribute("aria-label", name);
    part.style.cssText = "width:2em;height:2em;margin:0.2em";
    part.addEventListener("click", () => zoom(factor));
    caption.appendChild(part);
  }
  if (view.kind === "globe") {
    button("+", "zoom in", 1.5);
    button("−", "zoom out", 1 / 1.5);
  }
  new ResizeObserver(scheduleRender).observe(canvas);
  render();
}
