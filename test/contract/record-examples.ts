/**
 * npm run examples [part of an operation's name …]: starts the service with its sandbox, asks every operation as the
 * served document fills it in, and writes the answers as the examples of the OpenAPI document.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { publishedRoutes } from '../../src/api/publish/router.ts'
import { ask } from '../fakes/client.ts'
import { expandDocument } from '../fakes/expand-document.ts'
import { startReceiver } from '../fakes/receiver.ts'
import { dataFolder, printedKey, spawnService } from '../fakes/service.ts'
import { type Document, type Tried, tryAll } from '../fakes/try-it.ts'
import { shortenAnswer } from './shorten-answer.ts'

const FILE = join(import.meta.dirname, '../../src/api/publish/examples.json')
/** One row shows a list; every one of its fields is in it. */
const SHORT = { limit: '1', depth: '2' }
/** A fresh sandbox has no hour of these yet. */
const FINE = ['GET /v1/open-interest', 'GET /v1/perpdex/open-interest']
const valuesOf = (name: string) => (FINE.includes(name) ? { ...SHORT, interval: '5m' } : SHORT)
/** Only ends what hangs: the sandbox needs a few minutes for its first covenant, token and resolved market. */
const LIMIT_MS = 30 * 60_000
const PAUSE_MS = 2_000
const ALL = 'all recorded'
/** An answer that contains itself would never end. */
const OF_ITSELF = ['GET /openapi.json', 'GET /asyncapi.json']

const ENDPOINT_OF = new Map(
  publishedRoutes(ENDPOINTS).map(({ method, path, endpoint }) => [
    `${method} ${path}`,
    `${method} ${endpoint.path}`,
  ]),
)

interface Recorded {
  samples: Record<string, unknown>
  answers: Record<string, unknown>
}

const wanted = process.argv.slice(2)
const isChosen = (name: string) =>
  !OF_ITSELF.includes(name) && (wanted.length === 0 || wanted.some((part) => name.includes(part)))
const before = JSON.parse(readFileSync(FILE, 'utf8')) as Recorded
const folder = dataFolder()
const receiver = await startReceiver()
const service = await spawnService(folder.path, {
  env: {
    TAPELINE_SANDBOX: 'on',
    TAPELINE_FIRST_FILL_DAYS: '1',
    TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on',
  },
})
try {
  const key = await printedKey(service)
  const answers: Record<string, unknown> = {}
  let samples: Recorded['samples'] = {}
  const endsAt = performance.now() + LIMIT_MS
  for (let state = 'nothing recorded'; state !== ALL; process.stderr.write(`${state}\n`)) {
    // Half of them would be worse than those of last time.
    if (performance.now() > endsAt) throw new Error(`${state}; nothing was written`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    const document = expandDocument((await ask(`${service.url}/openapi.json`)).json as unknown as Document)
    const tried = await tryAll(service.url, key, document, { receiver: receiver.url, values: valuesOf })
    const current = samplesOf(document)
    if (current.transaction === undefined || current.market === undefined) continue
    // Answers and the values of their requests belong together: both are of the same round.
    samples = current
    for (const one of tried) if (isTelling(one)) answers[one.name] = one.answer.json
    const missing = tried.filter(({ name }) => answers[name] === undefined && isChosen(name))
    state = missing.length === 0 ? ALL : `waiting for ${missing.map(show).join(', ')}`
  }
  const kept = Object.entries(before.answers).filter(([name]) => !isChosen(name))
  const fresh = Object.entries(answers).filter(([name]) => isChosen(name))
  const sorted = [...kept, ...fresh]
    .filter(([name, answer]) => showsMore(name, answer, { ...before.answers, ...answers }))
    .map(([name, answer]): [string, unknown] => [name, shortenAnswer(answer)])
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const recorded: Recorded = {
    samples: wanted.length === 0 ? samples : before.samples,
    answers: Object.fromEntries(sorted),
  }
  // The receiver of the recording is replaced by the one that the document names.
  const text = JSON.stringify(recorded, null, 2).replaceAll(receiver.url, 'https://example.com/hook')
  writeFileSync(FILE, `${text}\n`)
} finally {
  await service.kill('SIGKILL')
  await receiver.close()
  folder.remove()
}

/** Another path to an endpoint has an answer of its own where its rows have other fields. */
function showsMore(name: string, answer: unknown, all: Record<string, unknown>): boolean {
  const main = ENDPOINT_OF.get(name) ?? name
  return main === name || fieldsOf(answer) !== fieldsOf(all[main])
}

function fieldsOf(answer: unknown): string {
  const { data = answer } = answer as { data?: object | object[] }
  return Object.keys([data].flat()[0] ?? {}).join()
}

function show({ name, answer }: Tried): string {
  return `${name} (${answer.status})`
}

/** A list without rows shows nothing. */
function isTelling({ answer }: Tried): boolean {
  const { data, items, deliveries } = answer.json as Record<string, unknown[] | null | undefined>
  const rows = data === undefined ? (items ?? deliveries) : data
  return answer.status < 300 && rows !== null && rows?.length !== 0
}

function samplesOf({ paths }: Document): Record<string, unknown> {
  const example = (path: string, name: string) =>
    paths[path]?.get?.parameters.find((param) => param.name === name)?.example
  return {
    time: example('/v1/snapshots/at', 'time'),
    market: example('/v1/predmkt_a/markets/{identifier}', 'identifier'),
    txId: example('/v1/transactions/{tx_id}', 'tx_id'),
    address: example('/v1/addresses/{address}/transactions', 'address'),
    covenantId: example('/v1/covenants/{covenant_id}', 'covenant_id'),
    covenantAddress: example('/v1/addresses/{address}/covenants', 'address'),
    tokenId: example('/v1/tokens/{token}', 'token'),
    transaction:
      paths['/v1/transactions/submit']?.post?.requestBody?.content['application/json'].example?.transaction,
  }
}
