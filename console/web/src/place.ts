// The line of a text that a place of the API names: "pools[1] (web).name" in YAML or in JSON with one member a line.
// 0: not found.
export function lineOf(text: string, place: string): number {
  const lines = text.split("\n");
  const indent = (line: string) => line.length - line.trimStart().length;
  const said = /\bline (\d+)/.exec(place);
  if (said) return Math.min(Number(said[1]), lines.length);
  let at = -1; // the line of the part that is found
  let from = 0; // the lines of what belongs to it
  let to = lines.length;
  // `start`: the end of what begins in that line, and is indented more than it, or is a list at its own depth.
  const endOf = (start: number, depth: number) => {
    let end = start + 1;
    while (end < lines.length && (lines[end]!.trim() === "" || indent(lines[end]!) > depth)) ++end;
    return end;
  };
  for (const [, name, index] of place.replace(/ \([^)]*\)/g, "").matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    let found = -1;
    if (name !== undefined) {
      const key = new RegExp(`^[\\s{-]*"?${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}"?\\s*:`);
      for (let i = from; i < to; ++i) {
        if (key.test(lines[i]!) && (found < 0 || indent(lines[i]!) < indent(lines[found]!))) found = i;
      }
    } else {
      const first = lines.findIndex((line, i) => i >= from && i < to && i !== at && line.trim() !== "");
      let left = Number(index);
      for (let i = first; first >= 0 && i < to && found < 0; ++i) {
        if (indent(lines[i]!) !== indent(lines[first]!) || /^\s*[\]}]/.test(lines[i]!)) continue;
        if (left-- === 0) found = i;
      }
    }
    if (found < 0) return at + 1; // one line holds the rest
    at = found;
    // The members of an item of a list begin in its own line.
    from = name === undefined ? at : at + 1;
    to = Math.min(to, endOf(at, indent(lines[at]!)));
    if (name !== undefined && from < lines.length && /^\s*- /.test(lines[from]!) && indent(lines[from]!) === indent(lines[at]!)) {
      to = from; // YAML may write a list at the depth of its key
      while (to < lines.length && (lines[to]!.trim() === "" || indent(lines[to]!) > indent(lines[at]!) || /^\s*- /.test(lines[to]!))) ++to;
    }
  }
  return at + 1;
}
