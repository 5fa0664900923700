import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Network, parseNetwork } from './core/chain/network.ts'
import { nearest } from './core/nearest.ts'
import { SOURCES } from './core/source.ts'
import { parseCidr } from './kit/ip-range.ts'
import { redactAddress, redactAddresses } from './kit/redact-address.ts'
import { MAX_FIRST_FILL_DAYS } from './venues/plan.ts'

/**
 * Every setting once: its variable, type, default and one sentence. This is the only file that reads the
 * environment. A setting comes from the environment, else from the file that TAPELINE_CONFIG names, else
 * from its default.
 */
interface Setting<T> {
  readonly variable: string
  readonly about: string
  readonly fallback: T
  readonly secret: boolean
  /** What is allowed, for the message about a wrong value. */
  readonly allowed: string
  readonly read: (text: string) => T | undefined
  /** For values that are shown in another form. */
  shown?(value: T): string
  /** The text itself is not repeated in a message, since parts of it are secret. */
  readonly carriesKeys?: true
}

function setting<T>(
  variable: string,
  about: string,
  fallback: T,
  kind: Pick<Setting<T>, 'allowed' | 'read' | 'shown' | 'carriesKeys'>,
): Setting<T> {
  return { variable: `TAPELINE_${variable}`, about, fallback, secret: false, ...kind }
}

function secret<T>(inner: Setting<T>): Setting<T> {
  return { ...inner, secret: true }
}

const text = { allowed: 'any text', read: (value: string) => value }
const optionalText = {
  allowed: 'any text',
  read: (value: string): string | null => (value === '' ? null : value),
}
const onOff = {
  allowed: 'on or off',
  read: (value: string) =>
    ({ on: true, true: true, '1': true, off: false, false: false, '0': false })[value.toLowerCase()],
}
const whole = (min: number, max: number) => ({
  allowed: `a whole number from ${min} to ${max}`,
  read: (value: string) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max ? number : undefined
  },
})
const optionalWhole = (min: number, max: number) => ({
  allowed: `a whole number from ${min} to ${max}, or off`,
  read: (value: string): number | null | undefined => (value === 'off' ? null : whole(min, max).read(value)),
})
const oneOf = <const A extends readonly string[]>(values: A) => ({
  allowed: `one of ${values.join(', ')}`,
  read: (value: string): A[number] | undefined => values.find((known) => known === value),
})
const list = <T>(allowed: string, item: (text: string) => T | undefined, separator: RegExp = /,/) => ({
  allowed: `${allowed}, separated by commas`,
  read: (value: string): T[] | undefined => {
    const items = value
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(item)
    return items.some((entry) => entry === undefined) ? undefined : (items as T[])
  },
})
const url = (value: string) => (URL.canParse(value) ? value : undefined)

