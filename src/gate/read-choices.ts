import type { AnyEndpoint } from '../contract/endpoint.ts'
import { FORMATS, type Format } from '../contract/envelopes.ts'
import { ParamRefusal, readBoolean } from '../contract/params.ts'
import type { InputFault } from '../core/errors.ts'
import type { Query } from './query.ts'

/** The parameters that the gate itself reads: `dry_run` and `format`. */
export interface Choices {
  readonly dryRun: boolean
  readonly format: Format
  readonly faults: readonly InputFault[]
}

const GET_PARAMS = ['dry_run']
const LIST_PARAMS = ['dry_run', 'format']
const NO_PARAMS: string[] = []
const NO_FAULTS: InputFault[] = []

export function gateParams<Services>(endpoint: AnyEndpoint<Services>): readonly string[] {
  if (endpoint.method !== 'GET') return NO_PARAMS
  return endpoint.returns.kind === 'list' ? LIST_PARAMS : GET_PARAMS
}

export function readChoices<Services>(
  endpoint: AnyEndpoint<Services>,
  query: Query,
  accept: string | undefined,
): Choices {
  const isList = endpoint.returns.kind === 'list'
  const dryText = endpoint.method === 'GET' ? query.values.get('dry_run') : undefined
  const formatText = isList ? query.values.get('format') : undefined
  const asked = FORMATS.find((name) => name === formatText)
  const format = asked ?? (isList ? acceptedFormat(accept) : 'json')
  if (dryText === undefined && formatText === undefined) return { dryRun: false, format, faults: NO_FAULTS }
  const faults: InputFault[] = []
  const dryRun = dryText === undefined ? false : readBoolean(dryText)
  if (dryRun instanceof ParamRefusal) faults.push(fault('dry_run', dryRun.allowed ?? []))
  if (formatText !== undefined && asked === undefined) faults.push(fault('format', FORMATS))
  return { dryRun: dryRun === true, format, faults }
}

function fault(param: string, allowed: readonly (string | number)[]): InputFault {
  return { param, error: 'invalid_param', message: `${param} must be one of ${allowed.join(', ')}.`, allowed }
}

const MEDIA_TYPES: ReadonlyMap<string, Format> = new Map([
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['text/csv', 'csv'],
])

/** The format with the highest weight, or the first one among equals; JSON if none matches. */
export function acceptedFormat(accept: string | undefined): Format {
  if (accept === undefined || accept === '*/*') return 'json'
  let best: Format = 'json'
  let bestWeight = 0
  for (const part of accept.split(',')) {
    const [type = '', ...options] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const format = MEDIA_TYPES.get(type)
    const q = options.find((option) => option.startsWith('q='))
    const weight = q === undefined ? 1 : Number(q.slice(2)) || 0
    if (format === undefined || weight <= bestWeight) continue
    best = format
    bestWeight = weight
  }
  return best
}
