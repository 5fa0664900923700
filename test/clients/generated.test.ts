/** What is generated is up to date, and whatever is declared anew is in both clients without a line written for it. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { clientFiles, publishedModel } from '../../clients/generator/client-files.ts'
import { clientName } from '../../src/core/client-name.ts'
import { CHANGED_ENDPOINTS } from './changed-endpoints.ts'
import { portOf } from './port-of.ts'
import { PYTHON, SKIP_PYTHON } from './pythons.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLIENTS = join(ROOT, 'clients')

test('generated files are what the declarations give (npm run clients writes them)', () => {
  for (const [file, made] of clientFiles())
    assert.equal(readFileSync(join(CLIENTS, file), 'utf8'), made, file)
})

test('methods have the names of their endpoints', () => {
  const names = {
    'GET /v1/open-interest': 'open interest',
    'GET /v1/markets/{identifier}': 'market',
    'GET /v1/perpdex/{symbol}': 'perpdex by symbol',
    'GET /v1/addresses/{address}/transactions': 'address transactions',
    'POST /rpc': 'rpc',
    'POST /v1/webhooks': 'create webhook',
    'PATCH /v1/webhooks/{id}': 'update webhook',
    'DELETE /v1/webhooks/{id}': 'delete webhook',
    'POST /v1/webhooks/{id}/rotate': 'rotate webhook',
    'GET /v1/webhooks/{id}/deliveries': 'webhook deliveries',
    'POST /v1/transactions/submit': 'submit transaction',
  }
  for (const [endpointName, name] of Object.entries(names)) {
    const [method = '', path = ''] = endpointName.split(' ')
    assert.equal(clientName(method, path).join(' '), name)
  }
})

/** A copy of both clients, generated from declarations with a new endpoint, a new parameter and a new field. */
const folder = mkdtempSync(join(tmpdir(), 'tapeline-clients-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const requests: string[] = []
const server = createServer((request, response) => {
  requests.push(request.url ?? '')
  const row = { timestamp: '2026-06-10T12:00:00.000Z', fear: 0.5, predicted_rate: 0.25 }
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify({ data: [row], meta: { next_cursor: null } }))
})

before(async () => {
  cpSync(join(CLIENTS, 'typescript'), join(folder, 'typescript'), { recursive: true })
  cpSync(join(CLIENTS, 'python'), join(folder, 'python'), { recursive: true })
  for (const [file, made] of clientFiles(publishedModel(CHANGED_ENDPOINTS)))
    writeFileSync(join(folder, file), made)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
after(() => server.close())

test('a new endpoint, parameter and field are in the TypeScript client, with their types', async () => {
  const program = `import { Tapeline } from './index.ts'
export async function use(url: string): Promise<number[]> {
  const client = new Tapeline({ url, key: 'k' })
  const [first] = (await client.marketSentiment({ word: 'fear' }).page()).rows
  const [second] = (await client.funding({ symbol: 'BTC', min_rate: 3 }).page()).rows
  const sum: number = (first?.fear ?? 0) + (second?.predicted_rate ?? 0)
  // @ts-expect-error: the type of the parameter is known.
  client.funding({ symbol: 'BTC', min_rate: 'three' })
  return [sum]
}
`
  const file = join(folder, 'typescript/src/use.ts')
  writeFileSync(file, program)
  const config = join(folder, 'typescript/tsconfig.json')
  writeFileSync(
    config,
    readFileSync(config, 'utf8').replace('../../tsconfig.json', join(ROOT, 'tsconfig.json')),
  )
  const checked = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['--noEmit', '-p', config], {
    encoding: 'utf8',
  })
  assert.equal(checked.stdout, '')
  requests.length = 0
  const { use } = (await import(file)) as { use: (url: string) => Promise<number[]> }
  assert.deepEqual(await use(`http://127.0.0.1:${portOf(server)}`), [0.75])
  assert.deepEqual(requests, ['/v1/market-sentiment?word=fear', '/v1/funding?symbol=BTC&min_rate=3'])
})

test('a new endpoint, parameter and field are in the Python client, with their types', {
  skip: SKIP_PYTHON,
}, async () => {
  const program = `
import sys, inspect, tapeline
tl = tapeline.Client(sys.argv[1], "k")
print(tl.market_sentiment(word="fear").rows()[0]["fear"] + tl.funding("BTC", min_rate=3).rows()[0]["predicted_rate"])
print(tapeline.types.Sentiment.__annotations__["fear"].__forward_arg__)
print(tapeline.types.Funding.__annotations__["predicted_rate"].__forward_arg__)
print(inspect.signature(tapeline.AsyncClient.market_sentiment).parameters["word"])
print(tapeline.types.OPERATIONS["market_sentiment"].floats)
`
  requests.length = 0
  const printed = await runPython(program)
  assert.deepEqual(printed, ['0.75', 'float', 'float', "word: 'str'", "('fear',)"])
  assert.deepEqual(requests, ['/v1/market-sentiment?word=fear', '/v1/funding?symbol=BTC&min_rate=3'])
})

/** Not waited for synchronously: the server that it asks is in this process. */
function runPython(program: string): Promise<string[]> {
  const args = ['-c', program, `http://127.0.0.1:${portOf(server)}`]
  const options = { cwd: join(folder, 'python'), encoding: 'utf8' as const }
  return new Promise((resolve, reject) => {
    execFile(PYTHON, args, options, (error, stdout, stderr) =>
      error === null ? resolve(stdout.trim().split('\n')) : reject(new Error(stderr)),
    )
  })
}
