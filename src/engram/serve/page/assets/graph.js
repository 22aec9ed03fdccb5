// The graph is drawn by the server, for wide pages and for narrow ones; this makes it move: nearer, farther, aside, and what is
// next to what.

const liven = (drawing) => {
  const whole = drawing.viewBox.baseVal;
  const all = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  let seen = { ...all };

  const look = (next) => {
    seen = next;
    drawing.setAttribute("viewBox", `${next.x} ${next.y} ${next.width} ${next.height}`);
    drawing.classList.toggle("zoomed", next.width < all.width);
  };

  const zoom = (factor, x = seen.x + seen.width / 2, y = seen.y + seen.height / 2) => {
    const width = Math.min(Math.max(seen.width * factor, all.width / 8), all.width * 1.5);
    const share = width / seen.width;
    look({ x: x - (x - seen.x) * share, y: y - (y - seen.y) * share, width, height: seen.height * share });
  };

  const move = (x, y) => look({ ...seen, x: seen.x + (x * seen.width) / 12, y: seen.y + (y * seen.width) / 12 });

  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    return [point.x, point.y];
  };

  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls as pages do
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.1 : 0.9, ...at(event));
  }, { passive: false });

  let held = null;
  drawing.addEventListener("pointerdown", (event) => {
    const grabs = event.pointerType === "mouse" ? event.button === 0 : seen.width < all.width; // else a finger scrolls the page
    if (!grabs || event.target.closest("a")) return;
    held = { x: event.clientX, y: event.clientY, from: { ...seen }, scale: 1 / drawing.getScreenCTM().a };
    drawing.classList.add("grabbed");
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!held) return;
    const { from, scale } = held;
    look({ ...from, x: from.x - (event.clientX - held.x) * scale, y: from.y - (event.clientY - held.y) * scale });
  });
  const release = () => {
    held = null;
    drawing.classList.remove("grabbed");
  };
  drawing.addEventListener("pointerup", release);
  drawing.addEventListener("pointercancel", release);

  const nodes = new Map([...drawing.querySelectorAll("[data-key]")].map((node) => [node.dataset.key, node]));
  const lines = [...drawing.querySelectorAll("line")];
  const near = (node) => {
    for (const one of drawing.querySelectorAll(".near")) one.classList.remove("near");
    drawing.classList.toggle("faint", node !== null);
    if (!node) return;
    node.classList.add("near");
    for (const line of lines) {
      const { a, b } = line.dataset;
      if (a !== node.dataset.key && b !== node.dataset.key) continue;
      line.classList.add("near");
      nodes.get(a)?.classList.add("near");
      nodes.get(b)?.classList.add("near");
    }
  };
  for (const node of nodes.values()) {
    node.addEventListener("pointerenter", () => near(node));
    node.addEventListener("pointerleave", () => near(null));
    node.addEventListener("focus", () => near(node));
    node.addEventListener("blur", () => near(null));
  }
  return { zoom, move, rest: () => look({ ...all }) };
};

const drawings = [...document.querySelectorAll("[data-graph]")].map(liven);
const nearer = () => drawings.forEach((one) => one.zoom(0.75));
const farther = () => drawings.forEach((one) => one.zoom(1 / 0.75));
const rest = () => drawings.forEach((one) => one.rest());
const aside = (x, y) => () => drawings.forEach((one) => one.move(x, y));

if (drawings.length) {
  const tools = document.querySelector(".graph-tools");
  tools.hidden = false;
  tools.addEventListener("click", (event) => ({ in: nearer, out: farther, all: rest })[event.target.dataset.zoom]?.());

  const keys = { "+": nearer, "=": nearer, "-": farther, 0: rest };
  Object.assign(keys, { ArrowLeft: aside(-1, 0), ArrowRight: aside(1, 0), ArrowUp: aside(0, -1), ArrowDown: aside(0, 1) });
  document.querySelector(".graph").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}
