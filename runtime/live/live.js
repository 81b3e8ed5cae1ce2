// follow asks the program that serves the page for what changed, until the program answers no more, and passes it on.
// It rests ten times as long as an answer takes to show, a second at least.
async function follow(changed) {
  const {live, version} = document.body.dataset, state = document.getElementById("live");
  if (!live) return;
  let known = version, rest = 1000;
  state.textContent = "running";
  for (;;) {
    await new Promise(done => setTimeout(done, rest));
    const begin = performance.now();
    let answer, content;
    try {
      answer = await fetch(`${live}&version=${known}`);
      if (answer.status === 200) content = await answer.arrayBuffer();
    } catch { // no answer
      break;
    }
    if (!answer.ok) break;
    if (content) {
      known = answer.headers.get("Version");
      changed(content);
    }
    rest = Math.max(1000, 10 * (performance.now() - begin));
  }
  state.textContent = "ended";
}
