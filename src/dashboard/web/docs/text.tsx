import type { ComponentChildren } from 'preact'

/** The small part of Markdown that descriptions use: paragraphs, tables, code. */
export function Text({ children }: { children: string }) {
  return (
    <>
      {children.split('\n\n').map((block) => (block.startsWith('|') ? table(block) : <p>{inline(block)}</p>))}
    </>
  )
}

export function inline(text: string): ComponentChildren[] {
  return text
    .split(/(`[^`]+`)/)
    .map((part) => (part.startsWith('`') ? <code>{part.slice(1, -1)}</code> : part))
}

function table(block: string) {
  const [head = [], , ...rows] = block.split('\n').map((line) => line.split('|').slice(1, -1))
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {head.map((cell) => (
              <th>{cell.trim()}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{inline(cell.trim())}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
