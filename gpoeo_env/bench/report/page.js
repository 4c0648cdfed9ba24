"use strict";
document.documentElement.classList.add("scripted");

/* Point at a policy anywhere, and it stands out everywhere in its section. */
for (const section of document.querySelectorAll("section.block")) {
  const bring = (policy) => {
    for (const part of section.querySelectorAll("[data-policy]")) {
      part.classList.toggle("faded", policy !== null && part.dataset.policy !== policy);
    }
  };
  for (const part of section.querySelectorAll(".legend [data-policy], .ranking [data-policy], .point, .series")) {
    part.addEventListener("pointerenter", () => bring(part.dataset.policy));
    part.addEventListener("pointerleave", () => bring(null));
  }
}

/* Click a heading of the ranking to sort by it. */
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const rises = head.getAttribute("aria-sort") === "descending";
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rises ? "ascending" : "descending");
      const value = (row) => {
        const text = row.children[head.cellIndex].dataset.value;
        return text === "" ? -Infinity : Number(text);
      };
      const rows = [...body.rows].sort((a, b) => (value(a) - value(b)) * (rises ? 1 : -1));
      body.append(...rows);
    });
  }
}

/* Step through an episode. */
for (const player of document.querySelectorAll(".player")) {
  const stories = JSON.parse(player.querySelector("script[type='application/json']").textContent);
  const [pick, range, play] = ["select", "input[type=range]", "button.play"].map((what) => player.querySelector(what));
  const episodes = [...player.querySelectorAll(".episode")];
  let timer = null;

  const show = () => {
    const story = stories[pick.value];
    const step = story[range.value];
    const end = story[story.length - 1].end;
    for (const episode of episodes) episode.hidden = episode.dataset.episode !== pick.value;
    const middle = `${(50 * (step.start + step.end)) / end}%`;
    for (const frame of episodes[pick.value].querySelectorAll(".frame")) {
      let cursor = frame.querySelector(".cursor");
      if (!cursor) {
        cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
        cursor.setAttribute("class", "cursor");
        cursor.setAttribute("y2", "100%");
        frame.append(cursor);
      }
      cursor.setAttribute("x1", middle);
      cursor.setAttribute("x2", middle);
    }
    for (const field of player.querySelectorAll("[data-field]")) field.textContent = step[field.dataset.field] || "–";
    const where = `window ${Number(range.value) + 1} of ${story.length}, minute ${step.start.toFixed(1)} to ${step.end.toFixed(1)}`;
    player.querySelector(".where").textContent = where;
    range.setAttribute("aria-valuetext", where);
  };
  const move = (by) => {
    range.value = Number(range.value) + by;
    show();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  pick.addEventListener("change", () => {
    range.max = stories[pick.value].length - 1;
    range.value = 0;
    show();
  });
  range.addEventListener("input", show);
  player.querySelector("button.back").addEventListener("click", () => move(-1));
  player.querySelector("button.next").addEventListener("click", () => move(1));
  play.addEventListener("click", () => {
    if (timer !== null) return stop();
    if (range.value === range.max) range.value = 0;
    play.textContent = "Pause";
    timer = setInterval(() => (range.value === range.max ? stop() : move(1)), 150);
  });
  show();
}
