// What colours and signs mean, and what keys do.

function swatch(colour, hatched = false) {
  const made = element("span", {
    class: hatched ? "swatch hatched" : "swatch",
    "aria-hidden": "true",
  });
  made.style.setProperty("--swatch", colour);
  return made;
}

function legendGroup(title, entries) {
  const items = entries.map(([name, colour, hatched]) =>
    element("li", {}, swatch(colour, hatched), name),
  );
  return element("div", {}, element("h3", {}, title), element("ul", {}, ...items));
}

/** Fills the legend for schedules that share kinds and causes. @param {Schedule} schedule */
function drawLegend(schedule, look) {
  const last = schedule.kinds.length - 1;
  const kinds = schedule.kinds.map((name, kind) => [name, look.kinds[kind], kind === last]);
  const causes = schedule.causes.flatMap((name, cause) =>
    cause === 0 ? [] : [[name, look.causes[cause], false]],
  );
  byId("legend").replaceChildren(
    legendGroup("Scratchpad: kind of tensor", kinds),
    legendGroup("DMA and stalls: transfer", causes),
    element("h3", {}, "How to move"),
    element(
      "p",
      { id: "keys" },
      "Drag to pan, Shift and drag to zoom into a stretch, Ctrl and wheel (or wheel after a click) to zoom. ",
      "Keys: arrows pan, + and - zoom, 0 shows all, Escape ends following.",
    ),
  );
}