/** What a process can do; by default it does everything. */
export const PROCESS_ROLES = ['api', 'record', 'index', 'deliver', 'upkeep'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

/** An address of a real venue: which venue, which of its hosts. */
export interface VenueHost {
  readonly venue: string
  readonly part: string
  readonly url: string
}
/** A password may contain a comma: the list is split only where an address can start. */
const BEFORE_ADDRESS = /,(?=\s*(?:[a-z][a-z0-9.-]*=)?(?:https?|wss?):\/\/|\s*$)/
const VENUE_HOST = /^([a-z][a-z0-9-]*)\.([a-z]+)=((?:https?|wss?):\/\/\S+)$/
const venueHosts = {
  ...list(
    'addresses such as kalshi.rest=https://demo-api.kalshi.co',
    (value): VenueHost | undefined => {
      const [, venue, part, address] = VENUE_HOST.exec(value) ?? []
      if (venue === undefined || part === undefined || address === undefined) return undefined
      return url(address) === undefined ? undefined : { venue, part, url: address.replace(/\/+$/, '') }
    },
    BEFORE_ADDRESS,
  ),
  carriesKeys: true as const,
  shown: showHosts,
}
export function showHosts(hosts: readonly VenueHost[]): string {
  return (
    hosts.map(({ venue, part, url: address }) => `${venue}.${part}=${redactAddress(address)}`).join(',') ||
    'off'
  )
}
/** Paths and queries of node addresses can contain keys. */
const nodeAddresses = {
  ...list(
    'addresses such as https://polygon.drpc.org',
    (value) => (/^https?:/.test(value) ? url(value) : undefined),
    BEFORE_ADDRESS,
  ),
  carriesKeys: true as const,
  shown: (addresses: readonly string[]) => addresses.map(redactAddress).join(',') || 'off',
}
const NODE_TIER = /^(?:primary=|backup=)?/
const kaspaNodes = {
  ...list(
    'addresses such as ws://127.0.0.1:18110 or backup=wss://node.example.com',
    (value) => {
      const address = value.replace(NODE_TIER, '')
      return /^wss?:/.test(address) && url(address) !== undefined ? value : undefined
    },
    BEFORE_ADDRESS,
  ),
  carriesKeys: true as const,
  shown: (nodes: readonly string[]) =>
    nodes
      .map((node) => `${NODE_TIER.exec(node)?.[0] ?? ''}${redactAddress(node.replace(NODE_TIER, ''))}`)
      .join(',') || 'off',
}
const liveSources = {
  allowed: `off, all, or a list of ${SOURCES.join(', ')}`,
  read: (value: string): readonly string[] | undefined => {
    if (value === 'off' || value === '') return []
    if (value === 'all') return SOURCES
    return list('', (name) => SOURCES.find((source) => source === name)).read(value)
  },
}

const SETTINGS = {
  host: setting('HOST', 'Address that the service listens on.', '127.0.0.1', text),
  port: setting('PORT', 'Port that the service listens on; 0 picks a free one.', 8080, whole(0, 65_535)),
  data: setting('DATA', 'Folder of the databases and secrets.', './data', text),
  store: setting(
    'STORE',
    'Address of a PostgreSQL store that processes share; off uses TAPELINE_DATA.',
    null,
    {
      allowed: 'an address such as postgres://tapeline@db1,db2/tapeline, or off',
      read: (value: string): string | null | undefined =>
        value === 'off' ? null : /^postgres(?:ql)?:\/\//.test(value) ? value : undefined,
      shown: (value) => (value === null ? 'off' : redactAddresses(value)),
      carriesKeys: true,
    },
  ),
  roles: setting(
    'ROLES',
    'What this process does; several processes can share the work on a PostgreSQL store.',
    PROCESS_ROLES as readonly ProcessRole[],
    list(`some of ${PROCESS_ROLES.join(', ')}`, (value) => PROCESS_ROLES.find((role) => role === value)),
  ),
  secret: secret(
    setting(
      'SECRET',
      'Encrypts what processes on a PostgreSQL store share; the same for all of them.',
      null,
      {
        allowed: 'at least 32 characters',
        read: (value: string): string | null | undefined => (value.length >= 32 ? value : undefined),
      },
    ),
  ),
  seed: setting(
    'SEED',
    'Seed of the sandbox: the same seed gives the same simulated world.',
    'tapeline',
    text,
  ),
  cacheMb: setting(
    'CACHE_MB',
    'Memory for the caches of stored data of an environment, in MB; every connection takes a share of it.',
    128,
    whole(16, 65_536),
  ),
  pageCacheMb: setting(
    'PAGE_CACHE_MB',
    'Memory for pages that will not change, rendered and compressed, in MB; 0 stores none.',
    64,
    whole(0, 65_536),
  ),
  test: setting('TEST', 'Whether the test environment runs.', true, onOff),
  sandbox: setting('SANDBOX', 'Whether the test environment has simulated venues and nodes.', true, onOff),
  sandboxTrades: setting(
    'SANDBOX_TRADES',
    'Trades per second of each of the twelve simulated exchange markets.',
    3,
    whole(1, 10_000),
  ),
  firstFillDays: setting(
    'FIRST_FILL_DAYS',
    'How many days of the past the exchanges are asked for at the first start; older ones with the command backfill.',
    MAX_FIRST_FILL_DAYS,
    whole(1, MAX_FIRST_FILL_DAYS),
  ),
  live: setting('LIVE', 'Which venues the live environment records.', [] as readonly string[], liveSources),
  venueHosts: setting(
    'VENUE_HOSTS',
    'Addresses of real venues other than their own (a demo host, a proxy): venue.part=address.',
    [] as VenueHost[],
    venueHosts,
  ),
  polymarketData: setting(
    'POLYMARKET_DATA',
    "Version of prediction market A's data interface that gives trades.",
    'v2' as const,
    oneOf(['v1', 'v2']),
  ),
  polymarketReference: setting(
    'POLYMARKET_REFERENCE',
    'Relay of the price that markets of prediction market A settle on: rtds is open, bolt wants a key.',
    'rtds' as const,
    oneOf(['rtds', 'bolt', 'none']),
  ),
  polymarketApiKey: secret(setting('POLYMARKET_API_KEY', 'API key for the relay bolt.', null, optionalText)),
  polymarketSecret: secret(setting('POLYMARKET_SECRET', 'Secret of that API key.', null, optionalText)),
  polymarketPassphrase: secret(
    setting('POLYMARKET_PASSPHRASE', 'Passphrase of that API key.', null, optionalText),
  ),
  chainlinkChain: setting(
    'CHAINLINK_CHAIN',
    'Chain whose price feeds are the oracle.',
    'polygon' as const,
    oneOf(['polygon', 'ethereum', 'arbitrum']),
  ),
  chainlinkProviders: setting(
    'CHAINLINK_PROVIDERS',
    'JSON-RPC addresses of nodes of that chain.',
    [] as string[],
    nodeAddresses,
  ),
  chainlinkQuorum: setting(
    'CHAINLINK_QUORUM',
    'How many of those nodes must agree; off is two, or one where only one is given.',
    null,
    optionalWhole(1, 16),
  ),
  kalshiKeyId: secret(
    setting('KALSHI_KEY_ID', 'Key id for the WebSocket of prediction market B.', null, optionalText),
  ),
  kalshiPrivateKey: secret(
    setting('KALSHI_PRIVATE_KEY', 'RSA private key (PEM, \\n for line breaks) of that key id.', null, {
      allowed: 'a private key in PEM',
      read: (value: string): string | null => (value === '' ? null : value.replaceAll('\\n', '\n')),
    }),
  ),
  kalshiYesPrice: setting(
    'KALSHI_YES_PRICE',
    'Whether prediction market B is asked to send bids on no at the price of yes, which is to become its only format.',
    false,
    onOff,
  ),
  nodes: setting(
    'NODES',
    'wRPC JSON addresses of the live nodes; backup= before one makes it a backup of the others.',
    [] as string[],
    kaspaNodes,
  ),
  network: setting('NETWORK', 'Kaspa network of the live nodes.', 'mainnet' as Network, {
    allowed: 'mainnet, testnet-<number>, simnet or devnet',
    read: parseNetwork,
  }),
  nodeWaitSeconds: setting(
    'NODE_WAIT_SECONDS',
    'How long transaction lookup (at most 10) and address activity wait for the nodes before they answer 504.',
    30,
    whole(1, 120),
  ),
  allowPrivateWebhooks: setting(
    'ALLOW_PRIVATE_WEBHOOKS',
    'Whether webhooks may go to private and loopback addresses, there also over plain http.',
    false,
    onOff,
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'Least severe log lines that are written.',
    'info' as const,
    oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  ),
  logFormat: setting(
    'LOG_FORMAT',
    'Format of log lines: auto is readable text on a terminal and JSON elsewhere.',
    'auto' as const,
    oneOf(['auto', 'json', 'text', 'color']),
  ),
  plans: setting('PLANS', 'JSON file that adds or changes plans.', null, optionalText),
  publicUrl: setting('PUBLIC_URL', 'Address under which callers reach the service.', null, {
    allowed: 'an http(s) address',
    read: (value: string): string | null | undefined => (/^https?:/.test(value) ? url(value) : undefined),
  }),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    'Address ranges of proxies whose X-Forwarded-For is believed.',
    [] as string[],
    list('ranges such as 10.0.0.0/8', (value) => parseCidr(value)?.text),
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    'Origins that browsers may call from; * is any.',
    ['*'],
    list('origins such as https://app.example.com', (value) =>
      value === '*' ? value : /^https?:/.test(value) && url(value) ? new URL(value).origin : undefined,
    ),
  ),
  bodyLimitBytes: setting(
    'BODY_LIMIT',
    'Largest body in bytes that /rpc, submission and webhooks may take; all others take 64 kB.',
    1_048_576,
    whole(1_024, 134_217_728),
  ),
  streamPending: setting(
    'STREAM_PENDING',
    'Stream connections of one address (of an IPv6 /64 network) that have no accepted key yet.',
    64,
    whole(1, 100_000),
  ),
  metricsPort: setting(
    'METRICS_PORT',
    'Port of /metrics on the loopback address; off leaves it to the token.',
    null,
    optionalWhole(0, 65_535),
  ),
  metricsToken: secret(
    setting('METRICS_TOKEN', 'Bearer token for /metrics on the main port.', null, {
      allowed: 'at least 16 characters',
      read: (value: string): string | null | undefined => (value.length >= 16 ? value : undefined),
    }),
  ),
  eventDays: setting('EVENT_DAYS', 'Days that chain events are kept.', 7, whole(1, 365)),
  eventBytes: setting(
    'EVENT_BYTES',
    'Size above which the oldest chain events are forgotten earlier.',
    8 * 1024 ** 3,
    whole(1_048_576, 1024 ** 4),
  ),
  testEventDays: setting(
    'TEST_EVENT_DAYS',
    'Days that chain events of the test environment are kept.',
    1,
    whole(1, 365),
  ),
  testEventBytes: setting(
    'TEST_EVENT_BYTES',
    'Size above which the oldest chain events of the test environment are forgotten earlier.',
    1024 ** 3,
    whole(1_048_576, 1024 ** 4),
  ),
  indexDays: setting(
    'INDEX_DAYS',
    'Days that indexed transactions are kept; off keeps them all.',
    null,
    optionalWhole(1, 36_500),
  ),
  testIndexDays: setting(
    'TEST_INDEX_DAYS',
    'Days that indexed transactions of the test environment are kept; off keeps them all.',
    1,
    optionalWhole(1, 36_500),
  ),
  ledgerDays: setting('LEDGER_DAYS', 'Days that single charges are kept.', 40, whole(1, 3_650)),
  signUp: setting('SIGN_UP', 'Whether visitors may sign up in the dashboard.', true, onOff),
  signUpPlan: setting('SIGN_UP_PLAN', 'Plan of accounts that sign up by themselves.', 'free', text),
  billingSecret: secret(
    setting('BILLING_SECRET', 'Signing secret of the billing webhook (Stripe); off without it.', null, {
      allowed: 'at least 16 characters',
      read: (value: string): string | null | undefined => (value.length >= 16 ? value : undefined),
    }),
  ),
  billingPrices: setting(
    'BILLING_PRICES',
    'Which price of the payment provider buys which plan.',
    [] as string[],
    list('pairs such as price_123=developer', (value) => (/^[^=]+=[^=]+$/.test(value) ? value : undefined)),
  ),
  shutdownSeconds: setting('SHUTDOWN_SECONDS', 'Longest time that a clean stop may take.', 10, whole(1, 300)),
} as const satisfies Record<string, Setting<unknown>>

