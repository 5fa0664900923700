/** Finds every cost, bound, default, gate and plan value in the sources, and a wrong value for each. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

export interface Mutant {
  file: string
  line: number
  /** Place of the changed text in the file. */
  from: number
  to: number
  was: string
  becomes: string
}

interface Pattern {
  /** The first group is what is changed. */
  pattern: RegExp
  change: (was: string) => string
}

const NUMBER = String.raw`(\d[\d_]*(?:\.\d+)?)`
const more = (was: string) => String(Number(was.replaceAll('_', '')) + 1)
const otherOf =
  (...values: string[]) =>
  (was: string) =>
    values.find((value) => value !== was) ?? was
/** A list without its last entry. */
const shorter = (was: string) => was.replace(/,?\s*'[^']*'\s*,?\s*$/, '')

const DECLARATIONS: readonly Pattern[] = [
  { pattern: new RegExp(String.raw`\b(?:base|flat)\(${NUMBER}\)`, 'g'), change: more },
  { pattern: new RegExp(String.raw`\.perRow\(${NUMBER}\)`, 'g'), change: more },
  { pattern: new RegExp(String.raw`\.per\(\s*'[^']*',\s*${NUMBER}`, 'g'), change: more },
  { pattern: new RegExp(String.raw`\.perRowWhen\(\s*'[^']*',\s*${NUMBER}`, 'g'), change: more },
  { pattern: new RegExp(String.raw`\b(?:min|max|default|minimum|maximum): ${NUMBER}`, 'g'), change: more },
  { pattern: /cost: (noCredits)\b/g, change: () => 'noCredits.perRow(1)' },
  { pattern: /access: \{[^}]*?\btier: ('(?:free|pro|business)')/g, change: otherOf("'business'", "'pro'") },
  { pattern: /needsTier\(\s*('(?:free|pro|business)')/g, change: otherOf("'pro'", "'free'") },
  { pattern: /\bof: ('[a-z_]+')/g, change: otherOf("'flow'", "'candles'") },
  { pattern: /whenOlder: ('(?:clamp|refuse)')/g, change: otherOf("'clamp'", "'refuse'") },
  { pattern: /refusal: ('[a-z_]+')/g, change: otherOf("'plan_required'", "'tier_restricted'") },
  { pattern: /rateLimitError: ('[a-z_]+')/g, change: otherOf("'rate_limited'") },
  {
    pattern: /const (?:SOURCES|INTERVALS|STEPS|SNAPSHOT_SOURCES|MARKET_TYPES) = \[([^\]]+)\]/g,
    change: shorter,
  },
  { pattern: /choice\(\s*'[^']*',\s*\[([^\]]+)\]/g, change: shorter },
  { pattern: /\{ source: ('[a-z_]+')/g, change: otherOf("'oracle'") },
  { pattern: /at\([^)]*\{[^}]*(?:active|include_orderbook): (true)/g, change: () => 'false' },
]

/** `withDefault(inner, value)`: the value is last, wherever the parentheses of the inner one end. */
const WITH_DEFAULT = /withDefault\(/g

const PLAN_VALUES: readonly Pattern[] = [
  { pattern: new RegExp(String.raw`^\s+[a-z_A-Z]+: ${NUMBER},`, 'gm'), change: more },
  { pattern: new RegExp(`DAYS = ${NUMBER}`, 'g'), change: more },
  { pattern: /^\s+[a-z_]+: (null),/gm, change: () => '31' },
  { pattern: /tier: ('[a-z]+'),/g, change: otherOf("'business'", "'pro'") },
  { pattern: /finestCandle: ('[0-9a-z]+'),/g, change: otherOf("'1m'") },
]

const ERROR_VALUES: readonly Pattern[] = [{ pattern: new RegExp(`status: ${NUMBER}`, 'g'), change: more }]

/** What they bound is the node's own form of a transaction, not a value of the contract. */
const NODE_FORMS = ['chain/transaction-schema.ts', 'chain/rpc-schema.ts']
/** Progress of the recorders and the place to replay from: additions of ours without a bound in the contract. */
const OWN_BOUNDS = ['account/status.ts', 'webhooks/replay-webhook.ts']

export function findMutants(): Mutant[] {
  const endpoints = globSync('src/api/endpoints/**/*.ts', { cwd: ROOT }).filter(
    (f) => !f.endsWith('.test.ts') && ![...NODE_FORMS, ...OWN_BOUNDS].some((form) => f.endsWith(form)),
  )
  return [
    ...endpoints.sort().flatMap((file) => {
      const text = read(file)
      return [...matches(file, text, DECLARATIONS), ...defaults(file, text), ...boundConstants(file, text)]
    }),
    ...matches('src/contract/params.ts', read('src/contract/params.ts'), [
      { pattern: new RegExp(String.raw`\{ min: ${NUMBER}, max: bounds`, 'g'), change: more },
    ]),
    ...matches('src/core/plan.ts', read('src/core/plan.ts'), PLAN_VALUES),
    ...matches('src/core/errors.ts', read('src/core/errors.ts'), ERROR_VALUES),
    ...matches('src/core/source.ts', read('src/core/source.ts'), [
      { pattern: /PREDICTION_INTERVALS = \[([^\]]+)\]/g, change: shorter },
      { pattern: /candleIntervals: \[([^\]]+)\]/g, change: shorter },
    ]),
    ...matches('src/core/interval.ts', read('src/core/interval.ts'), [
      { pattern: /CANDLE_INTERVALS = \[([^\]]+)\]/g, change: shorter },
    ]),
    ...matches('src/core/rows/market.ts', read('src/core/rows/market.ts'), [
      { pattern: /MARKET_TYPES = \[([^\]]+)\]/g, change: shorter },
    ]),
    ...matches('src/webhooks/credits.ts', read('src/webhooks/credits.ts'), [
      { pattern: new RegExp(`CREDITS_PER_EVENT = ${NUMBER}`, 'g'), change: more },
    ]),
    ...matches('src/core/symbol.ts', read('src/core/symbol.ts'), [
      { pattern: /SYMBOLS = \[([^\]]+)\]/g, change: shorter },
    ]),
  ]
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

