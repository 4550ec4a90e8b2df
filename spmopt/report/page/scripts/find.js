// Search for a tensor or an operation by name.

const MOST_FOUND = 200;

/** Names that contain `text`, those that begin with it first: [name, isTensor, place]. */
function matches(schedule, text) {
  const wanted = text.toLowerCase(),
    found = [];
  for (const [names, isTensor] of [
    [schedule.tensors.name, true],
    [schedule.steps.name, false],
  ]) {
    names.forEach((name, place) => {
      const at = name.toLowerCase().indexOf(wanted);
      if (at >= 0 && found.length < 5000) found.push([name, isTensor, place, at, name.length]);
    });
  }
  return found
    .sort((a, b) => Math.min(a[3], 1) - Math.min(b[3], 1) || a[4] - b[4])
    .slice(0, MOST_FOUND);
}

/** Builds the search box. @param {Schedule} schedule */
function drawFind(schedule, board) {
  const input = element("input", {
    type: "search",
    id: "find-name",
    autocomplete: "off",
    spellcheck: "false",
  });
  const list = element("ul", { class: "found", "aria-label": "Tensors and operations found" });
  const go = ([, isTensor, place]) =>
    isTensor ? board.follow(place, true) : board.showStep(schedule, place);
  const refresh = () => {
    const text = input.value.trim(),
      found = text ? matches(schedule, text) : [];
    list.replaceChildren(
      ...found.slice(0, 8).map((match) => {
        const words = `${match[1] ? "tensor" : "operation"} ${shortened(match[0])}`;
        return element(
          "li",
          {},
          link(words, () => go(match)),
        );
      }),
    );
    list.hidden = found.length === 0;
    say(
      text
        ? `${found.length === MOST_FOUND ? "at least " : ""}${counted(found.length, "name")} found`
        : "",
    );
    return found;
  };
  list.hidden = true;
  input.addEventListener("input", settled(refresh, 120));
  const form = byId("find");
  form.append(element("label", { for: "find-name" }, "Find a tensor or operation"), input, list);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [first] = refresh();
    if (first) go(first);
  });
}
