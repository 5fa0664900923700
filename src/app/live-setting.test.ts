/** The settings of the real venues: their own hosts by default, precise errors, hidden secrets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, loadConfig } from '../config/config.ts'
import { heartbeatOf } from '../ingest/choose-recorder.ts'
import { systemClock } from '../kit/clock.ts'
import { VENUE_NAMES } from '../venues/list.ts'
import { checkVenueSettings, describeWithVenues, liveSetting } from './live-setting.ts'
import { openVenue } from './open-venue.ts'

const configOf = (env: Record<string, string> = {}) => loadConfig(env).config
const shown = (env: Record<string, string> = {}) =>
  describeWithVenues(loadConfig(env)).map(({ setting, value, from }) => `${setting} ${value} ${from}`)

test('by default every venue gets its real hosts, and the configuration lists each of them', () => {
  const lines = shown()
  const hosts = lines.filter((line) => line.startsWith('TAPELINE_VENUE_HOSTS '))
  assert.deepEqual(
    hosts.map((line) => line.split(' ')[1]),
    [
      'binance-spot.rest=https://data-api.binance.vision',
      'binance-spot.stream=wss://data-stream.binance.vision',
      'binance-futures.rest=https://fapi.binance.com',
      'binance-futures.stream=wss://fstream.binance.com',
      'hyperliquid.rest=https://api.hyperliquid.xyz',
      'hyperliquid.stream=wss://api.hyperliquid.xyz',
      'polymarket.rest=https://gamma-api.polymarket.com',
      'polymarket.stream=wss://ws-subscriptions-clob.polymarket.com',
      'polymarket.clob=https://clob.polymarket.com',
      'polymarket.data=https://data-api.polymarket.com',
      'polymarket.reference=wss://ws-live-data.polymarket.com',
      'polymarket.bolt=wss://ws-live-v2.polymarket.com',
      'kalshi.rest=https://external-api.kalshi.com',
      'kalshi.stream=wss://external-api-ws.kalshi.com',
    ],
  )
  assert.ok(lines.includes('TAPELINE_CHAINLINK_CHAIN polygon default'))
  assert.ok(lines.includes('TAPELINE_CHAINLINK_PROVIDERS https://polygon.drpc.org default'))
  assert.ok(lines.includes('TAPELINE_POLYMARKET_REFERENCE rtds default'))
  const config = configOf()
  for (const name of VENUE_NAMES) assert.doesNotThrow(() => openVenue(liveSetting(name, config), systemClock))
})

test('one host is replaced, the others stay', () => {
  const env = {
    TAPELINE_VENUE_HOSTS: 'kalshi.rest=https://demo-api.kalshi.co/, polymarket.clob=http://127.0.0.1:9',
  }
  const config = configOf(env)
  assert.deepEqual(liveSetting('kalshi', config).hosts, {
    rest: 'https://demo-api.kalshi.co',
    stream: 'wss://external-api-ws.kalshi.com',
  })
  assert.equal(liveSetting('polymarket', config).hosts?.clob, 'http://127.0.0.1:9')
  assert.ok(shown(env).includes('TAPELINE_VENUE_HOSTS kalshi.rest=https://demo-api.kalshi.co environment'))
  assert.ok(
    shown(env).includes('TAPELINE_VENUE_HOSTS kalshi.stream=wss://external-api-ws.kalshi.com default'),
  )
})

test('the scale of the contract venue is a setting, off by default', () => {
  const isYes = (env?: Record<string, string>) => liveSetting('kalshi', configOf(env)).kalshi?.useYesPrice
  assert.deepEqual([isYes(), isYes({ TAPELINE_KALSHI_YES_PRICE: 'on' })], [false, true])
  assert.ok(shown({}).includes('TAPELINE_KALSHI_YES_PRICE off default'))
})

test('options of the venues reach them; the heartbeat is that of the chosen chain', () => {
  const config = configOf({
    TAPELINE_POLYMARKET_DATA: 'v1',
    TAPELINE_POLYMARKET_REFERENCE: 'bolt',
    TAPELINE_POLYMARKET_API_KEY: 'a',
    TAPELINE_POLYMARKET_SECRET: 's',
    TAPELINE_POLYMARKET_PASSPHRASE: 'p',
    TAPELINE_CHAINLINK_CHAIN: 'ethereum',
    TAPELINE_CHAINLINK_PROVIDERS: 'https://one.example/v2/key,https://two.example',
    TAPELINE_CHAINLINK_QUORUM: '2',
  })
  assert.deepEqual(liveSetting('polymarket', config).polymarket, {
    dataVersion: 'v1',
    reference: 'bolt',
    bolt: { apiKey: 'a', secret: 's', passphrase: 'p' },
  })
  assert.deepEqual(liveSetting('chainlink', config).chainlink, {
    chain: 'ethereum',
    providers: ['https://one.example/v2/key', 'https://two.example'],
    quorum: 2,
  })
  const heartbeat = (settings: ReturnType<typeof configOf>) =>
    heartbeatOf(openVenue(liveSetting('chainlink', settings), systemClock))
  assert.equal(heartbeat(config), 3_600_000)
  assert.equal(heartbeat(configOf()), 27_000)
  const keyless = openVenue(
    liveSetting('polymarket', configOf({ TAPELINE_POLYMARKET_REFERENCE: 'bolt' })),
    systemClock,
  )
  assert.deepEqual(
    keyless.notices?.map(({ code }) => code),
    ['credentials_missing'],
  )
})

test('wrong values are refused, and the message lists the valid ones', () => {
  const cases: [Record<string, string>, RegExp][] = [
    [
      { TAPELINE_VENUE_HOSTS: 'kalshi.rst=https://x.example' },
      /names kalshi\.rst, .*Did you mean kalshi\.rest\?/,
    ],
    [
      { TAPELINE_VENUE_HOSTS: 'kalshi.stream=https://x.example' },
      /kalshi\.stream .*must begin with wss:\/\/ or ws:\/\//,
    ],
    [{ TAPELINE_VENUE_HOSTS: 'https://x.example' }, /must be addresses such as kalshi\.rest=https/],
    [{ TAPELINE_CHAINLINK_CHAIN: 'solana' }, /must be one of polygon, ethereum, arbitrum/],
    [{ TAPELINE_CHAINLINK_QUORUM: '4' }, /QUORUM is 4, but there are only 3 nodes/],
    [{ TAPELINE_POLYMARKET_REFERENCE: 'pyth' }, /must be one of rtds, bolt, none/],
  ]
  for (const [env, message] of cases)
    assert.throws(
      () => checkVenueSettings(configOf(env)),
      (error) => error instanceof ConfigError && message.test(error.message),
      JSON.stringify(env),
    )
})

test('keys are shown as ***, also inside the addresses of nodes and in messages about them', () => {
  const env = {
    TAPELINE_POLYMARKET_API_KEY: 'hidden-1',
    TAPELINE_POLYMARKET_SECRET: 'hidden-2',
    TAPELINE_POLYMARKET_PASSPHRASE: 'hidden-3',
    TAPELINE_CHAINLINK_PROVIDERS: 'https://node.example/v2/hidden-4,https://node.example?key=hidden-5',
    TAPELINE_VENUE_HOSTS: 'kalshi.rest=https://me:hidden-6@proxy.example',
  }
  const lines = shown(env).join('\n')
  assert.doesNotMatch(lines, /hidden/)
  assert.match(
    lines,
    /TAPELINE_CHAINLINK_PROVIDERS https:\/\/node\.example\/\*\*\*,https:\/\/node\.example\/\*\*\*/,
  )
  assert.throws(
    () => loadConfig({ TAPELINE_CHAINLINK_PROVIDERS: 'node.example/v2/hidden-7' }),
    (error: Error) => !error.message.includes('hidden'),
  )
})
