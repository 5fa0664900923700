/** Environments and venues. */
import { SOURCES } from '../core/source.ts'
import { MAX_FIRST_FILL_DAYS } from '../venues/plan.ts'
import { nodeAddresses, type VenueHost, venueHosts } from './addresses.ts'
import {
  anyText,
  listOf,
  oneOf,
  onOff,
  optionalText,
  optionalWhole,
  secret,
  setting,
  whole,
} from './setting.ts'

const liveSources = {
  allowed: `off, all, or a list of ${SOURCES.join(', ')}`,
  read: (value: string): readonly string[] | undefined => {
    if (value === 'off' || value === '') return []
    if (value === 'all') return SOURCES
    return listOf('', (name) => SOURCES.find((source) => source === name)).read(value)
  },
}

export const MARKET_SETTINGS = {
  test: setting('TEST', 'Whether the test environment runs.', true, onOff),
  sandbox: setting('SANDBOX', 'Whether the test environment has simulated venues and nodes.', true, onOff),
  seed: setting(
    'SEED',
    'Seed of the sandbox: the same seed gives the same simulated world.',
    'tapeline',
    anyText,
  ),
  sandboxTrades: setting(
    'SANDBOX_TRADES',
    'Trades per second of each of the twelve simulated exchange markets.',
    3,
    whole(1, 10_000),
  ),
  live: setting('LIVE', 'Which venues the live environment records.', [] as readonly string[], liveSources),
  firstFillDays: setting(
    'FIRST_FILL_DAYS',
    'How many days of the past the exchanges are asked for at the first start; older ones with the command backfill.',
    MAX_FIRST_FILL_DAYS,
    whole(1, MAX_FIRST_FILL_DAYS),
  ),
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
} as const
