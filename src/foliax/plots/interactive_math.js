// Arithmetic of the interactive views: colours, interpolation, rotations of the sphere.
var foliaxMath = {
  // Interpolate the palette to 256 colours, 0xAABBGGRR.
  expandPalette(colours) {
    const parts = colours.map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
    return Uint32Array.from({ length: 256 }, (_, level) => {
      const at = (level / 255) * (parts.length - 1);
      const i = Math.min(Math.floor(at), parts.length - 2);
      const [r, g, b] = parts[i].map((v, k) => Math.round(v + (at - i) * (parts[i + 1][k] - v)));
      return (255 << 24) | (b << 16) | (g << 8) | r;
    });
  },

  // Interpolate linearly on the grid; columns always wrap, rows only if `wraps`.
  interpolate(grid, row, column, wraps) {
    const { rows, columns, levels } = grid;
    const r = Math.floor(row), c = Math.floor(column), u = row - r, v = column - c;
    const clip = (k) => (wraps ? (k + rows) % rows : Math.min(Math.max(k, 0), rows - 1)) * columns;
    const left = (c + columns) % columns, right = (c + 1 + columns) % columns;
    const a = clip(r), b = clip(r + 1);
    return (1 - u) * ((1 - v) * levels[a + left] + v * levels[a + right]) +
      u * ((1 - v) * levels[b + left] + v * levels[b + right]);
  },

  // Rows: east, north and up at (lat, lon) in degrees, above which the viewer is.
  basis(lat, lon) {
    const a = (lat * Math.PI) / 180, b = (lon * Math.PI) / 180;
    const [sa, ca, sb, cb] = [Math.sin(a), Math.cos(a), Math.sin(b), Math.cos(b)];
    return [[-sb, cb, 0], [-sa * cb, -sa * sb, ca], [ca * cb, ca * sb, sa]];
  },

  rotate: (m, x, y, z) => m.map((row) => row[0] * x + row[1] * y + row[2] * z),

  // Latitude and longitude in degrees of a position on the disk.
  latLonAt(m, x, y) {
    const h = Math.sqrt(Math.max(0, 1 - x * x - y * y));
    const d = [0, 1, 2].map((k) => m[0][k] * x + m[1][k] * y + m[2][k] * h);
    const lat = Math.atan2(d[2], Math.hypot(d[0], d[1]));
    return [(lat * 180) / Math.PI, (Math.atan2(d[1], d[0]) * 180) / Math.PI];
  },
};
