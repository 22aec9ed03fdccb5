// The graph is drawn by the server; this makes it move: nearer, farther, aside, and what is next to what.

const drawing = document.querySelector("[data-graph]");
if (drawing) {
  const whole = drawing.viewBox.baseVal;
  const all = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  let seen = { ...all };
  const frame = document.querySelector(".graph");
  frame.scrollLeft = (frame.scrollWidth - frame.clientWidth) / 2; // a narrow page begins in the middle

  const look = (next) => {
    seen = next;
    drawing.setAttribute("viewBox", `${next.x} ${next.y} ${next.width} ${next.height}`);
  };

  const zoom = (factor, x = seen.x + seen.width / 2, y = seen.y + seen.height / 2) => {
    const width = Math.min(Math.max(seen.width * factor, all.width / 8), all.width * 1.5);
    const share = width / seen.width;
    look({ x: x - (x - seen.x) * share, y: y - (y - seen.y) * share, width, height: seen.height * share });
  };

  const at = (event) => {
    const box = drawing.getBoundingClientRect();
    return [seen.x + ((event.clientX - box.x) / box.width) * seen.width, seen.y + ((event.clientY - box.y) / box.height) * seen.height];
  };

  const tools = document.querySelector(".graph-tools");
  tools.hidden = false;
  tools.addEventListener("click", (event) => {
    const wanted = event.target.dataset.zoom;
    if (wanted === "in") zoom(0.75);
    if (wanted === "out") zoom(1 / 0.75);
    if (wanted === "all") look({ ...all });
  });

  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls as pages do
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.1 : 0.9, ...at(event));
  }, { passive: false });

  let held = null;
  drawing.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0 && !event.target.closest("a")) {
      held = { x: event.clientX, y: event.clientY, from: { ...seen } };
      drawing.classList.add("grabbed");
      drawing.setPointerCapture(event.pointerId);
    }
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!held) return;
    const scale = seen.width / drawing.getBoundingClientRect().width;
    look({ ...held.from, x: held.from.x - (event.clientX - held.x) * scale, y: held.from.y - (event.clientY - held.y) * scale });
  });
  const release = () => {
    held = null;
    drawing.classList.remove("grabbed");
  };
  drawing.addEventListener("pointerup", release);
  drawing.addEventListener("pointercancel", release);

  frame.addEventListener("keydown", (event) => {
    const step = seen.width / 12;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (event.key === "+" || event.key === "=") zoom(0.75);
    else if (event.key === "-") zoom(1 / 0.75);
    else if (event.key === "0") look({ ...all });
    else if (moves[event.key]) look({ ...seen, x: seen.x + moves[event.key][0], y: seen.y + moves[event.key][1] });
    else return;
    event.preventDefault();
  });

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
}