/** Read by the loader itself, by commands of customers and by tests; not settings of the service. */
const OTHER_VARIABLES = [
  'TAPELINE_URL',
  'TAPELINE_KEY',
  'TAPELINE_CONFIG',
  'TAPELINE_FIXTURES',
  'TAPELINE_SOAK',
  'TAPELINE_CHROMIUM',
  'TAPELINE_TEST_POSTGRES',
  'TAPELINE_TEST_ENGINE',
  'TAPELINE_TEST_DISTRIBUTE',
  'TAPELINE_TEST_RUN',
]

export type Config = {
  readonly [K in keyof typeof SETTINGS]: Widen<ReturnType<(typeof SETTINGS)[K]['read']>>
}
type Widen<T> = Exclude<T, undefined>

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export interface LoadedConfig {
  config: Config
  /** One line per setting: where its value comes from; secrets as ***. */
  described: { setting: string; value: string; from: string; about: string }[]
  warnings: string[]
}

/** Which service commands of customers talk to, with which key. */
export function clientSettings(env: NodeJS.ProcessEnv = process.env): {
  url: string | undefined
  key: string | undefined
} {
  return { url: env.TAPELINE_URL, key: env.TAPELINE_KEY }
}

export function loadConfig(env: NodeJS.ProcessEnv = process.env): LoadedConfig {
  const file = readFile(env.TAPELINE_CONFIG)
  const config: Record<string, unknown> = {}
  const described: LoadedConfig['described'] = []
  for (const [name, spec] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const { value, from } = pick(name, spec, env, file)
    config[name] = value
    described.push({ setting: spec.variable, value: show(value, spec), from, about: spec.about })
  }
  return { config: config as Config, described, warnings: strayVariables(env) }
}

