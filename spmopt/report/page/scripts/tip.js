// Words beside the pointer.

/** Shows lines near a point of the window, the first one as a heading; no lines: nothing. */
function showTip(lines, x, y) {
  const tip = byId("tip");
  tip.hidden = lines.length === 0;
  if (tip.hidden) return;
  tip.replaceChildren(...lines.map((line, place) => element(place ? "span" : "strong", {}, line)));
  const { width, height } = tip.getBoundingClientRect();
  const right = x + 16 + width <= innerWidth - 8,
    below = y + 16 + height <= innerHeight - 8;
  tip.style.left = `${Math.max(8, right ? x + 16 : x - 16 - width)}px`;
  tip.style.top = `${Math.max(8, below ? y + 16 : y - 16 - height)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

addEventListener("scroll", hideTip, { passive: true });
