// What differs between two texts, as the API writes it.
import type { TextDiff } from "@api";

// A line of the API begins with two blanks, its sign and a blank.
function DiffLine({ line }: { line: string }) {
  const sign = line.slice(2, 3);
  const kind = sign === "+" ? "plus" : sign === "-" ? "minus" : "same";
  return <span class={`diff-${kind}`}>{line + "\n"}</span>;
}

export function TextDiffs({ changes }: { changes: TextDiff[] }) {
  return (
    <>
      {changes.map((change) => (
        <div key={`${change.configMap} ${change.key}`}>
          <h3>
            {change.configMap} <code>{change.key}</code>
          </h3>
          <pre class="diff" tabIndex={0} aria-label={`${change.configMap} ${change.key}`}>
            {change.diff.replace(/\n$/, "").split("\n").map((line, i) => (
              <DiffLine key={i} line={line} />
            ))}
          </pre>
        </div>
      ))}
    </>
  );
}
