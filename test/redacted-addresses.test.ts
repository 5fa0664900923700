/** Keys inside addresses stay hidden in `tapeline config`, refusals of a setting, the log and `venues check`. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { describeWithVenues } from '../src/app/live-setting.ts'
import { ConfigError, loadConfig } from '../src/config/config.ts'
import { systemClock } from '../src/kit/clock.ts'
import { createLogger } from '../src/kit/log.ts'
import { createChainlink } from '../src/venues/chainlink/venue.ts'

const NODES =
  'wss://me:s3,cret@a.example.com/s3cret, backup=ws://b.example.com:18110/?k=s3cret,ws://c.example.com'
const ENV = {
  TAPELINE_NODES: NODES,
  TAPELINE_CHAINLINK_PROVIDERS: 'https://rpc.example.com/v2/s3cret,https://me:s3,cret@rpc.example.com',
  TAPELINE_VENUE_HOSTS: 'kalshi.rest=https://me:s3,cret@proxy.example.com/s3cret?s3cret',
  TAPELINE_PUBLIC_URL: 'https://me:s3,cret@api.example.com',
}

test('tapeline config shows hosts only; an address with a comma in its password stays one address', () => {
  const loaded = loadConfig(ENV)
  assert.equal(loaded.config.nodes.length, 3)
  assert.equal(loaded.config.nodes[0], 'wss://me:s3,cret@a.example.com/s3cret')
  assert.equal(loaded.config.chainlinkProviders.length, 2)
  const text = JSON.stringify(describeWithVenues(loaded))
  assert.doesNotMatch(text, /s3|cret@/)
  assert.match(
    text,
    /wss:\/\/\*\*\*@a\.example\.com\/\*\*\*,backup=ws:\/\/b\.example\.com:18110\/\*\*\*,ws:\/\/c\.example\.com"/,
  )
  assert.match(text, /kalshi\.rest=https:\/\/\*\*\*@proxy\.example\.com\/\*\*\*/)
})

test('tapeline config hides the password of the store also where it makes the address a wrong one', () => {
  for (const password of ['s3cret', 's3/cret', 's3?cret', 's3#cret', 's3@cret', 's3 cret']) {
    const { described } = loadConfig({ TAPELINE_STORE: `postgres://me:${password}@db:5433/tapeline` })
    const shown = described.find(({ setting }) => setting === 'TAPELINE_STORE')?.value
    assert.equal(shown, 'postgres://***@db:5433/tapeline')
  }
})

test('a setting that is refused is not repeated where it may hold a password', () => {
  for (const [name, value] of [
    ['TAPELINE_NODES', 'wss://me:s3,cret@a b/s3cret'],
    ['TAPELINE_CHAINLINK_PROVIDERS', 'ftp://x/s3cret'],
    ['TAPELINE_VENUE_HOSTS', 'kalshi=https://me:s3cret@x'],
    ['TAPELINE_PUBLIC_URL', 'me:s3,cret@x'],
    ['TAPELINE_CORS_ORIGINS', 'https://a.example.com,x://me:s3,cret@b'],
  ] as const)
    assert.throws(
      () => loadConfig({ [name]: value }),
      (error) =>
        error instanceof ConfigError && error.message.includes(name) && !/s3|cret/.test(error.message),
      name,
    )
})

test('in the log as well, wherever in a line an address is', () => {
  let written = ''
  const log = createLogger({
    level: 'info',
    write: (line) => {
      written += line
    },
  })
  log.info({ url: 'wss://me:s3,cret@a.example.com/s3cret', deep: { err: new Error(NODES) } }, NODES)
  assert.doesNotMatch(written, /s3|cret/)
  assert.match(written, /a\.example\.com/)
})

test('venues check names the addresses it queried, and fails while no node answers', async () => {
  let login = ''
  const node = createServer((request, response) => {
    login = request.headers.authorization ?? ''
    response.writeHead(500).end()
  })
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  const { port } = node.address() as AddressInfo
  const providers = [`http://me:s3,cret@127.0.0.1:${port}/s3cret`, 'http://127.0.0.1:9', 'http://127.0.0.1:9']
  const venue = createChainlink({
    clock: systemClock,
    chainlink: { providers },
    limits: { rest: { tries: 1, backoff: { baseMs: 0, capMs: 0 } } },
  })
  const check = await venue.check({ signal: AbortSignal.timeout(60_000) })
  node.close()
  assert.equal(check.ok, false, check.line)
  assert.match(
    check.line,
    new RegExp(`at http://\\*\\*\\*@127\\.0\\.0\\.1:${port}/\\*\\*\\*, http://127\\.0\\.0\\.1:9`),
  )
  assert.doesNotMatch(check.line, /drpc|s3|cret/)
  assert.equal(login, `Basic ${Buffer.from('me:s3,cret').toString('base64')}`)
})
