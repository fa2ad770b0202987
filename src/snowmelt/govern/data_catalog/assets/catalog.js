// Search without a server: every word must occur somewhere in an entry; names count before descriptions.
const field = document.getElementById("search");
const hits = document.getElementById("hits");

function score(entry, words) {
  const name = entry.name.toLowerCase();
  const all = `${entry.path} ${entry.kind} ${entry.about}`.toLowerCase();
  if (!words.every((word) => all.includes(word))) return 0;
  return 1 + words.filter((word) => name.includes(word)).length * 10 + (name === words.join(" ") ? 50 : 0);
}

field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = ENTRIES.map((entry) => [score(entry, words), entry])
    .filter(([points]) => words.length && points)
    .sort((a, b) => b[0] - a[0])
    .slice(0, 30);
  hits.replaceChildren(
    ...found.map(([, entry]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = entry.link;
      link.textContent = entry.path;
      item.append(link, ` ${entry.kind}`);
      return item;
    })
  );
});
