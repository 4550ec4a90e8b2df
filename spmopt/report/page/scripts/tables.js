// The tables of a schedule: per layer, tensor, operation and cause of stall.

const PER = ["layer", "tensor", "operation", "cause"];

/** What a click on a row does. @param {Schedule} schedule */
function picker(schedule, per, board) {
  if (per === "tensor") return ([name]) => board.follow(schedule.tensorPlace.get(name), true);
  if (per === "operation")
    return ([name]) => board.showStep(schedule, schedule.stepPlace.get(name));
  if (per === "layer") return ([name, pass]) => board.showLayer(schedule, name, pass);
  return undefined;
}

/**
 * Tables of one or two schedules, one at a time; each is built when it is first looked at.
 * @param {Schedule[]} schedules @param {any[]} parts tables of each
 */
function drawTables(schedules, parts, board) {
  const place = byId("tables"),
    holder = element("div"),
    built = new Map();
  let [whose, per] = [0, "layer"];
  const show = () => {
    const key = `${whose} ${per}`,
      schedule = schedules[whose];
    if (!built.has(key)) {
      const mark = schedules.length > 1 ? ` of ${schedule.mark}` : "",
        file = `${per}${schedules.length > 1 ? `-${schedule.mark}` : ""}.csv`;
      const caption = per === "cause" ? `Causes of stalls${mark}` : `Figures per ${per}${mark}`;
      built.set(
        key,
        new DataTable({
          caption,
          file,
          ...parts[whose].tables[per],
          pick: picker(schedule, per, board),
        }),
      );
    }
    holder.replaceChildren(built.get(key).root);
  };
  const choices = [
    choiceOf("Figures per", PER, per, (name) => {
      per = name;
      show();
    }),
  ];
  if (schedules.length > 1) {
    const marks = schedules.map(({ mark }) => mark);
    choices.push(
      choiceOf("Schedule", marks, marks[0], (mark) => {
        whose = marks.indexOf(mark);
        show();
      }),
    );
  }
  place.replaceChildren(element("div", { class: "controls" }, ...choices), holder);
  show();
}
