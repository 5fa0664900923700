/** The output of commands, as tables or JSON. */
export interface Output {
  /** Prints one record or a list of them; a table has the named columns. */
  print(value: unknown, columns?: readonly string[]): void
  line(text: string): void
}

export function createOutput(options: { json: boolean; write: (text: string) => void }): Output {
  const line = (text: string) => options.write(`${text}\n`)
  return {
    line,
    print(value, columns) {
      if (options.json) line(JSON.stringify(value))
      else if (Array.isArray(value)) line(table(value, columns))
      else line(fields(value as Record<string, unknown>))
    },
  }
}

function fields(record: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length))
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}  ${show(value)}`)
    .join('\n')
}

function table(
  rows: Record<string, unknown>[],
  columns: readonly string[] = Object.keys(rows[0] ?? {}),
): string {
  if (rows.length === 0) return 'nothing to show'
  const cells = [[...columns], ...rows.map((row) => columns.map((column) => show(row[column])))]
  const widths = columns.map((_, index) => Math.max(...cells.map((cell) => (cell[index] ?? '').length)))
  return cells
    .map((cell) =>
      cell
        .map((text, index) => text.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function show(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.join(',')
  return String(value)
}