function pick(name: string, spec: Setting<unknown>, env: NodeJS.ProcessEnv, file: Record<string, unknown>) {
  const fromEnv = env[spec.variable]
  if (fromEnv !== undefined && fromEnv !== '') return { value: parse(spec, fromEnv), from: 'environment' }
  const fromFile = Object.hasOwn(file, name) ? file[name] : file[spec.variable]
  if (fromFile !== undefined) {
    return { value: parse(spec, fileText(spec, fromFile)), from: 'file' }
  }
  return { value: spec.fallback, from: 'default' }
}

function fileText(spec: Setting<unknown>, value: unknown): string {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  if (values.every((part) => ['string', 'number', 'boolean'].includes(typeof part))) return values.join(',')
  throw new ConfigError(
    `${spec.variable} in the file must be a text, a number, true, false or a list of them.`,
  )
}

function parse(spec: Setting<unknown>, value: string): unknown {
  const parsed = spec.read(value)
  if (parsed !== undefined) return parsed
  const shown = spec.secret
    ? '***'
    : spec.carriesKeys
      ? JSON.stringify(redactAddress(value))
      : shownText(value)
  throw new ConfigError(`${spec.variable} is ${shown}, but must be ${spec.allowed}. (${spec.about})`)
}

function readFile(path: string | undefined): Record<string, unknown> {
  if (path === undefined || path === '') return {}
  const full = resolve(path)
  if (!existsSync(full)) throw new ConfigError(`TAPELINE_CONFIG names ${path}, which does not exist.`)
  let parsed: unknown
  try {
    parsed = JSON.parse(readFileSync(full, 'utf8'))
  } catch (error) {
    throw new ConfigError(`TAPELINE_CONFIG names ${path}, which is not JSON: ${(error as Error).message}`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ConfigError(`TAPELINE_CONFIG names ${path}, which is not a JSON object.`)
  }
  const known = Object.entries(SETTINGS).flatMap(([name, spec]) => [name, spec.variable])
  for (const name of Object.keys(parsed)) {
    if (known.includes(name)) continue
    const near = nearest(name, known)
    throw new ConfigError(`${path} has the unknown setting "${name}".${near ? ` Did you mean ${near}?` : ''}`)
  }
  return parsed as Record<string, unknown>
}

function show(value: unknown, spec: Setting<unknown>): string {
  if (value === null) return 'off'
  if (spec.secret) return '***'
  if (spec.shown !== undefined) return spec.shown(value)
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (Array.isArray(value)) return value.length === 0 ? 'off' : redactAddresses(value.join(','))
  return redactAddresses(String(value))
}

/** A value that is not a valid address may contain a password anywhere. */
function shownText(text: string): string {
  return text.includes('@') ? '***' : JSON.stringify(text)
}

function strayVariables(env: NodeJS.ProcessEnv): string[] {
  const known = [...Object.values(SETTINGS).map((spec) => spec.variable), ...OTHER_VARIABLES]
  return Object.keys(env)
    .filter((name) => name.startsWith('TAPELINE_') && !known.includes(name))
    .map((name) => {
      const near = nearest(name, known)
      return `${name} is not a setting.${near ? ` Did you mean ${near}?` : ''}`
    })
}