function matches(file: string, text: string, patterns: readonly Pattern[]): Mutant[] {
  return patterns.flatMap(({ pattern, change }) =>
    [...text.matchAll(pattern)].flatMap((match) => {
      const was = match[1] ?? ''
      return [mutant(file, text, match.index + match[0].lastIndexOf(was), was, change(was))]
    }),
  )
}

function mutant(file: string, text: string, from: number, was: string, becomes: string): Mutant {
  const line = text.slice(0, from).split('\n').length
  return { file, line, from, to: from + was.length, was, becomes }
}

function defaults(file: string, text: string): Mutant[] {
  return [...text.matchAll(WITH_DEFAULT)].flatMap((match) => {
    const end = closing(text, match.index + match[0].length)
    const last = /,\s*('[^']*'|[\d_.]+|true|false),?\s*$/.exec(text.slice(match.index, end))
    const was = last?.[1]
    if (was === undefined || last === null) return []
    const from = match.index + last.index + last[0].indexOf(was)
    const becomes = was.startsWith("'") ? "'wrong'" : /^\d/.test(was) ? more(was) : String(was !== 'true')
    return [mutant(file, text, from, was, becomes)]
  })
}

/** Where the parenthesis that was opened before `from` closes. */
function closing(text: string, from: number): number {
  let depth = 1
  for (let i = from; i < text.length; i++) {
    if (text[i] === '(') depth++
    else if (text[i] === ')' && --depth === 0) return i
  }
  return text.length
}

/** Named numbers that are a bound. */
function boundConstants(file: string, text: string): Mutant[] {
  const named = [...text.matchAll(/\b(?:min|max|default): ([A-Z][A-Z_]+)/g)].map((match) => match[1] ?? '')
  return [...new Set(named)].flatMap((name) =>
    matches(file, text, [{ pattern: new RegExp(`const ${name} = ${NUMBER}`, 'g'), change: more }]),
  )
}
