/** Prints rows page by page. */
import { writeJson } from '../../../clients/typescript/src/exact-json.ts'
import { csvField, csvLine } from '../../contract/envelopes.ts'
import { createOutput, type Output } from '../output.ts'

export const ROW_FORMATS = ['table', 'ndjson', 'csv', 'json'] as const
export type RowFormat = (typeof ROW_FORMATS)[number]

type Row = Readonly<Record<string, unknown>>

interface RowPrinter {
  page(rows: readonly Row[]): string
  end(): string
}

export function createRowPrinter(format: RowFormat, columns: readonly string[]): RowPrinter {
  let isFirst = true
  const lineOf = (row: Row) => csvLine(columns.map((column) => csvField(plainValue(row[column]))))
  const once = (text: string) => {
    const shown = isFirst ? text : ''
    isFirst = false
    return shown
  }
  switch (format) {
    case 'ndjson':
      return { page: (rows) => rows.map((row) => `${writeJson(row)}\n`).join(''), end: () => '' }
    case 'csv':
      return { page: (rows) => once(csvLine(columns)) + rows.map(lineOf).join(''), end: () => '' }
    case 'json':
      return {
        page: (rows) => rows.map((row) => `${once('[\n') || ',\n'}${writeJson(row)}`).join(''),
        end: () => `${once('[')}\n]\n`,
      }
    case 'table':
      return { page: (rows) => tableText(rows, columns), end: () => '' }
  }
}

/** Prints one object, with a line for every field. */
export function fieldsText(record: Row): string {
  const fields = Object.entries(record).map(([name, value]) => [name, plainValue(value)])
  return printedBy((output) => output.print(Object.fromEntries(fields)))
}

/** Leaves out columns that no row fills. */
function tableText(rows: readonly Row[], columns: readonly string[]): string {
  const isFilled = (column: string) => rows.some((row) => row[column] !== null && row[column] !== undefined)
  const used = columns.filter(isFilled)
  const shown = rows.map((row) => Object.fromEntries(used.map((column) => [column, plainValue(row[column])])))
  return printedBy((output) => output.print(shown, used))
}

function printedBy(print: (output: Output) => void): string {
  const parts: string[] = []
  print(createOutput({ json: false, write: (part) => void parts.push(part) }))
  return parts.join('')
}

/** Lists, objects and long integers become JSON text; other values stay as they are. */
function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'object' && value !== null ? writeJson(value) : value
}
