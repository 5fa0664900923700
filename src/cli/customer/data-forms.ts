/**
 * `get` and `cost` have a form for everything that can be read, so that options are validated before a request is sent.
 */
import type { CommandForm } from '../command.ts'
import { CONNECTION_OPTIONS } from './forms.ts'
import type { ReadableOperation } from './read-operations.ts'

/** The default of `--max-credits` with `--all`. */
export const USUAL_MAX_CREDITS = '10000'

export interface DataForm extends CommandForm {
  readonly operation: ReadableOperation
  readonly isCost: boolean
}

export function dataForms(operations: readonly ReadableOperation[]): DataForm[] {
  return operations.flatMap((operation) => {
    const { name, about, hasPrice, params } = operation
    const given = Object.fromEntries(
      params.map((param) => [param.name, { about: param.about, required: param.required }]),
    )
    const get = {
      name: `get ${name}`,
      about,
      options: { ...given, ...outputOptions(operation), ...CONNECTION_OPTIONS },
    }
    const forms: DataForm[] = [{ ...get, operation, isCost: false }]
    if (hasPrice)
      forms.push({
        name: `cost ${name}`,
        about: `What it would cost: ${about}`,
        options: { ...given, ...CONNECTION_OPTIONS },
        operation,
        isCost: true,
      })
    return forms
  })
}

function outputOptions({ columns, hasPrice }: ReadableOperation): CommandForm['options'] {
  const maxCredits = {
    about: 'Reads nothing that would cost more altogether; the price is asked first.',
  }
  if (columns === undefined)
    return {
      format: { about: 'table or json; left out: table on a terminal, otherwise json.' },
      ...(hasPrice ? { 'max-credits': maxCredits } : {}),
    }
  return {
    format: {
      about: 'table, ndjson, csv or json (a list); left out: table on a terminal, otherwise ndjson.',
    },
    csv: { about: 'The same as --format csv.', isFlag: true },
    all: { about: 'Reads all pages, not only the first.', isFlag: true },
    'max-credits': { about: `${maxCredits.about} With --all, left out: ${USUAL_MAX_CREDITS}.` },
    quiet: { about: 'No summary, no progress; gaps are still told.', isFlag: true },
  }
}

/** Maps `openInterest` and `open_interest` to `open-interest`, and `--tx-id` to `--tx_id`. */
export function usualSpelling(argv: readonly string[], operations: readonly ReadableOperation[]): string[] {
  const plain = (word: string) => word.replaceAll(/[-_]/g, '').toLowerCase()
  const operation = operations.find(({ name }) => argv.some((word) => plain(word) === plain(name)))
  return argv.map((word) => {
    if (operation === undefined) return word
    if (plain(word) === plain(operation.name) && !word.startsWith('-')) return operation.name
    const [, option = '', rest = ''] = /^--([\w-]+)(=.*)?$/s.exec(word) ?? []
    const param = operation.params.find(({ name }) => name === option.replaceAll('-', '_'))
    return param === undefined ? word : `--${param.name}${rest}`
  })
}
